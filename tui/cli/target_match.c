// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/target_match.h"

#include <ctype.h>

#include "analysis/base/array.h"
#include "analysis/base/edit_distance.h"

enum { NEAR_MAX = 5, ID_MIN = 4 };

static void add(struct target_set *set, size_t i)
{
	set->at[set->nr++] = i;
}

/* Is `comm`, which the kernel has cut, the name `name`? */
static bool is_comm(const char *comm, const char *name)
{
	return !strncmp(comm, name, TARGET_COMM - 1);
}

void target_match_name(const struct target_list *l, const char *name, struct target_set *set)
{
	bool none;

	for (size_t i = 0; i < l->nr; i++) {
		if (is_comm(l->list[i].comm, name))
			add(set, i);
	}
	none = !set->nr;
	for (size_t i = 0; none && i < l->nr; i++) {
		if (!strcmp(l->list[i].exe, name))
			add(set, i);
	}
}

static bool begins(const char *name, const char *text)
{
	return !strncmp(name, text, strlen(text));
}

void target_match_prefix(const struct target_list *l, const char *text, struct target_set *set)
{
	for (size_t i = 0; i < l->nr; i++) {
		const struct target_process *p = &l->list[i];

		if (p->has_memory && (begins(p->comm, text) || begins(p->exe, text)))
			add(set, i);
	}
}

struct near_name {
	const char *name;
	unsigned int edits;
};

/* Insert a name behind those that are at least as near, unless it is there already. */
static size_t near_insert(struct near_name *best, size_t nr, const char *name, unsigned int edits)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(best[i].name, name))
			return nr;
	}
	for (i = nr < NEAR_MAX ? nr++ : NEAR_MAX; i && best[i - 1].edits > edits; i--) {
		if (i < NEAR_MAX)
			best[i] = best[i - 1];
	}
	if (i < NEAR_MAX)
		best[i] = (struct near_name){name, edits};
	return nr;
}

void target_near_names(const struct target_list *l, const char *name, char *out, size_t n)
{
	unsigned int limit = edit_limit(strlen(name));
	struct near_name best[NEAR_MAX];
	size_t nr = 0, len = 0;

	for (size_t i = 0; i < l->nr; i++) {
		const struct target_process *p = &l->list[i];
		unsigned int edits =
		    edit_distance(name, strlen(name), p->comm, strlen(p->comm), limit);

		/* a name that begins with the text is as near as one with one edit */
		if (name[0] && name[1] && begins(p->comm, name) && edits)
			edits = 1;
		if (p->has_memory && edits <= limit)
			nr = near_insert(best, nr, p->comm, edits);
	}
	out[0] = '\0';
	for (size_t i = 0; i < nr && len < n; i++)
		len += (size_t)snprintf(out + len, n - len, "%s%s", i ? ", " : "", best[i].name);
}

/* A part of a text; not NUL-terminated. */
struct text_part {
	const char *at;
	size_t len;
};

static bool part_is(struct text_part p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.at, text, p.len);
}

/* Take the next line "NUMBER:CONTROLLERS:PATH" of /proc/PID/cgroup. Version 2 has one line, with
 * number 0 and without controllers. */
static bool next_line(const char **text, struct text_part *controllers, struct text_part *path)
{
	while (**text) {
		const char *line = *text, *end = line + strcspn(line, "\n");
		const char *first = memchr(line, ':', (size_t)(end - line));
		const char *second =
		    first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;

		*text = end + (*end == '\n');
		if (!second)
			continue;
		*controllers = (struct text_part){first + 1, (size_t)(second - first - 1)};
		*path = (struct text_part){second + 1, (size_t)(end - second - 1)};
		return true;
	}
	return false;
}

/* Take the next component of a path. */
static bool next_component(struct text_part *path, struct text_part *out)
{
	while (path->len && *path->at == '/') {
		path->at++;
		path->len--;
	}
	if (!path->len)
		return false;
	out->at = path->at;
	for (out->len = 0; out->len < path->len && path->at[out->len] != '/';)
		out->len++;
	path->at += out->len;
	path->len -= out->len;
	return true;
}

