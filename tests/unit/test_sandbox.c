// SPDX-License-Identifier: GPL-2.0-or-later
/* What a sandboxed process can no longer do, tried in children. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/process/sandbox.h"

enum { NOBODY = 65534 };

static char private_file[] = "/tmp/peaktop-sandbox-XXXXXX";

/* Exit status of a child that runs `body` (0 = as expected), or 1000 + the signal that ended it. */
static int in_child(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

enum { KILLED = 1000 + SIGSYS };

static int enter_parser(void)
{
	return sandbox_enter(SANDBOX_PARSER) ? 100 : 0;
}

static int enter_front(void)
{
	return sandbox_enter(SANDBOX_FRONT) ? 100 : 0;
}

/* In a child: 0 if the call failed with this errno. */
#define FAILS_WITH(call, error) ((call) == -1 && errno == (error) ? 0 : 1)

static int parser_opens(void)
{
	return enter_parser() || FAILS_WITH(open("/etc/passwd", O_RDONLY), EPERM);
}

static int parser_creates(void)
{
	return enter_parser() || FAILS_WITH(open("/tmp/x", O_CREAT | O_WRONLY, 0600), EPERM);
}

static int parser_execs(void)
{
	return enter_parser() || execl("/bin/true", "true", NULL);
}

static int parser_forks(void)
{
	return enter_parser() || fork() < 0;
}

static int parser_connects(void)
{
	return enter_parser() || socket(AF_UNIX, SOCK_STREAM, 0) < 0;
}

static int parser_kills(void)
{
	return enter_parser() || kill(getppid(), 0);
}

static int parser_maps_code(void)
{
	void *p;

	if (enter_parser())
		return 100;
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		return 1;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED || FAILS_WITH(mprotect(p, 4096, PROT_EXEC), EPERM);
}

static int parser_traces(void)
{
	return enter_parser() || ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int parser_aborts(void)
{
	if (enter_parser())
		return 100;
	abort();
}

static int parser_works(void)
{
	int fd = open("/proc/self/exe", O_RDONLY), copy;
	char bytes[4];
	struct stat st;
	void *memory;

	if (enter_parser())
		return 100;
	memory = malloc(64 << 20);
	if (!memory)
		return 1;
	memset(memory, 1, 64 << 20);
	memory = realloc(memory, 128 << 20);
	if (!memory)
		return 2;
	free(memory);
	if (pread(fd, bytes, 4, 0) != 4 || memcmp(bytes, "\177ELF", 4) || fstat(fd, &st))
		return 3;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return copy < 0 || close(copy) || close(fd) ? 4 : 0;
}

static int parser_memory(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 0;
#else
	if (enter_parser())
		return 100;
	return malloc(3UL << 30) ? 1 : 0;
#endif
}

static int parser_descriptors_limit(void)
{
	struct rlimit files = {0}, core = {1, 1};

	getrlimit(RLIMIT_NOFILE, &files);
	if (enter_parser())
		return 100;
	/* prlimit is not allowed any more, so the limit is not to be seen but at work. */
	return FAILS_WITH(getrlimit(RLIMIT_CORE, &core), EPERM);
}

static int front_saves(void)
{
	char path[] = "/tmp/peaktop-front-XXXXXX", other[64];
	int fd;

	if (enter_front())
		return 100;
	fd = mkstemp(path);
	if (fd < 0 || write(fd, "x", 1) != 1 || fdatasync(fd) || ftruncate(fd, 0))
		return 1;
	snprintf(other, sizeof(other), "%s.new", path);
	return rename(path, other) || unlink(other) || close(fd) ? 2 : 0;
}

static int front_forks(void)
{
	int status;
	pid_t pid;

	if (enter_front())
		return 100;
	pid = fork();
	if (!pid)
		_exit(7);
	return pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7;
}

/* The parser worker is started by the front. */
static int front_then_parser(void)
{
	int status;
	pid_t pid;

	if (enter_front())
		return 100;
	pid = fork();
	if (!pid)
		_exit(parser_opens());
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int front_execs(void)
{
	return enter_front() || FAILS_WITH(execl("/bin/true", "true", NULL), EPERM);
}

static int front_connects(void)
{
	return enter_front() || FAILS_WITH(socket(AF_INET, SOCK_STREAM, 0), EPERM) ||
	       FAILS_WITH(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
}

static int front_has_socketpairs(void)
{
	int pair[2];

	return enter_front() || socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static int front_types_for_the_user(void)
{
	return enter_front() || FAILS_WITH(ioctl(0, TIOCSTI, "x"), EPERM);
}

static int front_new_namespace(void)
{
	long pid;

	if (enter_front())
		return 100;
	pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid)
		_exit(0);
	return FAILS_WITH(pid, EPERM);
}

static int front_maps_writable_code(void)
{
	void *p;

	if (enter_front())
		return 100;
	p = mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p != MAP_FAILED;
}

static int front_traces(void)
{
	return enter_front() || ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int front_uses_bpf(void)
{
	return enter_front() || syscall(SYS_bpf, 0, NULL, 0);
}

static int front_perf(void)
{
	return enter_front() || syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0);
}

static int front_mounts(void)
{
	return enter_front() || syscall(SYS_mount, "a", "/", "tmpfs", 0, NULL);
}

static int front_becomes_root(void)
{
	return enter_front() || FAILS_WITH(setuid(0), EPERM);
}

static void test_parser_refusals(void **state)
{
	assert_int_equal(in_child(parser_opens), 0);
	assert_int_equal(in_child(parser_creates), 0);
	assert_int_equal(in_child(parser_execs), KILLED);
	assert_int_equal(in_child(parser_forks), KILLED);
	assert_int_equal(in_child(parser_connects), KILLED);
	assert_int_equal(in_child(parser_kills), KILLED);
	assert_int_equal(in_child(parser_traces), KILLED);
	assert_int_equal(in_child(parser_maps_code), 0);
	assert_int_equal(in_child(parser_memory), 0);
	assert_int_equal(in_child(parser_descriptors_limit), 0);
}

static void test_parser_does_its_work(void **state)
{
	assert_int_equal(in_child(parser_works), 0);
	assert_int_equal(in_child(parser_aborts), 1000 + SIGABRT);
}

static void test_front_refusals(void **state)
{
	assert_int_equal(in_child(front_execs), 0);
	assert_int_equal(in_child(front_connects), 0);
	assert_int_equal(in_child(front_types_for_the_user), 0);
	assert_int_equal(in_child(front_new_namespace), 0);
	assert_int_equal(in_child(front_maps_writable_code), 0);
	assert_int_equal(in_child(front_becomes_root), 0);
	assert_int_equal(in_child(front_traces), KILLED);
	assert_int_equal(in_child(front_uses_bpf), KILLED);
	assert_int_equal(in_child(front_perf), KILLED);
	assert_int_equal(in_child(front_mounts), KILLED);
}

static void test_front_does_its_work(void **state)
{
	assert_int_equal(in_child(front_saves), 0);
	assert_int_equal(in_child(front_forks), 0);
	assert_int_equal(in_child(front_then_parser), 0);
	assert_int_equal(in_child(front_has_socketpairs), 0);
}

/* A field of /proc/PID/status as a number of the given base. */
static unsigned long long status_field(pid_t pid, const char *name, int base)
{
	char path[64], line[256];
	unsigned long long value = ~0ULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = strtoull(line + strlen(name) + 1, NULL, base);
	fclose(f);
	return value;
}

static void assert_status(enum sandbox_kind kind)
{
	int ready[2], go[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		byte = (char)(sandbox_enter(kind) ? 'x' : 'y');
		if (write(ready[1], &byte, 1) == 1)
			byte = (char)read(go[0], &byte, 1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	assert_int_equal(status_field(pid, "NoNewPrivs", 10), 1);
	assert_int_equal(status_field(pid, "Seccomp", 10), 2);
	assert_int_equal(status_field(pid, "CapEff", 16), 0);
	assert_int_equal(status_field(pid, "CapPrm", 16), 0);
	assert_int_equal(status_field(pid, "CapInh", 16), 0);
	assert_int_equal(status_field(pid, "CapAmb", 16), 0);
	if (!getuid())
		assert_int_equal(status_field(pid, "CapBnd", 16), 0);
	assert_int_equal(write(go[1], "g", 1), 1);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	close(go[1]);
}

static void test_status_files(void **state)
{
	assert_status(SANDBOX_PARSER);
	assert_status(SANDBOX_FRONT);
}

static void test_invoker(void **state)
{
	uid_t uid = 7;
	gid_t gid = 7;

	assert_true(privileges_invoker("1000", "1001", &uid, &gid));
	assert_int_equal(uid, 1000);
	assert_int_equal(gid, 1001);
	assert_false(privileges_invoker(NULL, "1", &uid, &gid));
	assert_false(privileges_invoker("1", NULL, &uid, &gid));
	assert_false(privileges_invoker("0", "0", &uid, &gid));
	assert_false(privileges_invoker("", "1", &uid, &gid));
	assert_false(privileges_invoker("-1", "1", &uid, &gid));
	assert_false(privileges_invoker(" 1", "1", &uid, &gid));
	assert_false(privileges_invoker("12x", "1", &uid, &gid));
	assert_false(privileges_invoker("4294967295", "1", &uid, &gid));
	assert_false(privileges_invoker("99999999999999999999", "1", &uid, &gid));
}

static int no_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	return syscall(SYS_capget, &header, data) || data[0].permitted || data[1].permitted ||
	       data[0].effective || data[0].inheritable;
}

static int drop_to_nobody(void)
{
	gid_t groups[10];

	if (privileges_drop(NOBODY, NOBODY))
		return 100;
	if (getuid() != NOBODY || geteuid() != NOBODY || getgid() != NOBODY || no_capabilities())
		return 1;
	if (getgroups(10, groups) != 1 || groups[0] != NOBODY)
		return 2;
	if (!setuid(0) || !setgid(0) || !setgroups(0, NULL))
		return 3;
	return FAILS_WITH(open(private_file, O_RDONLY), EACCES);
}

static int drop_and_keep_root(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s.nobody", private_file);
	fd = open(path, O_CREAT | O_WRONLY | O_EXCL, 0600);
	if (fd < 0 || fchown(fd, NOBODY, NOBODY))
		return 99;
	if (privileges_drop(0, 0))
		return 100;
	if (getuid() || no_capabilities())
		return 1;
	/* Root in name only: the files of others are closed to it. */
	if (FAILS_WITH(open(path, O_RDONLY), EACCES))
		return 2;
	if (FAILS_WITH(setuid(NOBODY), EPERM) || FAILS_WITH(setgroups(0, NULL), EPERM))
		return 3;
	execl("/bin/sh", "sh", "-c", "grep -q '^CapEff:.*0000000000000000' /proc/self/status",
	      NULL);
	return 4;
}

static void test_privileges(void **state)
{
	char path[64];

	if (getuid())
		skip();
	assert_int_equal(in_child(drop_to_nobody), 0);
	assert_int_equal(in_child(drop_and_keep_root), 0);
	snprintf(path, sizeof(path), "%s.nobody", private_file);
	unlink(path);
}

static int front_as_root_writes_system(void)
{
	int fd;

	if (enter_front())
		return 100;
	if (!sandbox_has_landlock())
		return 0;
	fd = open("/etc/peaktop-test", O_CREAT | O_WRONLY, 0600);
	if (fd >= 0)
		unlink("/etc/peaktop-test");
	return fd >= 0;
}

static void test_system_folders(void **state)
{
	assert_int_equal(in_child(front_as_root_writes_system), 0);
}

static int setup(void **state)
{
	int fd = mkstemp(private_file);

	return fd < 0 || fchmod(fd, 0600) || close(fd);
}

static int teardown(void **state)
{
	return unlink(private_file);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parser_refusals), cmocka_unit_test(test_parser_does_its_work),
	    cmocka_unit_test(test_front_refusals),  cmocka_unit_test(test_front_does_its_work),
	    cmocka_unit_test(test_status_files),    cmocka_unit_test(test_invoker),
	    cmocka_unit_test(test_privileges),	    cmocka_unit_test(test_system_folders),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
