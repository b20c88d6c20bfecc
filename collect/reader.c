// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/reader.h"

#include "analysis/base/array.h"
#include "collect/fd_message.h"
#include "collect/process/chances.h"
#include "collect/process/clock.h"
#include "collect/process/live_thread.h"
#include "collect/reader_pages.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000ull

enum {
	SOCKET = 3,
	STEP_MS = 20, /* interval of checks while the reader does not answer */
	MAX_HUNG = 64,
	MAX_ENDED = 64,
	MAX_TRIES = 4, /* tries per request if processes hang */
	BACKOFF_MS = 2000,
	BACKOFF_MAX_MS = 60000,
};

/* Memory that the collector and one reader share. */
struct reader_shared {
	volatile uint32_t steps; /* incremented when the reader makes progress */
	volatile pid_t about;	 /* the process that is being read */
	_Alignas(16) char argument[READER_MAX_ARGUMENT];
	char text[READER_MAX_TEXT];
};

struct reader_order {
	reader_work work; /* an address in the reader, too, because it is a fork */
};

struct reader_answer {
	int64_t result;
};

struct hung {
	pid_t pid; /* 0: free */
	enum reader_kind kind;
	bool reported;
	uint64_t until, wait;
};

static struct {
	pid_t pid; /* 0: no reader runs */
	int socket;
	struct reader_shared *shared;
	uint64_t used_ns;
	uint64_t cpu_ns;	/* CPU time of ended readers */
	pid_t ended[MAX_ENDED]; /* killed, but waitpid() not done yet */
	unsigned int nr_ended;
	struct hung hung[MAX_HUNG];
} reader;

/* ---- in the reader ---------------------------------------------------- */

int reader_close_all_but(int keep)
{
	int null;

	if (keep != SOCKET && dup2(keep, SOCKET) < 0)
		return -errno;
	if (close_range(SOCKET + 1, ~0U, 0))
		return -errno;
	/* the seccomp filter allows read-only opening only */
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0)
		return -errno;
	for (int fd = 0; fd < SOCKET; fd++)
		dup2(null, fd);
	close(null);
	return 0;
}

static void answer_send(int64_t result, int fd)
{
	struct reader_answer a = {.result = result};

	if (fd_message_send(SOCKET, &a, sizeof(a), fd, 0))
		_exit(1);
}

static void serve(int socket, pid_t parent)
{
	struct reader_order o;

	prctl(PR_SET_NAME, "peaktop-reader");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || reader_close_all_but(socket))
		_exit(1);
	while (recv(SOCKET, &o, sizeof(o), 0) == (ssize_t)sizeof(o)) {
		int fd = -1;
		int64_t result = o.work(reader.shared->argument, &fd);

		reader.shared->steps++;
		answer_send(result, fd);
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}

void reader_reads(pid_t pid)
{
	reader.shared->about = pid;
	reader.shared->steps++;
}

/* ---- starting and ending ---------------------------------------------- */

static int start(void)
{
	pid_t parent = getpid();
	int pair[2];

	if (reader.pid)
		return 0;
	reader.shared = mmap(NULL, sizeof(*reader.shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reader.shared == MAP_FAILED)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		int err = -errno;

		munmap(reader.shared, sizeof(*reader.shared));
		return err;
	}
	reader.pid = fork();
	if (reader.pid == 0)
		serve(pair[1], parent);
	close(pair[1]);
	reader.socket = pair[0];
	if (reader.pid < 0) {
		reader.pid = 0;
		close(pair[0]);
		munmap(reader.shared, sizeof(*reader.shared));
		return -EAGAIN;
	}
	return 0;
}

static void collect_ended(void)
{
	for (unsigned int i = reader.nr_ended; i > 0; i--) {
		if (waitpid(reader.ended[i - 1], NULL, WNOHANG))
			reader.ended[i - 1] = reader.ended[--reader.nr_ended];
	}
}

static uint64_t cpu_now(void)
{
	return reader.pid ? process_cpu_ns(reader.pid) : 0;
}

uint64_t reader_cpu_ns(void)
{
	return reader.cpu_ns + cpu_now();
}

void reader_end(void)
{
	if (!reader.pid)
		return;
	reader.cpu_ns += cpu_now();
	/* do not wait for its end: it may hang in the kernel */
	kill(reader.pid, SIGKILL);
	if (reader.nr_ended < MAX_ENDED)
		reader.ended[reader.nr_ended++] = reader.pid;
	close(reader.socket);
	munmap(reader.shared, sizeof(*reader.shared));
	reader.pid = 0;
	collect_ended();
}

