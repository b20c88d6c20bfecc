// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kernel_paths MODE PLACE [PROCESSES]: makes system calls below functions of its own, until it is
 * killed, in each of so many processes: the cases of the papers (DARC, OSprof, CrossWalk). PLACE is
 * a directory on the file system that is asked about.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "target.h"

enum {
	BLOCK = 4096,
	BLOCKS = 2048,
	MANY = 1000, /* calls of a short system call in one call of a function */
	QUEUE = 4096,
	DIRECTORIES = 40,
	FILES = 250, /* in each: some blocks */
	PASSES = 20, /* over all directories, of which the first one reads the disk */
};

static int file, helper;
static char *block;
static uint64_t round_nr;

static off_t anywhere(void)
{
	round_nr = round_nr * 6364136223846793005u + 1442695040888963407u;
	return (off_t)((round_nr >> 33) % BLOCKS * BLOCK);
}

/* Random direct I/O. */
WATCHED void fetch_block(void)
{
	if (pread(file, block, BLOCK, anywhere()) != BLOCK)
		die("pread");
	KEEP(block);
}

/* Two system calls of one number at two instructions of one function. */
WATCHED void fetch_both(void)
{
	const long number = SYS_pread64;
	register long at __asm__("r10") = anywhere();
	long first, second;

	__asm__ volatile("syscall"
			 : "=a"(first)
			 : "a"(number), "D"(file), "S"(block), "d"(BLOCK), "r"(at)
			 : "rcx", "r11", "memory");
	at = anywhere();
	__asm__ volatile("syscall"
			 : "=a"(second)
			 : "a"(number), "D"(file), "S"(block), "d"(BLOCK), "r"(at)
			 : "rcx", "r11", "memory");
	if (first != BLOCK || second != BLOCK)
		die("pread");
	KEEP(block);
}

/* A record that has to be on the disk. */
WATCHED void store_record(void)
{
	if (pwrite(file, block, BLOCK, 0) != BLOCK)
		die("pwrite");
	if (fsync(file))
		die("fsync");
	KEEP(block);
}

/* Zero-byte reads. */
WATCHED void read_nothing(void)
{
	for (int i = 0; i < MANY; i++) {
		if (read(file, block, 0))
			die("read");
	}
	KEEP(block);
}

/* Past the page cache, at a random place. */
WATCHED void seek_and_read(void)
{
	if (lseek(file, anywhere(), SEEK_SET) < 0)
		die("lseek");
	if (read(file, block, BLOCK) != BLOCK)
		die("read");
	KEEP(block);
}

/* One cached block, and its time of access. */
WATCHED void read_record(void)
{
	if (pread(file, block, BLOCK, anywhere()) != BLOCK)
		die("pread");
	KEEP(block);
}

static void read_at_times(void)
{
	read_record();
	sleep_ns(2000000);
}

WATCHED void spawn_child(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		die("fork");
	KEEP(child);
}

/* One file, five directories down. */
WATCHED void look_up(void)
{
	struct stat st;

	for (int i = 0; i < MANY; i++) {
		if (stat("1/2/3/4/5", &st))
			die("stat");
	}
	KEEP(&st);
}

/* The next entries of a tree of directories; returns false past the end of one. */
WATCHED bool read_entries(void)
{
	char entries[BLOCK / 2];
	long n = syscall(SYS_getdents64, file, entries, sizeof(entries));

	if (n < 0)
		die("getdents64");
	KEEP(entries);
	return n > 0;
}

/* Lists one directory after the other. */
static void list_tree(void)
{
	static const char drop[] = "1"; /* the page cache */
	char name[32];
	int caches;

	if (round_nr++ % (PASSES * DIRECTORIES) == 0) {
		caches = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
		if (caches < 0 || write(caches, drop, 1) != 1)
			die("drop_caches");
		close(caches);
	}
	snprintf(name, sizeof(name), "tree/%d", (int)(round_nr % DIRECTORIES));
	file = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (file < 0)
		die(name);
	while (read_entries())
		;
	close(file);
}

