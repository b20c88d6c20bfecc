// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uses Landlock by raw system calls and own constants: the headers of Debian 12 are older than
 * the kernels that peaktop runs on.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "collect/process/sandbox_internal.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum {
	CREATE_RULESET_VERSION = 1,
	RULE_PATH_BENEATH = 1,

	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REMOVE_DIR = 1 << 4,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_DIR = 1 << 7,
	FS_MAKE_REG = 1 << 8,
	FS_MAKE_SOCK = 1 << 9,
	FS_MAKE_FIFO = 1 << 10,
	FS_MAKE_BLOCK = 1 << 11,
	FS_MAKE_SYM = 1 << 12,
	FS_REFER = 1 << 13,	/* version 2 */
	FS_TRUNCATE = 1 << 14,	/* version 3 */
	FS_IOCTL_DEV = 1 << 15, /* version 5 */

	/* Rights that saving a session needs. */
	FS_SAVE =
	    FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_MAKE_DIR | FS_REFER | FS_TRUNCATE,

	NET_TCP = 3,   /* version 4: bind and connect */
	SCOPE_ALL = 3, /* version 6: abstract unix sockets, signals */
};

struct ruleset {
	uint64_t fs, net, scoped;
};

struct path_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

int landlock_version(void)
{
	long v = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return v > 0 ? (int)v : 0;
}

/* Access rights that this ABI version supports. */
static uint64_t known_rights(int version)
{
	if (version < 2)
		return FS_REFER - 1;
	if (version < 3)
		return FS_TRUNCATE - 1;
	return version < 5 ? FS_IOCTL_DEV - 1 : FS_IOCTL_DEV * 2 - 1;
}

/* Add a rule for a path. A path that does not exist needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights)
{
	struct path_rule rule = {.allowed = rights};
	int err = 0;

	rule.fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.fd < 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0))
		err = -errno;
	close(rule.fd);
	return err;
}

static bool is_system_folder(const char *name)
{
	static const char *const folders[] = {"bin",   "boot",	"dev",	  "etc",  "lib",
					      "lib32", "lib64", "libx32", "proc", "run",
					      "sbin",  "sys",	"usr"};

	return any_of(i, ARRAY_SIZE(folders), !strcmp(name, folders[i]));
}

/*
 * Root without capabilities still owns the files of the system, so file permissions do not stop
 * it. Allow writing below every folder of "/" except those of the system.
 */
static int allow_root(int ruleset, uint64_t save)
{
	char path[NAME_MAX + 2] = "/";
	struct dirent *entry;
	int err = 0;
	DIR *dir = opendir("/");

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || is_system_folder(entry->d_name) ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		memccpy(path + 1, entry->d_name, '\0', NAME_MAX + 1);
		err = allow(ruleset, path, save);
	}
	closedir(dir);
	return err;
}

static int front_rules(int ruleset, uint64_t known)
{
	static const char *const devices[] = {"/dev/null", "/dev/tty", "/dev/pts"};
	uint64_t save = FS_SAVE & known;
	int err;

	if (geteuid())
		return allow(ruleset, "/", save);
	err = allow_root(ruleset, save);
	for (size_t i = 0; !err && i < ARRAY_SIZE(devices); i++)
		err = allow(ruleset, devices[i], FS_WRITE_FILE);
	return err;
}

int landlock_enter(enum sandbox_kind kind)
{
	int version = landlock_version(), fd, err = 0;
	uint64_t known = known_rights(version);
	struct ruleset attr = {
	    .fs = known,
	    .net = version >= 4 ? NET_TCP : 0,
	    .scoped = version >= 6 ? SCOPE_ALL : 0,
	};

	if (!version)
		return 0;
	if (kind == SANDBOX_FRONT) /* the front may read all files that its user may read */
		attr.fs &= ~(uint64_t)(FS_READ_FILE | FS_READ_DIR | FS_IOCTL_DEV);
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (fd < 0)
		return -errno;
	if (kind == SANDBOX_FRONT)
		err = front_rules(fd, known);
	if (!err && syscall(SYS_landlock_restrict_self, fd, 0))
		err = -errno;
	close(fd);
	return err;
}
