// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/process/sandbox.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "collect/process/filter.h"
#include "collect/process/sandbox_internal.h"

enum {
	PARSER_FILES = 8192, /* descriptors: a module and its debug file take one each */
	LAST_POSSIBLE_CAPABILITY = 63,
};
#define PARSER_MEMORY (2ULL << 30)

struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int capabilities_get(struct capabilities *caps)
{
	*caps = (struct capabilities){.header.version = _LINUX_CAPABILITY_VERSION_3};
	return syscall(SYS_capget, &caps->header, caps->data) ? -errno : 0;
}

static bool capabilities_any(const struct capabilities *caps)
{
	return any_of(i, _LINUX_CAPABILITY_U32S_3,
		      caps->data[i].effective | caps->data[i].permitted |
			  caps->data[i].inheritable);
}

/* Drop the bounding set. This needs CAP_SETPCAP; a process without it could regain nothing by
 * executing a program as root. */
static int bounds_drop(void)
{
	for (unsigned int cap = 0; cap <= LAST_POSSIBLE_CAPABILITY; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EINVAL)
			return -errno;
	if (prctl(PR_SET_SECUREBITS,
		  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		  0, 0, 0))
		return -errno;
	return 0;
}

static int capabilities_drop(void)
{
	struct capabilities caps;
	int err = capabilities_get(&caps);

	if (err)
		return err;
	if (caps.data[0].effective & (1U << CAP_SETPCAP)) {
		err = bounds_drop();
		if (err)
			return err;
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	caps = (struct capabilities){.header.version = _LINUX_CAPABILITY_VERSION_3};
	if (syscall(SYS_capset, &caps.header, caps.data))
		return -errno;
	err = capabilities_get(&caps);
	return err ? err : capabilities_any(&caps) ? -EPERM : 0;
}

static bool parse_id(const char *text, unsigned int *id)
{
	unsigned long v;
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || *end || !v || v >= UINT32_MAX)
		return false;
	*id = (unsigned int)v;
	return true;
}

bool privileges_invoker(const char *sudo_uid, const char *sudo_gid, uid_t *uid, gid_t *gid)
{
	return parse_id(sudo_uid, uid) && parse_id(sudo_gid, gid);
}

static int become(uid_t uid, gid_t gid)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	if (setgroups(1, &gid) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	if (getresuid(&ruid, &euid, &suid) || getresgid(&rgid, &egid, &sgid))
		return -errno;
	if (ruid != uid || euid != uid || suid != uid || rgid != gid || egid != gid || sgid != gid)
		return -EPERM;
	return 0;
}

int privileges_user(uid_t uid, gid_t gid)
{
	struct passwd *pw;

	if (uid == getuid() && gid == getgid() && geteuid() == uid)
		return 0;
	pw = getpwuid(uid);
	if (pw ? initgroups(pw->pw_name, gid) : setgroups(1, &gid))
		return -errno;
	return setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ? -errno : 0;
}

int privileges_drop(uid_t uid, gid_t gid)
{
	int err;

	if (uid != getuid() || uid != geteuid()) {
		err = become(uid, gid);
		if (err)
			return err;
	}
	err = capabilities_drop();
	if (err)
		return err;
	if (uid && !setresuid(0, 0, 0))
		return -EPERM;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

static int limit(int resource, rlim_t value)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		return -errno;
	if (now.rlim_max < value)
		value = now.rlim_max;
	return setrlimit(resource, &(struct rlimit){value, value}) ? -errno : 0;
}

static int parser_limits(void)
{
	int err = limit(RLIMIT_NOFILE, PARSER_FILES);

#ifndef __SANITIZE_ADDRESS__ /* ASan reserves terabytes of address space */
	if (!err)
		err = limit(RLIMIT_AS, PARSER_MEMORY);
#endif
	if (!err)
		err = limit(RLIMIT_FSIZE, 0);
	if (!err && prctl(PR_SET_PDEATHSIG, SIGKILL))
		err = -errno;
	return err;
}

bool sandbox_has_landlock(void)
{
	return landlock_version() > 0;
}

int sandbox_enter(enum sandbox_kind kind)
{
	int err = capabilities_drop();

	if (err)
		return err;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	err = limit(RLIMIT_CORE, 0);
	if (!err && kind == SANDBOX_PARSER)
		err = parser_limits();
	if (!err)
		err = landlock_enter(kind);
	return err ? err : filter_enter(kind == SANDBOX_PARSER ? FILTER_PARSER : FILTER_FRONT);
}