/* A proxy that creates a file for each object. */
WATCHED void store_object(void)
{
	char name[32];
	int object;

	snprintf(name, sizeof(name), "object.%d.%d", (int)getpid(), (int)(round_nr++ % 1024));
	unlink(name);
	object = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (object < 0)
		die(name);
	close(object);
	KEEP(name);
}

/* ... and lets a helper remove it, which is slower and has a full queue. */
WATCHED void hand_over(void)
{
	if (write(helper, block, QUEUE) != QUEUE)
		die("write");
	KEEP(block);
}

static void serve_queue(int queue)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(queue, block, QUEUE) > 0)
		sleep_ns(2000000);
	_exit(0);
}

static void open_file(int flags)
{
	file = open("file", O_CREAT | O_RDWR | O_CLOEXEC | flags, 0600);
	if (file < 0)
		die("file");
}

static void begin_file(void)
{
	open_file(0);
	for (int i = 0; i < BLOCKS; i++) {
		if (pwrite(file, block, BLOCK, (off_t)i * BLOCK) != BLOCK)
			die("pwrite");
	}
	if (fsync(file))
		die("fsync");
}

/* With a place in the file of its own: processes that share one wait for each other. */
static void open_again(void)
{
	close(file);
	open_file(0);
}

/* Past the page cache. */
static void open_direct(void)
{
	close(file);
	open_file(O_DIRECT);
}

static void begin_direct(void)
{
	begin_file();
	open_direct();
}

static void begin_tree(void)
{
	if (mkdir("1", 0700) || mkdir("1/2", 0700) || mkdir("1/2/3", 0700) ||
	    mkdir("1/2/3/4", 0700) || mknod("1/2/3/4/5", S_IFREG | 0600, 0))
		die("1/2/3/4/5");
}

static void begin_list(void)
{
	char name[64];

	if (mkdir("tree", 0700))
		die("tree");
	for (int i = 0; i < DIRECTORIES * FILES; i++) {
		snprintf(name, sizeof(name), "tree/%d", i / FILES);
		if (i % FILES == 0 && mkdir(name, 0700))
			die(name);
		snprintf(name, sizeof(name), "tree/%d/a.file.with.a.long.name.%d", i / FILES, i);
		if (mknod(name, S_IFREG | 0600, 0))
			die(name);
	}
	sync(); /* what has not been written stays in the cache */
}

static void begin_helper(void)
{
	int queue[2];
	pid_t child;

	if (pipe2(queue, O_CLOEXEC))
		die("pipe");
	child = fork();
	if (!child)
		serve_queue(queue[0]);
	if (child < 0)
		die("fork");
	helper = queue[1];
}

static void nothing(void)
{
}

static const struct mode {
	const char *name;
	void (*begin)(void);
	void (*begin_each)(void); /* in each of the processes */
	void (*round)(void);
} modes[] = {
    {"direct", begin_file, open_direct, fetch_block},
    {"sync", begin_file, nothing, store_record},
    {"zero", begin_file, open_again, read_nothing},
    {"seek", begin_file, open_direct, seek_and_read},
    {"share", begin_direct, nothing, seek_and_read},
    {"clone", nothing, nothing, spawn_child},
    {"stat", begin_tree, nothing, look_up},
    {"list", begin_list, nothing, list_tree},
    {"create", nothing, nothing, store_object},
    {"queue", begin_helper, nothing, hand_over},
    {"twice", begin_direct, nothing, fetch_both},
    {"reads", begin_file, nothing, read_at_times},
};

int main(int argc, char **argv)
{
	const struct mode *m = NULL;

	for (size_t i = 0; argc > 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
		m = strcmp(modes[i].name, argv[1]) ? m : &modes[i];
	if (!m || chdir(argv[2]) || posix_memalign((void **)&block, BLOCK, BLOCK))
		die("kernel_paths MODE PLACE [PROCESSES]");
	memset(block, 'x', BLOCK);
	m->begin();
	for (uint64_t i = 1; i < target_arg(argc, argv, 3, 1); i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		round_nr = i;
		break;
	}
	m->begin_each();
	printf("ready\n");
	fflush(stdout);
	for (;;)
		m->round();
}
