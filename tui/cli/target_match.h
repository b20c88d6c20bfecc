/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes a name, a unit, a control group or a container means. Pure: it is given the list
 * of processes and the contents of files. */
#pragma once

enum { TARGET_COMM = 16, TARGET_EXE = 64, CONTAINER_ID = 64 };

struct target_process {
	pid_t pid;
	bool has_memory;	/* false: a kernel thread or a zombie */
	char comm[TARGET_COMM]; /* the kernel cuts longer names */
	char exe[TARGET_EXE];	/* base name of its program, "" if unknown */
	const char *cgroups;	/* contents of /proc/PID/cgroup */
	/* CPU time in all, and since the list was read; only where target_keep_busiest() needs it
	 */
	uint64_t cpu_ticks, busy_ticks;
};

struct target_list {
	struct target_process *list;
	size_t nr;
};

/* A set of processes by their index in the list. */
struct target_set {
	size_t *at;
	size_t nr;
};

/* Each of these functions adds the processes that match to the empty `set`, whose `at` has room for
 * the whole list. */

/* The processes with this name; if there is none, those that run a program with this name. */
void target_match_name(const struct target_list *l, const char *name, struct target_set *set);
/* The processes whose name or program begins with this text, without kernel threads. */
void target_match_prefix(const struct target_list *l, const char *text, struct target_set *set);
/* The processes of a systemd unit. Without a suffix, `unit` means a service. */
void target_match_unit(const struct target_list *l, const char *unit, struct target_set *set);
/* The processes of a control group and of those below it. `path` may begin with /sys/fs/cgroup. */
void target_match_cgroup(const struct target_list *l, const char *path, struct target_set *set);
/* The processes of a container with this id, a begin of its id (at least 4 digits), or its name if
 * that is part of the control group's name (lxc, systemd-nspawn). */
void target_match_container(const struct target_list *l, const char *id, struct target_set *set);

/* Leave at most `max` processes in the set: those that are busiest, or else have used most CPU
 * time. */
void target_keep_busiest(const struct target_list *l, struct target_set *set, size_t max);

/* Does a name end like that of a systemd unit which has processes (.service, .scope, .slice)? */
bool target_is_unit(const char *name);
/* Copy the id of the innermost container in these control groups. False: there is none. */
bool target_container_id(const char *cgroups, char id[CONTAINER_ID + 1]);
/* Find the id of the container `name` in a config.v2.json of docker (`is_docker_name`: is it its
 * name?) or a containers.json of podman. */
bool target_is_docker_name(const char *config, const char *name);
bool target_podman_id(const char *json, const char *name, char id[CONTAINER_ID + 1]);
/* The name of a log in /var/log/containers is POD_NAMESPACE_CONTAINER-ID.log: copy the id if `name`
 * is the pod or the container. */
bool target_kubernetes_id(const char *file, const char *name, char id[CONTAINER_ID + 1]);

/* Write the names in the list that are similar to `name` (at most 5, the nearest first) as
 * "a, b, c"; "" if there is none. */
void target_near_names(const struct target_list *l, const char *name, char *out, size_t n);