void reader_prepare(void)
{
	start();
	reader.used_ns = now_ns();
}

void reader_idle(uint64_t now, unsigned int keep_ms)
{
	if (reader.pid && now > reader.used_ns + keep_ms * MS)
		reader_end();
	else if (reader.nr_ended)
		collect_ended();
}

/* ---- reads that hang */

static struct hung *hung_find(pid_t pid, enum reader_kind kind)
{
	return find_first(i, reader.hung, MAX_HUNG,
			  reader.hung[i].pid == pid && reader.hung[i].kind == kind);
}

bool reader_hangs(pid_t pid, enum reader_kind kind)
{
	const struct hung *h = hung_find(pid, kind);

	return h && now_ns() < h->until;
}

/* A free entry; if there is none, the entry that would expire first. */
static struct hung *hung_new(void)
{
	struct hung *best = &reader.hung[0];

	for (unsigned int i = 0; i < MAX_HUNG; i++) {
		if (!reader.hung[i].pid)
			return &reader.hung[i];
		if (reader.hung[i].until < best->until)
			best = &reader.hung[i];
	}
	return best;
}

static void hung_note(pid_t pid, enum reader_kind kind)
{
	struct hung *h = hung_find(pid, kind);

	if (!h) {
		h = hung_new();
		*h = (struct hung){.pid = pid, .kind = kind, .wait = BACKOFF_MS * MS / 2};
	}
	h->wait *= 2;
	if (h->wait > BACKOFF_MAX_MS * MS)
		h->wait = BACKOFF_MAX_MS * MS;
	h->until = now_ns() + h->wait;
}

static void hung_forget(pid_t pid, enum reader_kind kind)
{
	struct hung *h = hung_find(pid, kind);

	if (h)
		*h = (struct hung){0};
}

pid_t reader_next_hung(enum reader_kind *kind)
{
	for (unsigned int i = 0; i < MAX_HUNG; i++) {
		if (!reader.hung[i].pid || reader.hung[i].reported)
			continue;
		reader.hung[i].reported = true;
		*kind = reader.hung[i].kind;
		return reader.hung[i].pid;
	}
	return 0;
}

/* ---- requests --------------------------------------------------------- */

/* True if the reader sleeps. If not, it works or waits for a CPU. */
static bool sleeps(pid_t pid)
{
	return thread_state(pid, pid) != 'R';
}

/* Wait for the answer. 0, -ETIMEDOUT (the reader hangs), -EAGAIN (too little CPU time), -errno. */
static int wait_answer(enum reader_kind kind)
{
	unsigned int longest = kind == READER_MEMORY ? READER_WAIT_MS : READER_FILES_WAIT_MS;
	struct pollfd p = {.fd = reader.socket, .events = POLLIN};
	uint32_t steps = reader.shared->steps;
	unsigned int waited = 0;
	struct chances asleep;

	chances_begin(&asleep);
	for (;;) {
		int n = poll(&p, 1, STEP_MS);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (reader.shared->steps != steps) {
			steps = reader.shared->steps;
			chances_begin(&asleep);
			waited = 0;
		}
		waited += STEP_MS;
		if (sleeps(reader.pid))
			chances_turn_behind(&asleep, reader.shared->about, STEP_MS * MS);
		else
			chances_begin(&asleep);
		if (asleep.counted_ns >= longest * MS)
			return -ETIMEDOUT;
		if (waited >= READER_MAX_WAIT_MS)
			return asleep.silent_ns >= longest * MS ? -ETIMEDOUT : -EAGAIN;
	}
}

static int take_answer(struct reader_answer *a, int *fd)
{
	return fd_message_receive(reader.socket, a, sizeof(*a), fd, MSG_DONTWAIT);
}

int64_t reader_call(pid_t about, enum reader_kind kind, reader_work work, void *argument,
		    size_t size, int *fd)
{
	struct reader_order o = {.work = work};
	struct reader_answer a;
	int got = -1, err;

	if (fd)
		*fd = -1;
	if (size > READER_MAX_ARGUMENT)
		return -E2BIG;
	if (reader_hangs(about, kind))
		return -ETIMEDOUT;
	err = start();
	if (err)
		return err;
	memcpy(reader.shared->argument, argument, size);
	reader.shared->about = about;
	err = send(reader.socket, &o, sizeof(o), MSG_NOSIGNAL) == (ssize_t)sizeof(o)
		  ? wait_answer(kind)
		  : -EPIPE;
	if (!err)
		err = take_answer(&a, &got);
	if (err) {
		if (err == -ETIMEDOUT)
			hung_note(reader.shared->about, kind);
		reader_end();
		/*
		 * It may also have been killed or got too little CPU time; either way there is
		 * no answer.
		 */
		return -ETIMEDOUT;
	}
	hung_forget(about, kind);
	memcpy(argument, reader.shared->argument, size);
	reader.used_ns = now_ns();
	if (fd)
		*fd = got;
	else if (got >= 0)
		close(got);
	return a.result;
}

