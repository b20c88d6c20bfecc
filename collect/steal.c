// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/steal.h"

#include <bpf/btf.h>
#include <cpuid.h>
#include <unistd.h>

#include "collect/process/small_file.h"
#include "collect/state.h"
#include "collect/stream.h"

/* Documentation/virt/kvm/x86/cpuid.rst. The leaves of KVM begin at a multiple of 0x100. */
enum {
	HYPERVISOR_BIT = 31, /* of ecx of leaf 1 */
	HYPERVISOR_LEAF = 0x40000000,
	HYPERVISOR_LEAF_END = 0x40010000,
	HYPERVISOR_LEAF_STEP = 0x100,
	KVM_FEATURE_STEAL_TIME_BIT = 5,
	MUCH_PART = 50, /* 1/50 of the CPU time of this machine is much */
};

bool steal_is_virtual(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c >> HYPERVISOR_BIT;
}

static bool kvm_tells_steal_time(void)
{
	unsigned int a, name[3];

	if (!steal_is_virtual())
		return false;
	for (unsigned int leaf = HYPERVISOR_LEAF; leaf < HYPERVISOR_LEAF_END;
	     leaf += HYPERVISOR_LEAF_STEP) {
		__cpuid(leaf, a, name[0], name[1], name[2]);
		if (memcmp(name, "KVMKVMKVM\0\0\0", sizeof(name)))
			continue;
		__cpuid(leaf + 1, a, name[0], name[1], name[2]);
		return a >> KVM_FEATURE_STEAL_TIME_BIT & 1;
	}
	return false;
}

/* Returns the offset of a variable in its section `s`; -1: the section does not contain it. */
static int64_t offset_in(const struct btf_type *s, int variable)
{
	const struct btf_var_secinfo *v = btf_var_secinfos(s);

	for (unsigned int i = 0; i < btf_vlen(s); i++)
		if ((int)v[i].type == variable)
			return v[i].offset;
	return -1;
}

int64_t steal_offset(const struct btf *types)
{
	int steal = btf__find_by_name_kind(types, "steal_time", BTF_KIND_VAR),
	    queue = btf__find_by_name_kind(types, "runqueues", BTF_KIND_VAR);
	const struct btf_type *t;

	if (steal <= 0 || queue <= 0 || !kvm_tells_steal_time())
		return 0;
	t = btf__type_by_id(types, btf__type_by_id(types, (unsigned int)steal)->type);
	if (!btf_is_struct(t) || strcmp(btf__name_by_offset(types, t->name_off), "kvm_steal_time"))
		return 0;
	/* both variables are per CPU, so they are at a fixed distance on each CPU */
	for (unsigned int i = 1; i < btf__type_cnt(types); i++) {
		t = btf__type_by_id(types, i);
		if (btf_is_datasec(t) && offset_in(t, steal) >= 0 && offset_in(t, queue) >= 0)
			return offset_in(t, steal) - offset_in(t, queue);
	}
	return 0;
}

/* Returns the steal time of all CPUs so far in ns, as the kernel counts it; 0 if not known. */
static uint64_t steal_of_host(void)
{
	uint64_t ticks;
	char line[256] = "";

	small_file_read(line, sizeof(line), "/proc/stat");
	/* user, nice, system, idle, iowait, irq, softirq, steal */
	if (sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &ticks) != 1)
		return 0;
	return ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

void steal_of_cpus(uint64_t *ns, uint32_t nr)
{
	FILE *f = fopen("/proc/stat", "re");
	uint64_t ticks;
	char line[256];
	uint32_t cpu;

	memset(ns, 0, nr * sizeof(*ns));
	/* the lines of the CPUs come first */
	while (f && fgets(line, sizeof(line), f) && !strncmp(line, "cpu", 3)) {
		if (sscanf(line, "cpu%" SCNu32 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &cpu,
			   &ticks) == 2 &&
		    line[3] != ' ' && cpu < nr)
			ns[cpu] = ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	}
	if (f)
		fclose(f);
}

void steal_begin(struct collector *c)
{
	c->account.steal_before = steal_of_host();
}

void steal_note(struct collector *c)
{
	uint64_t ns = steal_of_host(),
		 wall = c->account.reported_wall_ns * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);

	ns = ns > c->account.steal_before ? ns - c->account.steal_before : 0;
	if (!kernel_side_control(c->kernel)->steal_offset && ns > wall / MUCH_PART)
		send_note(c, NOTE_WARNING,
			  "the hypervisor took %.1f s of CPU time from this machine; calls look "
			  "longer by it, and functions may be blamed for it: see \"steal time\" in "
			  "peaktop doctor",
			  (double)ns / 1e9);
}