/* Is `test` true for a component of any control group? */
static bool any_component(const char *cgroups,
			  bool (*test)(struct text_part component, const char *text),
			  const char *text)
{
	struct text_part controllers, path, component;

	while (next_line(&cgroups, &controllers, &path)) {
		while (next_component(&path, &component)) {
			if (test(component, text))
				return true;
		}
	}
	return false;
}

static int by_use(const void *a, const void *b, void *list)
{
	const struct target_process *x = (const struct target_process *)list + *(const size_t *)a,
				    *y = (const struct target_process *)list + *(const size_t *)b;

	return descending(x->busy_ticks, y->busy_ticks) ?: descending(x->cpu_ticks, y->cpu_ticks)
	       ?: ascending(x->pid, y->pid);
}

void target_keep_busiest(const struct target_list *l, struct target_set *set, size_t max)
{
	if (set->nr <= max)
		return;
	qsort_r(set->at, set->nr, sizeof(*set->at), by_use, l->list);
	set->nr = max;
}

bool target_is_unit(const char *name)
{
	static const char *const suffixes[] = {".service", ".scope", ".slice", ".socket", ".mount"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t len = strlen(name), n = strlen(suffixes[i]);

		if (len > n && !strcmp(name + len - n, suffixes[i]))
			return true;
	}
	return false;
}

void target_match_unit(const struct target_list *l, const char *unit, struct target_set *set)
{
	char name[300];

	snprintf(name, sizeof(name), "%s%s", unit, target_is_unit(unit) ? "" : ".service");
	for (size_t i = 0; i < l->nr; i++) {
		if (any_component(l->list[i].cgroups, part_is, name))
			add(set, i);
	}
}

/* Is `path` the control group `group`, or below it? `group` begins with a slash and does not end
 * with one. */
static bool is_below(struct text_part path, const char *group)
{
	size_t len = strlen(group);

	return path.len >= len && !memcmp(path.at, group, len) &&
	       (path.len == len || path.at[len] == '/');
}

/* Below /sys/fs/cgroup, version 1 has a directory for each set of controllers. Returns the rest of
 * `group` behind it; NULL if `group` is not in the hierarchy of these controllers. */
static const char *in_hierarchy(const char *group, struct text_part controllers)
{
	struct text_part name = {group + 1, strcspn(group + 1, "/")};
	const char *equals = memchr(controllers.at, '=', controllers.len);

	if (!controllers.len)
		return part_is(name, "unified") ? name.at + name.len : NULL;
	if (equals) { /* name=systemd */
		controllers.len -= (size_t)(equals + 1 - controllers.at);
		controllers.at = equals + 1;
	}
	return name.len == controllers.len && !memcmp(name.at, controllers.at, name.len)
		   ? name.at + name.len
		   : NULL;
}

static bool is_in_cgroup(const char *cgroups, const char *group, bool mounted)
{
	struct text_part controllers, path;

	while (next_line(&cgroups, &controllers, &path)) {
		const char *rest = mounted ? in_hierarchy(group, controllers) : NULL;

		if (is_below(path, group) || (rest && is_below(path, rest)))
			return true;
	}
	return false;
}

void target_match_cgroup(const struct target_list *l, const char *path, struct target_set *set)
{
	static const char mount[] = "/sys/fs/cgroup";
	char group[4096];
	size_t len;
	bool mounted =
	    begins(path, mount) && (path[sizeof(mount) - 1] == '/' || !path[sizeof(mount) - 1]);

	if (mounted)
		path += sizeof(mount) - 1;
	while (*path == '/')
		path++;
	len = (size_t)snprintf(group, sizeof(group), "/%s", path);
	if (len >= sizeof(group))
		return;
	while (len && group[len - 1] == '/')
		group[--len] = '\0';
	for (size_t i = 0; i < l->nr; i++) {
		if (l->list[i].has_memory && is_in_cgroup(l->list[i].cgroups, group, mounted))
			add(set, i);
	}
}

static size_t hex_run(const char *at, size_t len)
{
	size_t n = 0;

	while (n < len && (isdigit((unsigned char)at[n]) || (at[n] >= 'a' && at[n] <= 'f')))
		n++;
	return n;
}

