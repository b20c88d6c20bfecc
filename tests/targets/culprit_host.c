// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * culprit_host SECONDS KIND [FOLDER]: what the host and the kernel do to a thread in the middle of
 * its slow calls. KIND is one of the functions of `kinds`; the name of its f0 is KIND_serve.
 * FOLDER: of the cgroup, or where files may lie.
 */
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "culprit.h"

enum { MS_IN_US = 1000, PAGE = 4096 };

static int poke[2];
static const char *folder;

/* One write to a file of the cgroup. */
static void group_write(const char *name, const char *value)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		die(path);
	close(fd);
}

static WATCHED void innocent(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

/* ---- the CPU quota of its cgroup: the test has set 1 ms each 20 */

/*
 * A task is throttled at a tick of the clock, 4 ms apart with 250 Hz. Slow calls take longer, so
 * that they are throttled themselves, and not always what comes after them.
 */
WATCHED void quota_serve(uint64_t i)
{
	innocent(i % 4 ? 20 : 6000);
	KEEP(bystander(i));
}

/* ---- stopped, traced, frozen, by a child, for 4 ms */

static void poked(uint64_t i)
{
	if (i % 4 == 0)
		byte_send(poke[1]);
	innocent(400);
	KEEP(bystander(i));
}

WATCHED void stop_serve(uint64_t i)
{
	poked(i);
}

static void stop_other(void)
{
	for (;;) {
		byte_take(poke[0]);
		kill(getppid(), SIGSTOP);
		sleep_ns(4000000);
		kill(getppid(), SIGCONT);
	}
}

WATCHED void trace_serve(uint64_t i)
{
	poked(i);
}

static void trace_other(void)
{
	pid_t pid = getppid();
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		_exit(0);
	for (;;) {
		byte_take(poke[0]);
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
		    waitpid(pid, &status, __WALL) != pid)
			_exit(0);
		sleep_ns(4000000);
		if (ptrace(PTRACE_CONT, pid, NULL, NULL))
			_exit(0);
	}
}

WATCHED void freeze_serve(uint64_t i)
{
	poked(i);
}

static void freeze_other(void)
{
	char path[512];
	bool second;

	snprintf(path, sizeof(path), "%s/cgroup.freeze", folder);
	second = !access(path, F_OK);
	for (;;) {
		byte_take(poke[0]);
		group_write(second ? "cgroup.freeze" : "freezer.state", second ? "1" : "FROZEN");
		sleep_ns(4000000);
		group_write(second ? "cgroup.freeze" : "freezer.state", second ? "0" : "THAWED");
	}
}

/* ---- a handler of signals */

WATCHED void on_alarm(int signal)
{
	SPIN_US(3000);
	KEEP(bystander((uint64_t)signal));
}

/* The signal is blocked elsewhere: the handler runs within a call, however late the child sends. */
static void alarm_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(how, &set, NULL);
}

WATCHED void handler_serve(uint64_t i)
{
	alarm_mask(SIG_UNBLOCK);
	poked(i);
	alarm_mask(SIG_BLOCK);
}

static void handler_other(void)
{
	for (;;) {
		byte_take(poke[0]);
		sleep_ns(100000);
		kill(getppid(), SIGUSR1);
	}
}

/* ---- several take the CPU; most of it the last that comes */

WATCHED void several_serve(uint64_t i)
{
	if (i % 4 == 0)
		byte_send(poke[1]);
	innocent(100);
}

static void several_other(void)
{
	int next[2][2];

	if (pipe(next[0]) || pipe(next[1]))
		die("pipe");
	for (int k = 0; k < 2; k++) {
		if (child_run(k ? "dwarf-two" : "dwarf-one"))
			continue;
		scheduled(SCHED_FIFO, 5 - k);
		for (;;) {
			byte_take(next[k][0]);
			SPIN_US(400);
		}
	}
	scheduled(SCHED_FIFO, 3);
	for (;;) {
		byte_take(poke[0]);
		byte_send(next[0][1]);
		byte_send(next[1][1]);
		SPIN_US(4000);
	}
}

/* ---- a lock of the kernel, which its holder has for a while without sleeping */

enum { POPULATED = 96 << 20, HELD_NS = 2000000, TRIALS = 8 };

static volatile bool walker_ready, walking;
static size_t walked;

