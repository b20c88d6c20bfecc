// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/snapshot_locks.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>

#include "collect/process/clock.h"
#include "collect/process/small_file.h"

#define MS 1000000ull

/* ---- futexes */

struct lock_holder futex_holder(uint32_t tgid, uint32_t op, uint32_t value,
				const uint32_t word[FUTEX_WORDS])
{
	enum { LOCK, OWNER = 2, USERS, KIND, SHARED = 0x80 }; /* pthread_mutex_t of glibc */
	uint32_t command = op & FUTEX_CMD_MASK;
	bool anywhere = !(op & FUTEX_PRIVATE_FLAG);
	uint32_t tid = 0;

	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		tid = word[LOCK] & FUTEX_TID_MASK;
	} else if ((command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && value == 2 &&
		   word[LOCK] <= 2 && word[USERS] < 1 << 16 && word[KIND] < 1 << 9) {
		tid = word[OWNER];
		/* a lock of another library may have any number here, even that of a process */
		anywhere &= (word[KIND] & SHARED) != 0;
	}
	return (struct lock_holder){.pid = anywhere ? tid : tgid, .tid = tid};
}

/* ---- locks on files */

enum {
	LOCK_WAITS = 2048,
	LOCKS_TEXT = 256 * 1024,
	READ_MS = 250,
	LONG_LIST_MS = 10000, /* until a list that was too long is tried again */
};

/* A wait for a lock on a file. Locks that belong to an open file have no process. */
struct lock_wait {
	uint64_t inode;
	uint32_t waiter; /* process; NO_PROCESS */
	uint32_t owner;	 /* process that has the lock; NO_PROCESS */
};

enum { NO_PROCESS = 0 };

/* The waits listed in /proc/locks at `read_ns`. */
struct lock_waits {
	uint64_t read_ns, next_ns; /* the list is not read before `next_ns` */
	bool known;
	uint32_t nr;
	struct lock_wait list[LOCK_WAITS];
};

static uint32_t process_of(int32_t pid)
{
	return pid > 0 ? (uint32_t)pid : NO_PROCESS;
}

/* Returns false if there are too many. */
static bool lock_waits_parse(char *text, struct lock_waits *out)
{
	uint32_t nr, of = 0;
	int32_t pid, owner = 0;
	uint64_t inode;
	char *line;

	out->nr = 0;
	/* "1: FLOCK ADVISORY WRITE 812 08:01:5 0 EOF", then "1: -> FLOCK ADVISORY WRITE 813 ..." */
	while ((line = strsep(&text, "\n"))) {
		if (sscanf(line, "%" SCNu32 ": -> %*s %*s %*s %" SCNd32 " %*[^:]:%*[^:]:%" SCNu64,
			   &nr, &pid, &inode) == 3) {
			if (nr != of)
				continue;
			if (out->nr == LOCK_WAITS)
				return false;
			out->list[out->nr++] = (struct lock_wait){
			    .inode = inode, .waiter = process_of(pid), .owner = process_of(owner)};
		} else if (sscanf(line, "%" SCNu32 ": %*s %*s %*s %" SCNd32, &nr, &owner) == 2) {
			of = nr;
		}
	}
	return true;
}

/* Read the list if that is due. Returns true if it is known as of `since` or later. */
static bool lock_waits_read(struct lock_waits *w, const char *path, uint64_t now, uint64_t since)
{
	static char text[LOCKS_TEXT];
	ssize_t n;

	if (now >= w->next_ns) {
		n = small_file_read(text, sizeof(text), "%s", path);
		w->known = n >= 0 && n < LOCKS_TEXT - 1 && lock_waits_parse(text, w);
		w->read_ns = now;
		w->next_ns = now + (w->known ? READ_MS : LONG_LIST_MS) * MS;
	}
	return w->known && w->read_ns >= since;
}

/* Several threads of the waiter may wait for parts of one file: then the owner is not known. */
static uint32_t lock_waits_owner(const struct lock_waits *w, uint32_t waiter, uint64_t inode)
{
	uint32_t owner = NO_PROCESS;

	for (uint32_t i = 0; i < w->nr; i++) {
		const struct lock_wait *l = &w->list[i];

		if (l->waiter != waiter || l->inode != inode)
			continue;
		if (l->owner == NO_PROCESS || (owner != NO_PROCESS && owner != l->owner))
			return NO_PROCESS;
		owner = l->owner;
	}
	return owner;
}

/* The inode of a thread's file, from what the kernel has in memory; 0: not known. */
static uint64_t inode_of(const struct pt_task_now *t, uint32_t fd)
{
	char text[256] = "";
	const char *line;

	small_file_read(text, sizeof(text), "/proc/%u/task/%u/fdinfo/%u", t->tgid, t->tid, fd);
	line = strstr(text, "\nino:");
	return line ? strtoull(line + strlen("\nino:"), NULL, 10) : 0;
}

static bool waits_for_lock(bool is_flock, uint32_t command)
{
	return is_flock ? !(command & (LOCK_NB | LOCK_UN))
			: command == F_SETLKW || command == F_OFD_SETLKW;
}

uint32_t file_lock_owner(const struct pt_task_now *t, bool is_flock, const uint64_t args[2])
{
	static struct lock_waits waits;
	uint32_t command = (uint32_t)args[1],
		 waiter = !is_flock && command == F_OFD_SETLKW ? NO_PROCESS : t->tgid;
	uint64_t now = now_ns(), asleep = 0, inode;

	if (!t->state || !waits_for_lock(is_flock, command))
		return 0;
	inode = inode_of(t, (uint32_t)args[0]);
	if (t->ran_ns && t->clock_ns > t->ran_ns)
		asleep = t->clock_ns - t->ran_ns;
	/* an earlier list may name the holder for which an earlier call waited */
	if (!inode || !lock_waits_read(&waits, "/proc/locks", now, now - asleep))
		return 0;
	return lock_waits_owner(&waits, waiter, inode);
}
