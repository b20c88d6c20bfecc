/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the man pages and the completion of the shells need of the program. Both are hidden
 * options: `peaktop --dump-options` and `peaktop --complete [WORD...]`. */
#pragma once

/* Print the verbs, and each option with the verbs that take it (docs/man/README.md). */
void options_dump(FILE *out);

/* Print the words that can stand in the place of the last of `words`, the `n` words of a command
 * line after "peaktop", up to the cursor. The last word may be empty. One line each: the word, a
 * tab and a description that may be empty. The line ":files" stands for names of files, ":commands"
 * for a command with its arguments. */
void complete_print(int n, char *const *words, FILE *out);