static void change_twice(char *p, size_t bytes)
{
	mprotect(p, bytes, PROT_READ);
	mprotect(p, bytes, PROT_READ | PROT_WRITE);
}

/*
 * To change the protection of many pages takes the lock of the address space for writing, all the
 * while. How long one page takes differs by a factor of fifty between hosts.
 */
static void *spinlock_holder(void *arg)
{
	char *p = mmap(NULL, POPULATED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t bytes = POPULATED;
	uint64_t took;

	name_thread("walker");
	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, POPULATED, MADV_NOHUGEPAGE);
	memset(p, 1, POPULATED);
	took = now_ns();
	change_twice(p, bytes);
	took = now_ns() - took;
	if (took > HELD_NS)
		bytes = (bytes / PAGE * HELD_NS / took + 1) * PAGE;
	walked = bytes;
	walker_ready = true;
	for (;;) {
		byte_take(poke[0]);
		walking = true;
		for (int k = 0; k < 4; k++)
			change_twice(p, bytes);
		walking = false;
	}
	return arg;
}

/* ---- memory: the test has set a limit of 32 MiB for the cgroup */

enum { FILE_BYTES = 1 << 30, CHUNK = 4 << 20 };

static int big;
static char buffer[1 << 16];

static WATCHED void read_through(uint64_t i)
{
	uint64_t from = i / 4 * CHUNK % FILE_BYTES;

	for (uint64_t at = from; at < from + CHUNK; at += sizeof(buffer))
		if (pread(big, buffer, sizeof(buffer), (off_t)at) < 0)
			die("pread");
}

WATCHED void reclaim_serve(uint64_t i)
{
	innocent(50);
	if (i % 4 == 0)
		read_through(i);
	KEEP(bystander(i));
}

static WATCHED void make_huge(void)
{
	const size_t bytes = 8 << 20;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, bytes, MADV_HUGEPAGE);
	for (size_t at = 0; at < bytes; at += PAGE)
		p[at] = 1;
	munmap(p, bytes);
}

WATCHED void huge_serve(uint64_t i)
{
	innocent(50);
	if (i % 4 == 0)
		make_huge();
	KEEP(bystander(i));
}

/* ---- time in the kernel, for a system call */

static WATCHED void start_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

WATCHED void kernel_serve(uint64_t i)
{
	innocent(50);
	if (i % 4 == 0)
		start_child();
	KEEP(bystander(i));
}

static void kernel_begin(void)
{
	const size_t bytes = 128 << 20;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, bytes, MADV_NOHUGEPAGE);
}

/* ---- another CPU asks this one to flush what it knows of the address space */

static void *ipi_other(void *arg)
{
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	name_thread("protector");
	for (;;) {
		byte_take(poke[0]);
		for (int k = 0; k < 600; k++) {
			p[0] = 1;
			mprotect(p, PAGE, PROT_READ);
			mprotect(p, PAGE, PROT_READ | PROT_WRITE);
		}
	}
	return arg;
}

WATCHED void ipi_serve(uint64_t i)
{
	if (i % 4 == 0)
		byte_send(poke[1]);
	innocent(i % 4 ? 50 : 4000);
	KEEP(bystander(i));
}

/* Interrupts so far by which a CPU makes others call a function. */
static uint64_t interrupts_by_cpus(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	char line[4096], *at, *end;
	uint64_t sum = 0;

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, "CAL:");
		if (!at)
			at = strstr(line, "TLB:");
		for (at = at ? at + 4 : line; at != line; at = end != at ? end : line)
			sum += strtoull(at, &end, 10);
	}
	if (f)
		fclose(f);
	return sum;
}

/* A virtual machine may ask its host to flush the page tables of its other CPUs. */
static void ipi_begin(void)
{
	uint64_t before = interrupts_by_cpus();

	ipi_serve(0);
	if (interrupts_by_cpus() - before < 100) {
		errno = EOPNOTSUPP;
		skip("interrupts of other CPUs for a change of protection");
	}
}

/* Waits, at most 1 ms, until the other thread has the lock; it wakes up on another CPU. This calls
 * nothing, because a probe would wait for the lock, too. */
static inline void await_walker(void)
{
	volatile uint64_t k;

	for (k = rounds_of_us(1000); k && !walking; k--)
		;
	for (k = rounds_of_us(50); k; k--)
		;
}

