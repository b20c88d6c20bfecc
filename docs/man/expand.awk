# SPDX-License-Identifier: GPL-2.0-or-later
#
# Makes a man page of its template: expand.awk TABLE OPTIONS PAGE (docs/man/README.md).
#
#   TABLE    the program's own table of options: "option NAME VERB..." lines (peaktop --dump-options)
#   OPTIONS  options.man
#   PAGE     peaktop.1 or peaktop-VERB.1
#
# Variables: folder (of the templates), pages (all templates, in order), version, date.
# Exit status 1: an option of the table has no description, or a description no option.

function fail(text) { print "docs/man: " text >"/dev/stderr"; failed = 1 }
function escaped(text) { gsub(/-/, "\\-", text); return text }

function include(file,    line) {
	while ((getline line <file) > 0) expand(line)
	close(file)
}

# A line of the page. Text is broken below 80 columns; a line must not begin with a point or an apostrophe by that.
function put(line,    at) {
	while (length(line) > 79 && line !~ /^[.']/) {
		for (at = 79; at > 1; at--)
			if (substr(line, at, 1) == " " && substr(line, at + 1, 1) !~ /[.' ]/) break
		if (at <= 1) break
		print substr(line, 1, at - 1)
		line = substr(line, at + 1)
	}
	print line
}

# The names of other pages, for SEE ALSO.
function see_also(    i, n, list) {
	n = split(pages, list, " ")
	for (i = 1; i <= n; i++) {
		sub(/.*\//, "", list[i]); sub(/\.1$/, "", list[i])
		if (list[i] != page) print ".BR " escaped(list[i]) " (1),"
	}
	print ".BR perf (1),\n.BR strace (1),\n.BR top (1),\n.BR bpf (2),\n.BR capabilities (7)"
}

# One entry for each verb, from the NAME sections of their pages.
function verbs(    i, n, list, line, name, known) {
	n = split(pages, list, " ")
	for (i = 1; i <= n; i++) {
		name = list[i]; sub(/.*\//, "", name); sub(/\.1$/, "", name)
		if (name == page) continue
		while ((getline line <list[i]) > 0) {
			if (line !~ /^peaktop\\-[a-z]+ \\- /) continue
			sub(/^[^ ]* \\- /, "", line)
			print ".TP\n.BR " escaped(name) " (1)\n" toupper(substr(line, 1, 1)) substr(line, 2) "."
		}
		close(list[i])
		known = known " " name
	}
	n = split(every, list, " ")
	for (i = 1; i <= n; i++) {
		if (list[i] != "screen" && !index(known " ", " peaktop-" list[i] " ")) fail("docs/man/peaktop-" list[i] ".1 is missing: write a page for this verb")
	}
}

# "watch, record and descend.", a verb per line
function listed(text,    n, w, i, out, mark) {
	n = split(text, w, " ")
	for (i = 1; i <= n; i++) {
		if (i > 1 && i == n) out = out "\nand"
		mark = i == n ? "." : i + 1 < n ? "," : ""
		if (w[i] == "screen") out = out "\nthe live screen" mark
		else out = out "\n" (mark == "" ? ".B " w[i] : ".BR " w[i] " " mark)
	}
	return out
}

# The options that this page's verb takes; all in the page of the program itself, each with its verbs.
function options(    line, group, keys, n, i, mine, taken, where) {
	while ((getline line <description) > 0) {
		if (line ~ /^\.SS /) { flush(where); where = ""; mine = 0; group = line; continue }
		if (line ~ /^\.\\"@ /) {
			flush(where); where = ""
			mine = 0
			n = split(substr(line, 6), keys, " ")
			for (i = 1; i <= n; i++) {
				described[keys[i]] = 1
				if (!(keys[i] in takers)) { fail("options.man describes --" keys[i] ", which is not an option: remove it"); continue }
				if (verb == "" ? takers[keys[i]] != "" : index(" " takers[keys[i]] " ", " " verb " ")) mine = 1
				if (mine && verb == "" && takers[keys[i]] != every) where = takers[keys[i]]
			}
			if (mine && group != "") { print group; group = "" }
			continue
		}
		if (line ~ /^\.\\"/) continue
		if (mine) put(line)
	}
	flush(where)
	close(description)
	for (i in takers) if (!(i in described)) fail("options.man does not describe --" i ": add a block for it")
}
function flush(where) { if (where != "") print "Used with" listed(where) }

function expand(line) {
	if (line ~ /^\.\\"@ options/) options()
	else if (line ~ /^\.\\"@ verbs/) verbs()
	else if (line ~ /^\.\\"@ pages/) see_also()
	else if (line ~ /^\.\\"@ include /) include(folder "/" substr(line, 14))
	else {
		gsub(/@VERSION@/, version, line); gsub(/@DATE@/, date, line)
		put(line)
	}
}

BEGIN {
	table = ARGV[1]; description = ARGV[2]; template = ARGV[3]
	page = template; sub(/.*\//, "", page); sub(/\.1$/, "", page)
	verb = page; if (!sub(/^peaktop-/, "", verb)) verb = ""
	while ((getline line <table) > 0) {
		n = split(line, w, " ")
		if (w[1] == "verbs") every = substr(line, 7)
		if (w[1] != "option") continue
		takers[w[2]] = substr(line, length(w[1]) + length(w[2]) + 3)
	}
	include(template)
	exit failed
}
