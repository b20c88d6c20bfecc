// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/target.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "analysis/base/path.h"
#include "tui/cli/option_table.h"
#include "tui/cli/target_match.h"
#include "tui/engine/front.h"
#include "tui/engine/processes.h"

enum { FILE_MAX = 1 << 20, CONTAINERS_MAX = 8, LISTED_MAX = 12 };
enum { BUSY_MS = 300 /* for which processes are watched to find the busiest */ };

/* Read a regular file below `dir` as a text; NULL if it cannot be read. The caller frees it. */
static char *read_text(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	size_t len = 0;
	ssize_t got = 1;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		text = malloc(FILE_MAX + 1);
	while (text && got > 0 && len < FILE_MAX) {
		got = read(fd, text + len, FILE_MAX - len);
		len += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (text) {
		char *fit = realloc(text, len + 1);

		text = fit ? fit : text;
		text[len] = '\0';
	}
	return text;
}

/* Returns the file name of a process's program, "" if it is not known. */
static void program_read(pid_t shown, char *out, size_t n)
{
	char path[32], exe[4096];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)shown);
	len = readlink(path, exe, sizeof(exe) - 1);
	exe[len > 0 ? len : 0] = '\0';
	snprintf(out, n, "%.63s", path_file(exe));
}

/* A kernel thread or a zombie has no arguments. */
static bool has_arguments(pid_t shown)
{
	char path[32], *text;
	bool has;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)shown);
	text = read_text(AT_FDCWD, path);
	has = text && text[0];
	free(text);
	return has;
}

/* Read what is needed of a process; false: it has ended. */
static bool process_read(int proc, const char *pid, struct target_process *p)
{
	int dir = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t shown;
	char *comm;

	*p = (struct target_process){.pid = (pid_t)strtol(pid, NULL, 10)};
	if (dir < 0)
		return false;
	comm = read_text(dir, "comm");
	if (comm)
		snprintf(p->comm, sizeof(p->comm), "%.*s", (int)strcspn(comm, "\n"), comm);
	p->cgroups = read_text(dir, "cgroup");
	close(dir);
	free(comm);
	shown = p->pid;
	p->has_memory = has_arguments(shown);
	if (!p->has_memory) {
		shown = process_number(p->pid);
		p->has_memory = shown != p->pid && has_arguments(shown);
	}
	program_read(shown, p->exe, sizeof(p->exe));
	return p->comm[0] && p->cgroups;
}

static void list_release(struct target_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		free((char *)l->list[i].cgroups);
	free(l->list);
}

/* Read all processes but this one. 0 or a negative errno. */
static int list_read(struct target_list *l)
{
	DIR *proc = opendir("/proc");
	size_t cap = 0;
	struct dirent *e;
	int err = proc ? 0 : -errno;

	while (!err && (e = readdir(proc))) {
		if (strspn(e->d_name, "0123456789") != strlen(e->d_name) ||
		    strtol(e->d_name, NULL, 10) == getpid())
			continue;
		err = array_grow(l->list, l->nr, cap, PROCESSES_MAX);
		if (!err && process_read(dirfd(proc), e->d_name, &l->list[l->nr]))
			l->nr++;
		else if (!err)
			free((char *)l->list[l->nr].cgroups);
	}
	if (proc)
		closedir(proc);
	return err == -E2BIG ? 0 : err;
}

/* ---- the names of containers -------------------------------------------- */

/* The ids of containers, each once. */
struct ids {
	char id[CONTAINERS_MAX][CONTAINER_ID + 1];
	size_t nr;
};

static void ids_add(struct ids *ids, const char *id)
{
	for (size_t i = 0; i < ids->nr; i++) {
		if (!strcmp(ids->id[i], id))
			return;
	}
	if (ids->nr < CONTAINERS_MAX)
		snprintf(ids->id[ids->nr++], CONTAINER_ID + 1, "%s", id);
}

static void docker_file(const char *path, const char *name, struct ids *ids)
{
	char *text = read_text(AT_FDCWD, path), id[CONTAINER_ID + 1];
	const char *file = strrchr(path, '/');

	/* .../containers/ID/config.v2.json */
	if (text && file - path > CONTAINER_ID && target_is_docker_name(text, name)) {
		snprintf(id, sizeof(id), "%.*s", CONTAINER_ID, file - CONTAINER_ID);
		ids_add(ids, id);
	}
	free(text);
}

static void podman_file(const char *path, const char *name, struct ids *ids)
{
	char *text = read_text(AT_FDCWD, path), id[CONTAINER_ID + 1];

	if (text && target_podman_id(text, name, id))
		ids_add(ids, id);
	free(text);
}

static void kubernetes_file(const char *path, const char *name, struct ids *ids)
{
	char id[CONTAINER_ID + 1];

	if (target_kubernetes_id(strrchr(path, '/') + 1, name, id))
		ids_add(ids, id);
}

/* nerdctl has a file for each name, which contains the id. */
static void nerdctl_file(const char *path, const char *name, struct ids *ids)
{
	char *text = strcmp(strrchr(path, '/') + 1, name) ? NULL : read_text(AT_FDCWD, path);

	if (text && strlen(text) >= CONTAINER_ID) {
		text[CONTAINER_ID] = '\0';
		ids_add(ids, text);
	}
	free(text);
}

