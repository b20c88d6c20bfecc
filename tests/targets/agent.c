// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent PID FILE OFFSET: another tool that counts returns. A return probe (uretprobe), as a perf
 * event, is on the function at OFFSET of FILE while it runs. Prints how many returns it counted.
 */
#include "target.h"
#include <linux/perf_event.h>
#include <sys/syscall.h>

static int source(const char *name, const char *format)
{
	char path[128];
	int value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/uprobe/%s", name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, format, &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

int main(int argc, char **argv)
{
	int type = source("type", "%d"), bit = source("format/retprobe", "config:%d"), fd;
	struct perf_event_attr attr;
	uint64_t count = 0;

	target_begin(&argc, &argv);
	if (argc < 4)
		return 2;
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = (uint32_t)type;
	attr.config = bit < 0 ? 0 : UINT64_C(1) << bit;
	attr.config1 = (uint64_t)(uintptr_t)argv[2];
	attr.config2 = target_arg(argc, argv, 3, 0);
	fd = type < 0 || bit < 0
		 ? -1
		 : (int)syscall(SYS_perf_event_open, &attr, (int)target_arg(argc, argv, 1, 0), -1,
				-1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		printf("{\"skip\":\"no return probes: %s\"}\n", strerror(errno));
		return 0;
	}
	target_go();
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return 1;
	target_truth("{\"returns\":%llu,\"ok\":true}", (unsigned long long)count);
	return 0;
}