/* Find the id in a component: docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, ID. */
static const char *id_in(struct text_part component)
{
	/* podman's monitor of a container is not in the container */
	if (component.len > 14 && !memcmp(component.at, "libpod-conmon-", 14))
		return NULL;
	for (size_t i = 0; i < component.len;) {
		size_t run = hex_run(component.at + i, component.len - i);

		if (run == CONTAINER_ID)
			return component.at + i;
		i += run ? run : 1;
	}
	return NULL;
}

bool target_container_id(const char *cgroups, char id[CONTAINER_ID + 1])
{
	struct text_part controllers, path, component;
	bool found = false;

	while (next_line(&cgroups, &controllers, &path)) {
		while (next_component(&path, &component)) {
			const char *at = id_in(component);

			if (at)
				snprintf(id, CONTAINER_ID + 1, "%.*s", CONTAINER_ID, at);
			found |= at != NULL;
		}
	}
	return found;
}

/* lxc.payload.NAME; machine-NAME.scope of systemd-nspawn, which writes - as \x2d. */
static bool is_named_container(struct text_part component, const char *name)
{
	char text[300];
	size_t n = 0;

	snprintf(text, sizeof(text), "lxc.payload.%s", name);
	if (part_is(component, text))
		return true;
	n = (size_t)snprintf(text, sizeof(text), "machine-");
	for (; *name && n + 5 < sizeof(text); name++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, *name == '-' ? "\\x2d" : "%c",
				      *name);
	snprintf(text + n, sizeof(text) - n, ".scope");
	return part_is(component, text);
}

static bool has_id(struct text_part component, const char *id)
{
	const char *at = id_in(component);

	return at && !memcmp(at, id, strlen(id));
}

void target_match_container(const struct target_list *l, const char *id, struct target_set *set)
{
	size_t len = strlen(id);
	bool is_id = len >= ID_MIN && len <= CONTAINER_ID && hex_run(id, len) == len;

	for (size_t i = 0; i < l->nr; i++) {
		const char *cgroups = l->list[i].cgroups;

		if ((is_id && any_component(cgroups, has_id, id)) ||
		    any_component(cgroups, is_named_container, id))
			add(set, i);
	}
}

bool target_is_docker_name(const char *config, const char *name)
{
	char key[300];

	/* In a string, the quotes would have backslashes before them. */
	snprintf(key, sizeof(key), "\"Name\":\"/%s\"", name);
	return strstr(config, key) != NULL;
}

/* Copy the id that begins at `at`. False: there is none. */
static bool id_copy(const char *at, char id[CONTAINER_ID + 1])
{
	if (hex_run(at, strnlen(at, CONTAINER_ID)) < CONTAINER_ID)
		return false;
	snprintf(id, CONTAINER_ID + 1, "%.*s", CONTAINER_ID, at);
	return true;
}

bool target_podman_id(const char *json, const char *name, char id[CONTAINER_ID + 1])
{
	static const char id_key[] = "\"id\":\"", names_key[] = "\"names\":[";
	const char *object = json, *names, *end, *at;
	char quoted[300];

	/* each container is an object that begins with its id */
	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	while ((object = strstr(object, id_key))) {
		const char *next = strstr(object + 1, id_key);

		names = strstr(object, names_key);
		end = names ? strchr(names, ']') : NULL;
		at = names ? strstr(names, quoted) : NULL;
		if (end && at && at < end && (!next || end < next))
			return id_copy(object + sizeof(id_key) - 1, id);
		object++;
	}
	return false;
}

bool target_kubernetes_id(const char *file, const char *name, char id[CONTAINER_ID + 1])
{
	size_t len = strlen(file), pod = strcspn(file, "_"), n = strlen(name);
	const char *container;

	if (len < CONTAINER_ID + 6 || strcmp(file + len - 4, ".log") || !file[pod])
		return false;
	container = strchr(file + pod + 1, '_');
	len -= CONTAINER_ID + 4; /* where the id begins */
	if (!container || container >= file + len || file[len - 1] != '-')
		return false;
	container++;
	if ((n != pod || memcmp(file, name, n)) &&
	    (container + n != file + len - 1 || memcmp(container, name, n)))
		return false;
	return id_copy(file + len, id);
}
