// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/kernel_set.h"

#include <fnmatch.h>

#include "analysis/base/array.h"
#include "tui/cli/command_line.h"

enum { PREFIX = sizeof("kernel:") - 1 };

static char *texts[OPTIONS_MAX_OPS]; /* of all OPs that were added */
static size_t nr_texts;

bool kernel_set_is(const char *text)
{
	return !strncmp(text, "kernel:", PREFIX) && strpbrk(text + PREFIX, "*?");
}

/* True for a function. The compiler makes parts of functions, and bytes before them, of the others.
 */
static bool is_function(char type, const char *name)
{
	return strchr("tTwW", type) && !strstr(name, ".cold") && strncmp(name, "__pfx_", 6) != 0 &&
	       strncmp(name, "__cfi_", 6) != 0;
}

static bool is_listed(const struct options *o, const char *name)
{
	return any_of(i, o->nr_ops, o->ops[i].kind == OP_KERNEL && !strcmp(o->ops[i].name, name));
}

static int add_one(struct options *o, const char *name)
{
	struct op_spec *op = &o->ops[o->nr_ops];
	char *text;

	if (asprintf(&text, "kernel:%s", name) < 0)
		return -ENOMEM;
	texts[nr_texts++] = text;
	*op = (struct op_spec){.text = text, .kind = OP_KERNEL, .of_set = true};
	snprintf(op->name, sizeof(op->name), "%s", name);
	o->nr_ops++;
	return 0;
}

/* Returns how many functions fit; those beyond `most` are not added. Or a negative errno. */
static int add_fitting(struct options *o, const char *pattern, size_t most, FILE *symbols)
{
	char line[1024], name[512], type;
	size_t first = o->nr_ops;
	int found = 0, err = 0;

	while (!err && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%*s %c %511s", &type, name) != 2 || !is_function(type, name) ||
		    fnmatch(pattern, name, 0) || is_listed(o, name))
			continue;
		found++;
		if (o->nr_ops - first < most)
			err = add_one(o, name);
	}
	return err ? err : found;
}

int kernel_set_add(struct options *o, const char *text, const char *symbols, char *error, size_t n)
{
	size_t most = OPTIONS_MAX_OPS - o->nr_ops;
	FILE *f = fopen(symbols, "re");
	int found;

	most = most < KERNEL_SET_MOST ? most : KERNEL_SET_MOST;
	if (most > OPTIONS_MAX_OPS - nr_texts)
		most = OPTIONS_MAX_OPS - nr_texts;
	if (!f)
		return options_fail(error, n, "-f %.100s: cannot read %s: %s; name one function",
				    text, symbols, strerror(errno));
	found = add_fitting(o, text + PREFIX, most, f);
	fclose(f);
	if (found < 0)
		return options_fail(error, n, "-f %.100s: out of memory", text);
	if (!found)
		return options_fail(error, n, "-f %.100s: no function of the kernel fits; see %s",
				    text, symbols);
	if ((size_t)found > most)
		return options_fail(error, n,
				    "-f %.100s: %d functions of the kernel fit, and at most %zu "
				    "can be watched at once; give more of the name, as in "
				    "'kernel:ext4_file_*'",
				    text, found, most);
	return 0;
}
