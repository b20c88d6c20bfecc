// SPDX-License-Identifier: GPL-2.0-or-later
/* peaktop doctor: reports what the kernel and the privileges allow. */
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "collect/attach.h"
#include "collect/calibrate.h"
#include "collect/doctor.h"
#include "collect/kernel_names.h"
#include "collect/kernel_waits.h"
#include "collect/process/small_file.h"
#include "collect/state.h"
#include "collect/steal.h"
#include "collect/stream.h"

static void check(struct collector *c, const char *name, bool ok, const char *needed_for,
		  const char *remedy)
{
	struct record rec = {.type = REC_CHECK};

	rec.check = (struct rec_check){
	    .name = name, .ok = ok, .needed_for = needed_for, .remedy = ok ? "" : remedy};
	send_record(c, &rec);
}

static bool has_landlock(void)
{
	/* flag 1 (LANDLOCK_CREATE_RULESET_VERSION) asks for the version */
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
}

/*
 * Tracepoints that name causes; without one of them, its cause is reported in more general
 * words.
 */
static void check_descents(struct collector *c)
{
	char missing[512], remedy[640];

	kernel_side_missing(c->kernel, missing, sizeof(missing));
	snprintf(remedy, sizeof(remedy), "this kernel has no tracepoint %s", missing);
	check(c, "tracepoints for causes", !missing[0],
	      "naming the causes quota, reclaim, throttling, signals and interrupts", remedy);
}

/* Tracepoints of the tracing of waits; without one of them, chains lack something. */
static void check_waits(struct collector *c)
{
	bool built = kernel_waits_available(c->kernel);
	char missing[768], remedy[900];

	kernel_waits_missing(c->kernel, missing, sizeof(missing));
	snprintf(remedy, sizeof(remedy), "this kernel has no tracepoint %s", missing);
	check(c, "tracing of waits", built && !missing[0],
	      "chains and the critical path (peaktop chains, peaktop critical)",
	      built
		  ? remedy
		  : "the kernel refuses these BPF programs; PEAKTOP_LIBBPF_DEBUG=1 peaktop doctor "
		    "shows why. Everything else works");
}

/* In one line what watch cannot measure on this host, and why. `run`: the layers that it can. */
static void check_all_layers(struct collector *c, uint32_t run)
{
	static const struct {
		enum layer layer;
		const char *lacks;
	} layers[] = {
	    {LAYER_SYSCALL, "system calls (no tracepoints of system calls)"},
	    {LAYER_KERNEL, "kernel functions (no kprobes)"},
	    {LAYER_BLOCK, "block requests (no tracepoints of requests)"},
	    {LAYER_LOCK, "kernel locks (no tracepoint contention_begin)"},
	    {LAYER_RUNQUEUE, "run queue (no tracepoints of the scheduler)"},
	    {LAYER_NET, "net (no tracepoint inet_sock_set_state)"},
	    {LAYER_URING, "io_uring (no tracepoints with its present arguments)"},
	};
	char lacks[512] = "this host lacks ";
	size_t start = strlen(lacks), used = start;

	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		if (!(run & 1u << layers[i].layer))
			used += (size_t)snprintf(lacks + used, sizeof(lacks) - used, "%s%s",
						 used > start ? ", " : "", layers[i].lacks);
	check(c, "layers", used == start, "rows of watch and of the screen for each of them",
	      lacks);
}

