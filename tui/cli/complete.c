// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/complete.h"

#include <ctype.h>
#include <dirent.h>

#include "analysis/base/syscall_names.h"
#include "tui/cli/complete_functions.h"
#include "tui/cli/option_table.h"
#include "tui/engine/processes.h"
#include "tui/report/sanitise.h"

enum { MAX_SYSCALLS = 1024, SYSCALL_NAME = 64 };

/* One completion: the command line as it is, and where the candidates go. */
struct completion {
	FILE *out;
	int n;
	char *const *words;
	const struct verb_row *verb;
	const char *before; /* what stands before `word` in the last word: "--format=", "123," */
	int before_length;
	const char *word; /* what is to be completed */
};

void options_dump(FILE *out)
{
	fputs("verbs", out);
	for (size_t v = 0; v < nr_verb_rows; v++) {
		if (verb_rows[v].help)
			fprintf(out, " %s", verb_rows[v].word[0] ? verb_rows[v].word : "screen");
	}
	fputc('\n', out);
	for (size_t i = 0; i < nr_option_rows; i++) {
		const struct option_row *row = &option_rows[i];

		fprintf(out, "option %s", row->name);
		for (size_t v = 0; v < nr_verb_rows; v++) {
			const struct verb_row *verb = &verb_rows[v];

			if (verb->help && verb->forms & row->forms)
				fprintf(out, " %s", verb->word[0] ? verb->word : "screen");
		}
		fputs(row->id == OPT_IGNORED ? "\nignored " : "\n", out);
		if (row->id == OPT_IGNORED)
			fprintf(out, "%s\n", row->name);
	}
}

/* Print a candidate if it begins with what was typed. A name comes from a process and is not
 * trusted: one with unusual characters is not offered. */
static void offer(const struct completion *c, const char *word, const char *description)
{
	char safe[256];

	if (strncmp(word, c->word, strlen(c->word)) || strpbrk(word, " \t\n\\'\"`$;&|<>(){}*?!~#"))
		return;
	for (const char *p = word; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return;
	}
	fprintf(c->out, "%.*s%s\t%s\n", c->before_length, c->before, word,
		sanitise(safe, sizeof(safe), description));
}

static void offer_files(const struct completion *c)
{
	fputs(":files\n", c->out);
}

struct process_offer {
	const struct completion *c;
	bool pids, names;
};

static void offer_processes_of(void *ctx, const struct picker_process *list, size_t nr)
{
	const struct process_offer *o = ctx;
	char pid[16];

	for (size_t i = 0; i < nr; i++) {
		bool again = false;

		if (!list[i].permitted)
			continue; /* a kernel thread */
		snprintf(pid, sizeof(pid), "%u", list[i].pid);
		if (o->pids)
			offer(o->c, pid, list[i].comm);
		for (size_t k = 0; k < i && !again; k++)
			again = list[k].permitted && !strcmp(list[k].comm, list[i].comm);
		if (o->names && !again)
			offer(o->c, list[i].comm, list[i].cmdline);
	}
}

static void offer_processes(const struct completion *c, bool pids, bool names)
{
	struct process_offer o = {c, pids, names};

	processes_list(offer_processes_of, &o);
}

/* The process that the command line names before the last word; 0 if none. */
static pid_t target_pid(const struct completion *c);

static void offer_function(void *ctx, const char *name)
{
	offer(ctx, name, "function");
}

static void offer_operations(const struct completion *c)
{
	static const char *const plain[][2] = {
	    {"syscalls", "all system calls"},
	    {"syscall:", "one system call"},
	    {"block", "block requests"},
	    {"lock", "waits for contended locks"},
	    {"runqueue", "waits for a free CPU"},
	    {"kernel:", "a kernel function"},
	    {"block:queue", "block requests until their device gets them"},
	    {"block:device", "block requests at their device"},
	    {"io_uring", "all requests of io_uring"},
	    {"net:connect", "connections that are made"},
	    {"io_uring:", "requests of io_uring of one operation"},
	};
	char text[SYSCALL_NAME + 8];
	pid_t pid;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		offer(c, plain[i][0], plain[i][1]);
	if (!strncmp(c->word, "syscall:", 8)) {
		for (unsigned int nr = 0; nr < MAX_SYSCALLS; nr++) {
			if (!syscall_name(nr))
				continue;
			snprintf(text, sizeof(text), "syscall:%s", syscall_name(nr));
			offer(c, text, "");
		}
		return;
	}
	pid = c->word[0] ? target_pid(c) : 0;
	if (pid > 0)
		complete_functions(pid, c->word, offer_function, (void *)(uintptr_t)c);
}

static void offer_choices(const struct completion *c, const char *choices)
{
	char copy[128], *save = NULL, *one;

	snprintf(copy, sizeof(copy), "%s", choices);
	for (one = strtok_r(copy, "|", &save); one; one = strtok_r(NULL, "|", &save))
		offer(c, one, "");
}

/* The systemd services that have a control group. */
static void offer_units(const struct completion *c)
{
	DIR *slice = opendir("/sys/fs/cgroup/system.slice");
	struct dirent *e;

	while (slice && (e = readdir(slice))) {
		const char *end = strrchr(e->d_name, '.');

		if (end && !strcmp(end, ".service"))
			offer(c, e->d_name, "unit");
	}
	if (slice)
		closedir(slice);
}

