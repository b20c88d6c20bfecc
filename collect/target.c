// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/target.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/base/path.h"
#include "analysis/base/process_start.h"
#include "collect/opener.h"
#include "collect/process/clock.h"
#include "collect/process/live_thread.h"
#include "collect/process/small_file.h"
#include "collect/reader.h"

struct stat_line {
	unsigned int flags;
	unsigned int threads;
	uint64_t start_ticks;
};

static int stat_read(pid_t pid, struct stat_line *out)
{
	char buf[1024], *p;
	ssize_t n = small_file_read(buf, sizeof(buf), "/proc/%d/stat", pid);
	long threads;

	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	/* the name may contain any characters: search the last parenthesis */
	p = strrchr(buf, ')');
	if (!p)
		return -EPROTO;
	if (sscanf(p + 1,
		   " %*c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
		   "%" SCNu64,
		   &out->flags, &threads, &out->start_ticks) != 3)
		return -EPROTO;
	out->threads = threads > 0 ? (unsigned int)threads : 1;
	return 0;
}

static uint64_t ticks_ns(uint64_t ticks)
{
	return ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The boot time offset of our time namespace, ns. */
static int64_t boot_offset_ns(void)
{
	char buf[256], *line;
	long long seconds, ns;

	if (small_file_read(buf, sizeof(buf), "/proc/self/timens_offsets") < 0)
		return 0;
	line = strstr(buf, "boottime");
	return line && sscanf(line, "boottime %lld %lld", &seconds, &ns) == 2
		   ? seconds * 1000000000 + ns
		   : 0;
}

static void ids_read(struct target *t)
{
	char buf[4096], *p;

	t->ns_pid = t->pid;
	if (small_file_read(buf, sizeof(buf), "/proc/%d/status", t->pid) < 0)
		return;
	p = strstr(buf, "\nUid:");
	if (p)
		t->uid = (uid_t)strtoul(p + 5, NULL, 10);
	p = strstr(buf, "\nNSpid:");
	if (!p)
		return;
	for (p += 7; *p && *p != '\n';) {
		char *end;
		long id = strtol(p, &end, 10);

		if (end == p)
			break;
		t->ns_pid = (pid_t)id;
		p = end;
	}
}

int target_refresh(struct target *t)
{
	struct stat_line line;
	ssize_t linked;
	int err = stat_read(t->pid, &line);

	if (err)
		return err;
	if (!live_thread(t->pid))
		return -ECHILD;
	t->started_ns = ticks_ns(line.start_ticks);
	t->threads = line.threads;
	small_file_line(t->comm, sizeof(t->comm), "/proc/%d/comm", t->pid);
	linked = small_file_link(t->exe, sizeof(t->exe), "/proc/%d/exe", proc_number(t->pid));
	t->link[0] = '\0';
	ids_read(t);
	/* PF_KTHREAD */
	if (line.flags & 0x00200000)
		return -EISDIR;
	/* it has no memory any more: it is about to be a zombie */
	return linked == -ENOENT ? -ECHILD : 0;
}

void target_link(struct target *t, struct opener *opener)
{
	const char *file = path_file(t->exe);
	size_t folder = (size_t)(file - t->exe);
	char path[TARGET_PATH];
	struct stat own, other;
	int fd, link;

	if (!folder || !t->comm[0] || strchr(t->comm, '/') || !strcmp(file, t->comm) ||
	    folder + strlen(t->comm) >= sizeof(path))
		return;
	snprintf(path, sizeof(path), "%.*s%s", (int)folder, t->exe, t->comm);
	link = opener_open(opener, t->pid, path + 1);
	fd = link < 0 ? -1 : opener_open(opener, t->pid, t->exe + 1);
	if (fd >= 0 && !fstat(fd, &own) && !fstat(link, &other) && own.st_dev == other.st_dev &&
	    own.st_ino == other.st_ino)
		memcpy(t->link, t->comm, sizeof(t->link));
	if (fd >= 0)
		close(fd);
	if (link >= 0)
		close(link);
}

/* True if the process is a 32-bit process: its auxiliary vector has 32-bit pairs, so the first
 * 64-bit key is huge. -ETIMEDOUT: not known. */
static int is_32_bit(pid_t pid)
{
	char path[64], *text;
	uint64_t key = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/auxv", proc_number(pid));
	n = reader_text(pid, path, &text);
	if (n >= (ssize_t)sizeof(key))
		memcpy(&key, text, sizeof(key));
	free(text);
	return n == -ETIMEDOUT ? -ETIMEDOUT : key > 0xffff;
}

/* Let the kernel decide whether we may trace the process: a child without capabilities opens
 * its memory. Returns 0 or -EACCES. */
static int64_t try_trace(void *argument, int *unused)
{
	char path[64];
	int status;
	pid_t child;

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%d/mem", proc_number(*(pid_t *)argument));
	child = fork();
	if (child == 0) {
		struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
		struct __user_cap_data_struct none[2] = {{0}};
		int fd;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (syscall(SYS_capset, &head, none))
			_exit(1);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		_exit(fd < 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -EACCES;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EACCES;
}

bool target_rights_matter(void)
{
	return getuid() != 0;
}

int target_may_be_traced(pid_t pid)
{
	if (!target_rights_matter())
		return 0;
	return (int)reader_call(pid, READER_PROC, try_trace, &pid, sizeof(pid), NULL);
}

/* True if this process has CAP_SYS_PTRACE. */
static bool can_trace_all(void)
{
	unsigned long long effective = 0;
	char buf[4096], *line;

	if (small_file_read(buf, sizeof(buf), "/proc/self/status") < 0)
		return false;
	line = strstr(buf, "\nCapEff:");
	return line && sscanf(line, "\nCapEff: %llx", &effective) == 1 &&
	       effective & 1ull << CAP_SYS_PTRACE;
}

/* True if this process is in a user namespace of its own: its ids are not those of the host. */
static bool is_in_user_namespace(void)
{
	unsigned int inside = 0, outside = 0, count = 0;
	char buf[256];

	return small_file_read(buf, sizeof(buf), "/proc/self/uid_map") > 0 &&
	       (sscanf(buf, "%u %u %u", &inside, &outside, &count) != 3 || outside ||
		count != UINT32_MAX);
}

const char *target_forbidden_by(void)
{
	static char text[400];
	char modules[200];

	if (target_rights_matter() && can_trace_all())
		return "not permitted: this user may not trace the process; run peaktop as root";
	if (!can_trace_all())
		return "not permitted: peaktop lacks CAP_SYS_PTRACE; run it as root";
	if (is_in_user_namespace())
		return "not permitted: peaktop runs in a user namespace and has no rights over "
		       "this process; run peaktop on the host";
	if (small_file_read(modules, sizeof(modules), "/sys/kernel/security/lsm") <= 0)
		snprintf(modules, sizeof(modules), "its list cannot be read");
	snprintf(text, sizeof(text),
		 "not permitted, not even to root: a security module of the kernel protects this "
		 "process (%s); ask whoever administers this host, or choose another process",
		 modules);
	return text;
}

int target_open(struct target *t, pid_t pid)
{
	int err;

	*t = (struct target){.pid = pid, .pidfd = -1};
	if (pid <= 0)
		return -ESRCH;
	/* pidfd_open() refuses threads, with EINVAL or, on Linux 6.18, with ENOENT */
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (t->pidfd < 0) {
		err = -errno;
		if (err != -EINVAL && err != -ENOENT)
			return err;
		return thread_process(pid) ? -EINVAL : -ESRCH;
	}
	err = target_refresh(t);
	if (!err)
		err = is_32_bit(pid);
	if (err > 0)
		err = -EXDEV;
	if (!err)
		err = target_may_be_traced(pid);
	if (!err && !t->exe[0])
		err = -EACCES;
	if (err)
		target_release(t);
	return err;
}

int target_check(pid_t pid)
{
	struct target t;
	int err = target_open(&t, pid);

	if (!err)
		target_release(&t);
	return err;
}

bool target_started_at(const struct target *t, uint64_t since_boot_ns)
{
	return t->started_ns ==
	       ticks_ns(process_start_ticks(since_boot_ns, (uint64_t)sysconf(_SC_CLK_TCK),
					    boot_offset_ns()));
}

void target_release(struct target *t)
{
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->pidfd = -1;
}

int target_open_host(struct target *t)
{
	*t = (struct target){.pidfd = -1, .comm = "all processes"};
	return target_rights_matter() ? -EACCES : 0;
}

/* The time for which the CPUs were not idle, ns. */
static uint64_t host_cpu_ns(void)
{
	unsigned long long n[8] = {0}, ticks = 0;
	const uint64_t tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	char buf[512];

	if (small_file_read(buf, sizeof(buf), "/proc/stat") <= 0 ||
	    sscanf(buf, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3],
		   &n[4], &n[5], &n[6], &n[7]) < 7)
		return 0;
	for (int i = 0; i < 7; i++)
		ticks += i == 3 || i == 4 ? 0 : n[i]; /* idle, and idle while a disk worked */
	return ticks * tick_ns;
}

uint64_t target_cpu_ns(struct target *t)
{
	uint64_t ns;

	if (!t->pid)
		return host_cpu_ns();
	if (!t->has_clock)
		t->has_clock = !clock_getcpuclockid(t->pid, &t->clock);
	ns = t->has_clock ? clock_ns(t->clock) : 0;
	if (ns)
		t->cpu_ns = ns;
	return t->cpu_ns;
}

uint64_t target_pages(pid_t pid)
{
	char buf[256];

	return small_file_read(buf, sizeof(buf), "/proc/%d/statm", proc_number(pid)) > 0
		   ? strtoull(buf, NULL, 10)
		   : 0;
}

int target_threads(pid_t pid, thread_fn each, void *ctx)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0)
			each(ctx, tid);
	}
	closedir(d);
	return 0;
}