static void check_layers(struct collector *c)
{
	uint32_t can = kernel_side_available(c->kernel), run;

	check(c, "target lifecycle", !kernel_side_attach_life(c->kernel),
	      "following fork, exec and exit",
	      "a kernel with raw tracepoints and BTF (CONFIG_DEBUG_INFO_BTF) that is not in "
	      "lockdown mode");
	run = kernel_side_layers(c->kernel, can);
	check(c, "system calls", run & 1u << LAYER_SYSCALL, "profiles of system calls",
	      "a kernel with CONFIG_FTRACE_SYSCALLS and BTF");
	check(c, "scheduler", run & 1u << LAYER_RUNQUEUE, "run-queue delay, on-CPU time of calls",
	      "a kernel with BTF whose tracepoints can be attached");
	check(c, "block requests", run & 1u << LAYER_BLOCK, "profiles of block requests",
	      "a kernel with CONFIG_BLOCK and BTF");
	check(c, "connections", run & 1u << LAYER_NET, "profiles of connections that are made",
	      "a kernel with CONFIG_INET and BTF; connect() is measured without it");
	check(c, "io_uring", run & 1u << LAYER_URING, "profiles of requests of io_uring",
	      "Linux 6.0 with CONFIG_IO_URING and BTF; its system calls are measured without it");
	check(c, "kernel locks", run & 1u << LAYER_LOCK && kernel_side_own_locks(c->kernel),
	      "profiles of lock contention",
	      "Linux 5.19, which has the tracepoint; waits for user-space locks are measured "
	      "without it");
	if (!kernel_side_own_locks(c->kernel))
		run &= ~(1u << LAYER_LOCK);
	if (kernel_side_has_kprobes(c->kernel))
		run |= 1u << LAYER_KERNEL;
	check_all_layers(c, run);
	check_descents(c);
	check(
	    c, "steal time",
	    !steal_is_virtual() || kernel_side_control(c->kernel)->steal_offset != 0,
	    "telling time that the hypervisor takes from time of the program",
	    "a virtual machine of KVM that reports steal time, and a kernel with CONFIG_KVM_GUEST "
	    "and BTF; on other hypervisors calls look longer by the time that these take");
	check_waits(c);
	kernel_side_layers(c->kernel, 0);
}

static void check_uprobes(struct collector *c)
{
	enum uprobe_method method = kernel_side_uprobes(c->kernel);

	check(c, "uprobes", kernel_side_has_uprobes(c->kernel), "latencies of user functions",
	      method == UPROBE_DENIED ? "run as root, or grant CAP_SYS_ADMIN: this kernel requires "
					"it for uprobes by perf "
					"events; Linux 6.10 and later do not need it"
				      : "a kernel with CONFIG_UPROBE_EVENTS");
}

static void check_clocks(struct collector *c)
{
	check(c, "sampling timers", attach_may_open_clocks(),
	      "samples of running threads (descents, and calls too short to be timed)",
	      "run as root, or set the sysctl kernel.perf_event_paranoid to 2 or less: with more, "
	      "this kernel requires CAP_SYS_ADMIN for them");
}

static void check_kernel_names(struct collector *c)
{
	check(c, "names of kernel functions", kernel_names_count() > 0,
	      "kinds of causes inside of the kernel, kernel stacks",
	      "CAP_SYSLOG, and kernel.kptr_restrict of 0 or 1, or Linux 6.1");
}

void doctor_check_rights(struct collector *c)
{
	check_uprobes(c);
	check_clocks(c);
	check_kernel_names(c);
}

static void check_probes(struct collector *c)
{
	bool probes = kernel_side_has_uprobes(c->kernel);
	char type[64];

	check(c, "many uprobes in one link", kernel_side_uprobes(c->kernel) == UPROBE_MULTI,
	      "attaching probes quickly, short bursts within a small budget",
	      "Linux 6.10; older kernels use one perf event per probe, which attaches more slowly "
	      "and makes bursts longer");
	calibrate(c);
	check(c, "calibration", !probes || c->cost.hit[SITE_EMULATED] > 0,
	      "correcting latencies, staying within the budget",
	      "probes attach but do not fire on this host; latencies are not corrected");
	check(c, "kernel functions",
	      access("/sys/kernel/debug/kprobes", F_OK) == 0 ||
		  small_file_read(type, sizeof(type),
				  "/sys/bus/event_source/devices/kprobe/type") >= 0,
	      "profiles of kernel functions",
	      "a kernel with CONFIG_KPROBES; without it kernel paths come from stacks only");
	check(c, "descents into the kernel",
	      kernel_side_has_kprobes(c->kernel) && kernel_at_least(6, 7),
	      "timing what a system call or a kernel function calls",
	      "Linux 6.7 with kprobes; without them descents name what stacks show there");
}