static void offer_value(struct completion *c, const struct option_row *row)
{
	const char *value = row->value;

	if (!strncmp(value, "PID", 3)) {
		const char *comma = strrchr(c->word, ',');

		if (comma && !c->before_length) {
			c->before = c->word;
			c->before_length = (int)(comma + 1 - c->word);
			c->word = comma + 1;
		}
		offer_processes(c, true, false);
	} else if (!strcmp(value, "NAME") && !strcmp(row->name, "name")) {
		offer_processes(c, false, true);
	} else if (!strcmp(row->name, "unit")) {
		offer_units(c);
	} else if (!strcmp(value, "OP")) {
		offer_operations(c);
	} else if (!strcmp(value, "FILE") || !strcmp(value, "PATH")) {
		offer_files(c);
	} else if (strchr(value, '|') && !isupper((unsigned char)value[0])) {
		offer_choices(c, value);
	}
}

static void offer_options(const struct completion *c)
{
	char text[64];

	for (size_t i = 0; i < nr_option_rows; i++) {
		const struct option_row *row = &option_rows[i];

		if (!(row->forms & c->verb->forms) || row->id == OPT_IGNORED)
			continue;
		snprintf(text, sizeof(text), "--%s", row->name);
		offer(c, text, row->help);
		if (row->letter && c->word[1] != '-') {
			snprintf(text, sizeof(text), "-%c", row->letter);
			offer(c, text, row->help);
		}
	}
}

/* --- what is asked for */

/* The row of an option with a value, for "-p", "--pid" or "--pid=12"; NULL for other words. */
static const struct option_row *option_with_value(const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < nr_option_rows; i++) {
		const struct option_row *row = &option_rows[i];

		if (!row->value || word[0] != '-')
			continue;
		if (length == 2 && word[1] == row->letter && word[1] != '-')
			return row;
		if (length > 2 && word[1] == '-' && strlen(row->name) == length - 2 &&
		    !strncmp(word + 2, row->name, length - 2))
			return row;
	}
	return NULL;
}

/* The process with a name; if there is none, the first one whose name begins with it. */
struct named {
	const char *name;
	pid_t pid;
	bool exact;
};

static void find_named(void *ctx, const struct picker_process *list, size_t nr)
{
	struct named *n = ctx;

	for (size_t i = 0; i < nr; i++) {
		bool exact = !strncmp(list[i].comm, n->name, 15);

		if (!list[i].permitted || list[i].kernel || n->exact ||
		    (!exact && (n->pid || strncmp(list[i].comm, n->name, strlen(n->name)) != 0)))
			continue;
		n->exact = exact;
		n->pid = (pid_t)list[i].pid;
	}
}

static pid_t target_pid(const struct completion *c)
{
	struct named n = {0};

	for (int i = 0; i + 1 < c->n; i++) {
		const struct option_row *row = option_with_value(c->words[i]);
		const char *equals = strchr(c->words[i], '=');
		const char *value = equals ? equals + 1 : c->words[i + 1];

		if (row && !strcmp(row->name, "pid"))
			return (pid_t)strtol(value, NULL, 10);
		if (row && !strcmp(row->name, "name"))
			n.name = value;
		else if (!row && c->words[i][0] != '-' && (i || !c->verb->word[0]))
			n.name = c->words[i];
		if (row && !equals)
			i++;
	}
	if (!n.name || !n.name[0])
		return 0;
	if (strspn(n.name, "0123456789") == strlen(n.name))
		return (pid_t)strtol(n.name, NULL, 10);
	processes_list(find_named, &n);
	return n.pid;
}

/* Words before the present one that are neither the verb, nor options, nor their values. */
static int nr_arguments(const struct completion *c)
{
	int nr = 0;

	for (int i = c->verb->word[0] ? 1 : 0; i + 1 < c->n; i++) {
		if (c->words[i][0] != '-')
			nr++;
		else if (!strchr(c->words[i], '=') && option_with_value(c->words[i]))
			i++;
	}
	return nr;
}

/* True if the synopsis of the verb has FILE at the place of the present word. */
static bool takes_file(const struct completion *c)
{
	const char *word = c->verb->synopsis[0];

	for (int i = nr_arguments(c); i > 0 && word; i--) {
		word = strchr(word, ' ');
		word += word ? 1 : 0;
	}
	return word && !strncmp(word, "FILE", 4);
}

static void offer_arguments(const struct completion *c)
{
	if (c->n == 1) {
		for (size_t v = 0; v < nr_verb_rows; v++) {
			if (verb_rows[v].word[0] && verb_rows[v].help)
				offer(c, verb_rows[v].word, verb_rows[v].help);
		}
	}
	if (takes_file(c))
		offer_files(c);
	else if (c->word[0])
		offer_processes(c, true, true);
}

void complete_print(int n, char *const *words, FILE *out)
{
	struct completion c = {.out = out, .n = n, .words = words, .verb = &verb_rows[0]};
	const struct option_row *row;

	if (n < 1)
		return;
	for (size_t v = 0; n > 1 && v < nr_verb_rows; v++) {
		if (verb_rows[v].word[0] && !strcmp(words[0], verb_rows[v].word))
			c.verb = &verb_rows[v];
	}
	for (int i = 0; i + 1 < n; i++) {
		if (!strcmp(words[i], "--")) {
			fputs(":commands\n", out);
			return;
		}
	}
	c.before = c.word = words[n - 1];
	row = option_with_value(c.word);
	if (row && strchr(c.word, '=')) {
		c.word = strchr(c.word, '=') + 1;
		c.before_length = (int)(c.word - c.before);
		offer_value(&c, row);
		return;
	}
	row = n > 1 && !strchr(words[n - 2], '=') ? option_with_value(words[n - 2]) : NULL;
	if (row)
		offer_value(&c, row);
	else if (c.word[0] == '-')
		offer_options(&c);
	else
		offer_arguments(&c);
}
