# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion of peaktop. The program itself knows what can follow: peaktop --complete WORD...

function __peaktop_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (command peaktop --complete $words[2..] "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (string replace -r '^--[a-z-]+=' '' -- "$current")
            case :commands
                set -l after (contains -i -- -- $words)
                __fish_complete_subcommand --commandline $words[(math $after + 1)..] "$current"
            case '*'
                echo $line
        end
    end
end
complete -c peaktop -f -a '(__peaktop_complete)'
