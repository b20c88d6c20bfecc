// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/base/capability_set.h"
#include "collect/attach.h"
#include "collect/process/filter.h"

enum { LAST_POSSIBLE_CAPABILITY = 63 };

static int permitted_get(uint64_t *set)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	*set = data[0].permitted | (uint64_t)data[1].permitted << 32;
	return 0;
}

static int capabilities_set(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
	    {.permitted = (uint32_t)permitted, .effective = (uint32_t)effective},
	    {.permitted = (uint32_t)(permitted >> 32), .effective = (uint32_t)(effective >> 32)},
	};

	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

/* Drop all capabilities but `keep`, so that none can be regained, not even by executing a
 * program as root. */
static int capabilities_keep(uint64_t permitted, uint64_t keep)
{
	if (permitted & UINT64_C(1) << CAP_SETPCAP) {
		for (unsigned int cap = 0; cap <= LAST_POSSIBLE_CAPABILITY; cap++) {
			if (!(keep & UINT64_C(1) << cap) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) &&
			    errno != EINVAL)
				return -errno;
		}
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	return capabilities_set(keep, keep);
}

/* True if the perf events of a session can be opened. */
static bool may_open_events(const struct privileges_use *use)
{
	return attach_may_open_clocks() && (!use->uprobe_events || attach_may_open_uprobes());
}

int privileges_limit_opener(uid_t uid, gid_t gid)
{
	uint64_t permitted;
	int err;

	if ((uid != getuid() || uid != geteuid()) &&
	    (setgroups(1, &gid) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		return -errno;
	err = permitted_get(&permitted);
	if (!err)
		err = capabilities_keep(permitted, 0);
	if (!err && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)))
		err = -errno;
	return err ? err : filter_enter(FILTER_OPENER);
}

int privileges_limit_collector(const struct privileges_use *use)
{
	struct capability_needs needs = {.command = use->command};
	uint64_t permitted, keep;
	int err = permitted_get(&permitted);

	if (err)
		return err;
	keep = capability_set_collector(permitted, &needs);
	err = capabilities_set(permitted, keep);
	if (err)
		return err;
	if (!may_open_events(use)) {
		needs.needs_admin = true;
		keep = capability_set_collector(permitted, &needs);
	}
	/* shrinking the bounding set needs CAP_SETPCAP, which was just switched off */
	err = capabilities_set(permitted, permitted);
	if (!err)
		err = capabilities_keep(permitted, keep);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	return err ? err : filter_enter(FILTER_COLLECTOR);
}