/* Find the ids of the containers with this name in the files of docker, podman, nerdctl and
 * Kubernetes. No daemon is asked. */
static void ids_by_name(const char *name, struct ids *ids)
{
	static const struct {
		const char *files;
		void (*look)(const char *path, const char *name, struct ids *ids);
	} places[] = {
	    {"/var/lib/docker/containers/*/config.v2.json", docker_file},
	    {"/var/lib/containers/storage/*-containers/containers.json", podman_file},
	    {"/var/lib/nerdctl/*/names/*/*", nerdctl_file},
	    {"/var/log/containers/*.log", kubernetes_file},
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		glob_t found = {0};

		if (!glob(places[i].files, GLOB_NOSORT, NULL, &found)) {
			for (size_t k = 0; k < found.gl_pathc; k++)
				places[i].look(found.gl_pathv[k], name, ids);
		}
		globfree(&found);
	}
}

struct target_search {
	struct options *options;
	struct target_list list;
	struct target_set set;
	char *error;
	size_t n;
};

static int refuse(struct target_search *s, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct target_search *s, int status, const char *fmt, ...)
{
	format_arguments(s->error, s->n, fmt);
	return status;
}

/* More processes than can be measured: keep those that use most CPU time now, and note that. */
static void keep_busiest(struct target_search *s, const char *what, const char *value)
{
	struct target_set *set = &s->set;

	snprintf(s->options->targets_note, sizeof(s->options->targets_note),
		 "%s%.150s: %zu processes match; the %d that used most CPU time are measured, the "
		 "others are left out; name some with -p PID,PID",
		 what, value, set->nr, OPTIONS_MAX_PIDS);
	for (size_t i = 0; i < set->nr; i++)
		s->list.list[set->at[i]].cpu_ticks = process_ticks(s->list.list[set->at[i]].pid);
	nanosleep(&(struct timespec){.tv_nsec = BUSY_MS * 1000000}, NULL);
	for (size_t i = 0; i < set->nr; i++) {
		struct target_process *p = &s->list.list[set->at[i]];
		uint64_t ticks = process_ticks(p->pid);

		p->busy_ticks = ticks > p->cpu_ticks ? ticks - p->cpu_ticks : 0;
	}
	target_keep_busiest(&s->list, set, OPTIONS_MAX_PIDS);
}

/* Take the processes of the set as targets; `what` and `value` say how they were named. */
static int take_all(struct target_search *s, const char *what, const char *value)
{
	struct options *o = s->options;

	if (s->set.nr > OPTIONS_MAX_PIDS)
		keep_busiest(s, what, value);
	for (size_t i = 0; i < s->set.nr; i++)
		o->pids[o->nr_pids++] = s->list.list[s->set.at[i]].pid;
	o->matched = true;
	return 0;
}

static int by_name(struct target_search *s, const char *name)
{
	char near[160];

	target_match_name(&s->list, name, &s->set);
	if (s->set.nr)
		return take_all(s, "-n ", name);
	target_near_names(&s->list, name, near, sizeof(near));
	if (near[0])
		return refuse(s, EXIT_NO_ANSWER,
			      "-n '%.200s': no process has this name; similar names: %s", name,
			      near);
	return refuse(s, EXIT_NO_ANSWER, "-n '%.200s': no process has this name; see ps -e", name);
}

static int by_unit(struct target_search *s, const char *unit)
{
	target_match_unit(&s->list, unit, &s->set);
	return s->set.nr ? take_all(s, "--unit ", unit)
			 : refuse(s, EXIT_NO_ANSWER,
				  "--unit %.200s: no running process belongs to this unit; see "
				  "systemctl status",
				  unit);
}

static int by_cgroup(struct target_search *s, const char *path)
{
	target_match_cgroup(&s->list, path, &s->set);
	return s->set.nr
		   ? take_all(s, "--cgroup ", path)
		   : refuse(s, EXIT_NO_ANSWER,
			    "--cgroup %.200s: no process is in this control group; give a path "
			    "below /sys/fs/cgroup, as systemd-cgls shows it",
			    path);
}

/* Match a container by its id or its name: the set has its processes afterwards. Returns how many
 * containers match; more than one are in `ids`. */
static size_t match_container(struct target_search *s, const char *name, struct ids *ids)
{
	char id[CONTAINER_ID + 1];

	s->set.nr = 0;
	target_match_container(&s->list, name, &s->set);
	if (!s->set.nr) {
		struct ids named = {0};

		ids_by_name(name, &named);
		for (size_t i = 0; i < named.nr; i++)
			target_match_container(&s->list, named.id[i], &s->set);
	}
	for (size_t i = 0; i < s->set.nr; i++) {
		if (target_container_id(s->list.list[s->set.at[i]].cgroups, id))
			ids_add(ids, id);
	}
	return ids->nr ? ids->nr : s->set.nr > 0;
}