static inline void take_lock_twice(void)
{
	char *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		munmap(p, PAGE);
}

static WATCHED void map_one(void)
{
	await_walker();
	take_lock_twice();
	KEEP(bystander(1));
}

WATCHED void spinlock_serve(uint64_t i)
{
	if (i % 4 == 0) {
		if (!walking)
			byte_send(poke[1]);
		map_one();
	}
	KEEP(bystander(i));
}

/* Where the holder begins too late, nobody waits for the lock. */
static void spinlock_begin(void)
{
	uint64_t from, waited = 0;

	while (!walker_ready)
		sleep_ns(1000000);
	for (int k = 0; k < TRIALS; k++) {
		byte_send(poke[1]);
		await_walker();
		from = now_ns();
		take_lock_twice();
		waited += now_ns() - from;
		while (walking)
			;
	}
	/* where a page takes ten times as long, so do the probes' own changes of the memory */
	if (waited / TRIALS < HELD_NS / 8 || walked < POPULATED / 10) {
		errno = EOPNOTSUPP;
		skip("a lock of the address space that another CPU holds");
	}
}

/* ---- throttled as a writer; FOLDER: on a device that takes few dirty pages */

WATCHED void write_much(void)
{
	static char block[1 << 20];
	static uint64_t at;

	for (int k = 0; k < 8; k++, at = (at + sizeof(block)) % (64 << 20))
		if (pwrite(big, block, sizeof(block), (off_t)at) < 0)
			die("pwrite");
}

WATCHED void dirty_serve(uint64_t i)
{
	innocent(50);
	if (i % 4 == 0)
		write_much();
	KEEP(bystander(i));
}

static void file_begin(bool sparse)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/culprit.big", folder);
	big = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (big < 0 || (sparse && ftruncate(big, FILE_BYTES)))
		skip(path);
	unlink(path);
}

static const struct kind {
	const char *name;
	void (*serve)(uint64_t);
	void (*other)(void); /* of a child, "culprit" */
	void *(*thread)(void *);
	bool pinned;
	uint64_t rest_us;
} kinds[] = {
    {"quota", quota_serve, NULL, NULL, false, 1},
    {"stop", stop_serve, stop_other, NULL, false, 300},
    {"trace", trace_serve, trace_other, NULL, false, 300},
    {"freeze", freeze_serve, freeze_other, NULL, false, 300},
    {"handler", handler_serve, handler_other, NULL, false, 300},
    {"several", several_serve, several_other, NULL, true, 1000},
    {"spinlock", spinlock_serve, NULL, spinlock_holder, false, 300},
    {"reclaim", reclaim_serve, NULL, NULL, false, 300},
    {"huge", huge_serve, NULL, NULL, false, 300},
    {"kernel", kernel_serve, NULL, NULL, false, 300},
    {"ipi", ipi_serve, NULL, ipi_other, true, 300},
    {"dirty", dirty_serve, NULL, NULL, false, 300},
};

int main(int argc, char **argv)
{
	const char *name = argc > 2 && !strcmp(argv[1], "-w") ? argv[3] : argc > 2 ? argv[2] : "";
	const struct kind *k = NULL;
	cpu_set_t all;

	folder = argv[argc - 1];
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			k = &kinds[i];
	if (!k || pipe(poke))
		die("kind");
	signal(SIGUSR1, on_alarm);
	sched_getaffinity(0, sizeof(all), &all);
	culprit_calibrate();
	if (!strcmp(name, "reclaim") || !strcmp(name, "dirty"))
		file_begin(name[0] == 'r');
	if (!strcmp(name, "kernel"))
		kernel_begin();
	if (k->pinned)
		pin_to(sched_getcpu());
	if (k->other && !child_run("culprit"))
		k->other();
	if (k->thread) {
		pthread_t t = thread_run(k->thread);

		CPU_CLR(sched_getcpu(), &all);
		if (k->pinned && (sysconf(_SC_NPROCESSORS_ONLN) < 2 ||
				  pthread_setaffinity_np(t, sizeof(all), &all)))
			skip("no second CPU");
	}
	if (!strcmp(name, "ipi"))
		ipi_begin();
	if (!strcmp(name, "spinlock"))
		spinlock_begin();
	return culprit_run(argc, argv, k->serve, k->rest_us);
}