void target_thread_comm(pid_t pid, pid_t tid, char *out, size_t n)
{
	out[0] = '\0';
	small_file_line(out, n, "/proc/%d/task/%d/comm", pid, tid);
}

int target_read(pid_t pid, uint64_t address, void *out, size_t n)
{
	struct reader_piece piece = {
	    .pid = pid, .bytes = (uint32_t)n, .address = address, .to = out};
	int err = reader_memory(&piece, 1);

	return err ? err : piece.got == n ? 0 : -EFAULT;
}

static void thread_parse(const char *text, struct thread_now *t)
{
	char *p, *end;

	t->known = true;
	t->running = !strncmp(text, "running", 7);
	if (t->running)
		return;
	t->nr = strtol(text, &end, 10);
	t->known = end != text;
	p = end;
	for (int i = 0; t->nr >= 0 && i < 6; i++, p = end)
		t->args[i] = strtoull(p, &end, 16);
	t->sp = strtoull(p, &end, 16);
	p = end;
	t->pc = strtoull(p, &end, 16);
}

enum { THREADS_AT_ONCE = 8192 };

struct threads_order {
	size_t nr;
	struct thread_now one[];
};

static int64_t threads_work(void *argument, int *unused)
{
	struct threads_order *o = argument;

	(void)unused;
	for (size_t i = 0; i < o->nr; i++) {
		struct thread_now *t = &o->one[i];
		char text[256];
		ssize_t n;

		reader_reads(t->pid);
		n = small_file_read(text, sizeof(text), "/proc/%d/task/%d/syscall", t->pid, t->tid);
		t->error = n < 0 ? (int)n : 0;
		if (n >= 0)
			thread_parse(text, t);
	}
	return 0;
}

_Static_assert(sizeof(struct threads_order) + THREADS_AT_ONCE * sizeof(struct thread_now) <=
		   READER_MAX_ARGUMENT,
	       "threads of one request");

static void threads_ask(struct thread_now *threads, size_t n)
{
	size_t size = sizeof(struct threads_order) + n * sizeof(*threads);
	struct threads_order *o = malloc(size);
	int64_t err = -ENOMEM;

	if (o) {
		o->nr = n;
		memcpy(o->one, threads, n * sizeof(*threads));
		err = reader_call(threads[0].pid, READER_PROC, threads_work, o, size, NULL);
	}
	for (size_t i = 0; i < n; i++) {
		if (err)
			threads[i].error = (int)err;
		else
			threads[i] = o->one[i];
	}
	free(o);
}

void target_threads_now(struct thread_now *threads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		threads[i] =
		    (struct thread_now){.pid = threads[i].pid, .tid = threads[i].tid, .nr = -1};
	/* one process per request, so that a hanging process affects no other */
	for (size_t i = 0, some; i < n; i += some) {
		for (some = 1; i + some < n && some < THREADS_AT_ONCE &&
			       threads[i + some].pid == threads[i].pid;
		     some++)
			;
		threads_ask(threads + i, some);
	}
}