/* True if programs may not read the kernel's memory (LOCKDOWN_BPF_READ_KERNEL). */
static bool is_locked_down(void)
{
	char text[4096];

	if (small_file_read(text, sizeof(text), "/sys/kernel/security/lockdown") > 0)
		return strstr(text, "[confidentiality]");
	return small_file_read(text, sizeof(text), "/proc/cmdline") > 0 &&
	       strstr(text, "lockdown=confidentiality");
}

/* The BPF programs need attach cookies, bpf_task_pt_regs() and bpf_get_current_task_btf(),
 * which Linux 5.15 has. Vendors may have backported them. */
const char *doctor_unfit_kernel(void)
{
	if (!kernel_at_least(5, 15))
		return "is too old for the BPF programs: peaktop needs Linux 5.15 or later";
	if (is_locked_down())
		return "is in lockdown mode, which forbids BPF programs that read its memory; boot "
		       "it with lockdown=integrity or lockdown=none";
	return NULL;
}

/* `err`: of loading the programs. */
static void check_programs(struct collector *c, int err)
{
	const char *unfit = err ? doctor_unfit_kernel() : NULL;
	char remedy[256];

	snprintf(remedy, sizeof(remedy), "%s%s",
		 unfit ? "this kernel " : "the kernel refuses the programs; ",
		 unfit ? unfit : "PEAKTOP_LIBBPF_DEBUG=1 peaktop doctor shows why");
	check(c, err && err != -EPERM ? "BPF programs" : "privileges", !err, "everything",
	      err == -EPERM ? "run as root, or grant CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, "
			      "CAP_CHECKPOINT_RESTORE, CAP_SYSLOG"
			    : remedy);
}

int collector_doctor(int fd)
{
	struct collector_options options = {.budget_ppm = 10000};
	struct collector *c = calloc(1, sizeof(*c));
	struct record bye = {.type = REC_BYE};
	char maps[64];
	int err, self;

	if (!c)
		return 1;
	c->options = &options;
	c->front = channel_new(fd, 1u << 20);
	if (!c->front)
		return 1;
	c->start_ns = now_ns();
	send_meta(c);
	err = kernel_side_new(&c->kernel, true);
	check(c, "BTF", !err, "everything",
	      "a kernel with CONFIG_DEBUG_INFO_BTF (/sys/kernel/btf/vmlinux)");
	if (!err) {
		err = kernel_side_load(c->kernel);
		check_programs(c, err);
	}
	if (!err) {
		check_layers(c);
		kernel_names_fall_back(c->kernel, kernel_side_names);
		doctor_check_rights(c);
		kernel_names_release();
		kernel_names_fall_back(NULL, NULL);
		check_probes(c);
		send_constants(c);
		send_note(c, NOTE_INFO,
			  "probe hit: %u ns emulated, %u ns single-stepped (%u and %u ns of that "
			  "inside the latency); system call: %u ns (%u ns inside the latency), in "
			  "other processes %u ns; context switch: %u ns",
			  c->cost.hit[SITE_EMULATED], c->cost.hit[SITE_STEPPED],
			  c->cost.inside[SITE_EMULATED], c->cost.inside[SITE_STEPPED],
			  c->cost.syscall, c->cost.syscall_inside, c->cost.syscall_other,
			  c->cost.sched);
		send_note(c, NOTE_INFO, "this host: system call %u ns, context switch %u ns",
			  c->cost.system_call, c->cost.context_switch);
	}
	snprintf(maps, sizeof(maps), "/proc/%d/map_files", getppid());
	self = open(maps, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(c, "files of targets", self >= 0, "names of functions",
	      "CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, and CAP_SYS_PTRACE");
	if (self >= 0)
		close(self);
	check(c, "Landlock", has_landlock(),
	      "additional confinement of the parser and the front process",
	      "Linux 5.13 with CONFIG_SECURITY_LANDLOCK and landlock in lsm=; seccomp confines "
	      "them without it");
	bye.bye.error = 0;
	send_record(c, &bye);
	while (channel_flush(c->front) == 1)
		poll(&(struct pollfd){.fd = channel_fd(c->front), .events = POLLOUT}, 1, 100);
	kernel_side_free(c->kernel);
	channel_free(c->front);
	return 0;
}