static int by_container(struct target_search *s, const char *name, const char *option)
{
	struct ids ids = {0};
	size_t nr = match_container(s, name, &ids);
	SCOPED_BUF(b, 1024);

	if (nr == 1)
		return take_all(s, option, name);
	if (!nr)
		return refuse(s, EXIT_NO_ANSWER,
			      "%s%.200s: no running container has this id or name; give the id "
			      "that docker ps, podman ps or crictl ps shows",
			      option, name);
	for (size_t i = 0; i < ids.nr; i++)
		buf_printf(&b, "%s%.12s", i ? ", " : "", ids.id[i]);
	return refuse(s, EXIT_USAGE, "%s%.200s: several containers match: %s; give one id", option,
		      name, b.data ? b.data : "");
}

static int several(struct target_search *s, const char *name)
{
	const struct target_process *first = &s->list.list[s->set.at[0]];
	bool same = true;
	SCOPED_BUF(b, 1024);

	for (size_t i = 0; i < s->set.nr; i++) {
		const struct target_process *p = &s->list.list[s->set.at[i]];

		same &= !strcmp(p->comm, first->comm);
		if (i < LISTED_MAX)
			buf_printf(&b, "%s%d %s", i ? ", " : "", (int)p->pid, p->comm);
		else if (i == LISTED_MAX)
			buf_puts(&b, ", ...");
	}
	return refuse(s, EXIT_USAGE,
		      "%.100s: %zu processes match: %s; give one of these pids%s%s%s", name,
		      s->set.nr, b.data ? b.data : "", same ? ", or -n " : "",
		      same ? first->comm : "", same ? " for all of them" : "");
}

static int nothing_named(struct target_search *s, const char *name)
{
	bool may_be_verb = s->options->verb == VERB_SCREEN;
	const char *verb = may_be_verb ? verb_near(name) : NULL;
	char near[160];

	target_near_names(&s->list, name, near, sizeof(near));
	return refuse(s, may_be_verb ? EXIT_USAGE : EXIT_NO_ANSWER,
		      "%.200s: no %sprocess, unit or container has this name%s%s%s%s (see %s)",
		      name, may_be_verb ? "verb, " : "", near[0] || verb ? "; similar names: " : "",
		      verb ? verb : "", verb && near[0] ? ", " : "", near,
		      may_be_verb ? "peaktop --help" : "ps -e");
}

/* A name without an option: an exact name of a process, a unit, the begin of a name, a container.
 */
static int by_word(struct target_search *s, bool may_pick)
{
	const char *name = s->options->bare;
	struct ids ids = {0};

	s->options->bare = NULL;
	target_match_name(&s->list, name, &s->set);
	if (!s->set.nr && target_is_unit(name)) {
		target_match_unit(&s->list, name, &s->set);
		if (s->set.nr)
			return take_all(s, "", name);
	}
	if (!s->set.nr)
		target_match_prefix(&s->list, name, &s->set);
	if (s->set.nr > 1 && may_pick) {
		s->options->bare = name;
		return 0;
	}
	if (s->set.nr)
		return s->set.nr == 1 ? take_all(s, "", name) : several(s, name);
	if (match_container(s, name, &ids))
		return by_container(s, name, "");
	return nothing_named(s, name);
}

/* The process of --thread is the target. If another target was given, it must have this thread. */
static int check_thread(struct target_search *s)
{
	struct options *o = s->options;
	pid_t pid = process_of_thread((pid_t)o->thread);

	if (!pid)
		return refuse(s, EXIT_NO_ANSWER, "--thread %u: no such thread; see ps -eL",
			      o->thread);
	if (!o->nr_pids && !o->bare)
		o->pids[o->nr_pids++] = pid;
	if (o->nr_pids && !any_of(i, o->nr_pids, o->pids[i] == pid))
		return refuse(s, EXIT_USAGE,
			      "--thread %u: this is a thread of process %d, which is not the "
			      "target; give -p %d, or --thread alone",
			      o->thread, (int)pid, (int)pid);
	return 0;
}

/* Find the processes of a target that is not given by pids. */
static int resolve_words(struct target_search *s, bool may_pick)
{
	struct options *o = s->options;
	int status, err = list_read(&s->list);

	s->set.at = calloc(s->list.nr + 1, sizeof(*s->set.at));
	if (err || !s->set.at)
		status = refuse(s, EXIT_NO_ANSWER, "cannot read /proc: %s",
				strerror(err ? -err : ENOMEM));
	else if (o->name)
		status = by_name(s, o->name);
	else if (o->unit)
		status = by_unit(s, o->unit);
	else if (o->cgroup)
		status = by_cgroup(s, o->cgroup);
	else if (o->container)
		status = by_container(s, o->container, "--container ");
	else
		status = by_word(s, may_pick);
	free(s->set.at);
	list_release(&s->list);
	return status;
}

int target_resolve(struct options *o, bool may_pick, char *error, size_t n)
{
	struct target_search s = {.options = o, .error = error, .n = n};
	int status = 0;

	if (o->name || o->unit || o->cgroup || o->container || o->bare)
		status = resolve_words(&s, may_pick);
	return !status && o->thread ? check_thread(&s) : status;
}