/* ---- text ------------------------------------------------------------- */

enum { MAX_PATH = 128 };

static int64_t text_work(void *argument, int *unused)
{
	int fd = open(argument, O_RDONLY | O_CLOEXEC);
	char *text = reader.shared->text;
	size_t got = 0;
	ssize_t r = 0;

	(void)unused;
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (got < READER_MAX_TEXT - 1 &&
	       (r = read(fd, text + got, READER_MAX_TEXT - 1 - got)) > 0) {
		got += (size_t)r;
		reader.shared->steps++;
	}
	r = r < 0 ? -errno : (ssize_t)got;
	close(fd);
	return r;
}

ssize_t reader_text(pid_t about, const char *path, char **text)
{
	char name[MAX_PATH];
	int64_t n;

	*text = NULL;
	snprintf(name, sizeof(name), "%s", path);
	n = reader_call(about, READER_PROC, text_work, name, sizeof(name), NULL);
	if (n < 0)
		return (ssize_t)n;
	*text = malloc((size_t)n + 1);
	if (!*text)
		return -ENOMEM;
	memcpy(*text, reader.shared->text, (size_t)n);
	(*text)[n] = '\0';
	return (ssize_t)n;
}

/* ---- memory ----------------------------------------------------------- */

struct memory_order {
	uint32_t nr;
	struct reader_piece one[READER_MAX_PIECES]; /* `to` is not used */
};

static int64_t memory_work(void *argument, int *unused)
{
	struct memory_order *o = argument;
	char *to = reader.shared->text, path[64];
	pid_t open_pid = 0, thread = 0;
	int pagemap = -1;

	(void)unused;
	for (uint32_t i = 0; i < o->nr; i++) {
		struct reader_piece *w = &o->one[i];

		reader_reads(w->pid);
		if (w->pid != open_pid) {
			if (pagemap >= 0)
				close(pagemap);
			thread = proc_number(w->pid);
			snprintf(path, sizeof(path), "/proc/%d/pagemap", thread);
			pagemap = open(path, O_RDONLY | O_CLOEXEC);
			open_pid = w->pid;
		}
		w->got = pages_read(thread, pagemap, w, to);
		to += w->bytes;
	}
	if (pagemap >= 0)
		close(pagemap);
	return 0;
}

/* Read as many pieces as fit into one request. Returns the number of pieces handled, or a
 * negative errno. */
static int64_t memory_some(struct reader_piece *pieces, size_t n, struct memory_order *o)
{
	size_t used = 0, taken = 0;
	const char *from;
	int64_t err;

	o->nr = 0;
	for (; taken < n && o->nr < READER_MAX_PIECES; taken++) {
		const struct reader_piece *p = &pieces[taken];

		if (used + p->bytes > READER_MAX_TEXT)
			break;
		/* skip processes that hang, so that the others are read */
		if (!p->bytes || p->bytes > PAGES_MAX_BYTES || reader_hangs(p->pid, READER_MEMORY))
			continue;
		o->one[o->nr++] = *p;
		used += p->bytes;
	}
	if (!o->nr)
		return (int64_t)taken;
	err = reader_call(o->one[0].pid, READER_MEMORY, memory_work, o, sizeof(*o), NULL);
	if (err)
		return err;
	from = reader.shared->text;
	for (size_t i = 0, j = 0; i < taken && j < o->nr; i++) {
		if (pieces[i].pid != o->one[j].pid || pieces[i].address != o->one[j].address ||
		    pieces[i].bytes != o->one[j].bytes)
			continue;
		pieces[i].got = o->one[j].got;
		memcpy(pieces[i].to, from, pieces[i].got);
		from += pieces[i].bytes;
		j++;
	}
	return (int64_t)taken;
}

int reader_memory(struct reader_piece *pieces, size_t n)
{
	static struct memory_order order;
	unsigned int tries = MAX_TRIES;
	int64_t taken;

	for (size_t i = 0; i < n; i++)
		pieces[i].got = 0;
	while (n) {
		taken = memory_some(pieces, n, &order);
		/* try again: the process that hung is skipped now */
		if (taken == -ETIMEDOUT && --tries)
			continue;
		if (taken < 0)
			return (int)taken;
		pieces += taken;
		n -= (size_t)taken;
	}
	return 0;
}
