// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/sleeps.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "analysis/base/syscall_names.h"
#include "collect/kernel_pipes.h"
#include "collect/process/live_thread.h"
#include "collect/process/small_file.h"
#include "collect/reader.h"
#include "collect/state.h"

enum {
	MAPS_EVERY_NS = 10000000,
	MAPS_AGE_NS = 1000000000,
	NAME_BYTES = 256,
	KNOWN_IRQS = 64,
	IRQ_ACTIONS = 48,
	LOCAL_TIMER_VECTOR = 0xec,
	DNS_PORT = 53
};

/* Write "irq 26 (ttyS0)": sysfs names those that registered a handler. */
static void irq_with_device(uint32_t number, char *out, size_t n)
{
	static struct {
		bool read;
		uint32_t number;
		char actions[IRQ_ACTIONS]; /* "": none */
	} known[KNOWN_IRQS];
	uint32_t i = number % KNOWN_IRQS;

	if (!known[i].read || known[i].number != number) {
		known[i].read = true;
		known[i].number = number;
		known[i].actions[0] = '\0';
		small_file_line(known[i].actions, sizeof(known[i].actions),
				"/sys/kernel/irq/%u/actions", number);
	}
	if (known[i].actions[0])
		snprintf(out, n, "irq %u (%s)", number, known[i].actions);
	else
		snprintf(out, n, "irq %u", number);
}

const char *const softirq_names[SOFTIRQS] = {"HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
const char *const vector_names[VECTORS] = {"reschedule", "call_function", "call_function_single",
					   "irq_work"};

const char *irq_name(uint32_t number, char *out, size_t n)
{
	if (number == PT_IRQ_LOCAL_TIMER)
		return "local timer";
	if (number >= PT_IRQ_VECTOR)
		return number - PT_IRQ_VECTOR < VECTORS ? vector_names[number - PT_IRQ_VECTOR]
							: "IPI";
	if (number >= PT_IRQ_SOFT && number - PT_IRQ_SOFT < SOFTIRQS) {
		snprintf(out, n, "softirq %s", softirq_names[number - PT_IRQ_SOFT]);
		return out;
	}
	irq_with_device(number, out, n);
	return out;
}

uint32_t irq_number(uint32_t number)
{
	/* vectors as in arch/x86/include/asm/irq_vectors.h */
	static const uint32_t vectors[VECTORS] = {0xfd, 0xfc, 0xfb, 0xf6};

	if (number == PT_IRQ_LOCAL_TIMER)
		return LOCAL_TIMER_VECTOR;
	if (number >= PT_IRQ_VECTOR)
		return vectors[(number - PT_IRQ_VECTOR) % VECTORS];
	return number >= PT_IRQ_SOFT ? number - PT_IRQ_SOFT : number;
}

static bool begins_with_any(const char *name, const char *const *list)
{
	for (; *list; list++) {
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	}
	return false;
}

/* The kind (enum object_kind) and the name of a descriptor of the target, from /proc/PID/fd. */
static uint32_t descriptor_kind(uint32_t pid, uint64_t fd, char *name, size_t n)
{
	static const struct {
		uint32_t kind;
		const char *begins[4];
	} kinds[] = {
	    {OBJECT_SOCKET, {"socket:"}},
	    {OBJECT_PIPE, {"pipe:"}},
	    {OBJECT_TERMINAL, {"/dev/pts/", "/dev/tty", "/dev/console"}},
	    {OBJECT_DEVICE, {"/dev/"}},
	    {OBJECT_FILE, {"/"}},
	    {OBJECT_TIMER, {"anon_inode:[timerfd"}},
	    {OBJECT_EVENT, {"anon_inode:"}},
	};

	small_file_link(name, n, "/proc/%d/fd/%u", proc_number((pid_t)pid), (unsigned int)fd);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (begins_with_any(name, kinds[i].begins))
			return kinds[i].kind;
	}
	return OBJECT_OTHER;
}

/* True if the last part of the path is this name. A name of PT_FILE_NAME bytes may be cut off. */
static bool ends_with(const char *path, const char *name)
{
	const char *last = strrchr(path, '/');
	size_t n = strnlen(name, PT_FILE_NAME);

	if (!last || strncmp(last + 1, name, n) != 0)
		return false;
	return n >= PT_FILE_NAME - 1 || !last[1 + n] || !strcmp(last + 1 + n, " (deleted)");
}

/*
 * The kind and name of the file that a call slept on. The kernel recorded the last part of the
 * file's name. By now the descriptor may be closed or refer to another file: then only that
 * part of the name is known.
 */
static uint32_t file_kind(const struct pt_record_sleep *r, char *name, size_t n)
{
	uint32_t kind = descriptor_kind(r->head.tgid, r->fd, name, n);

	if (!r->object.file[0] || ends_with(name, r->object.file))
		return kind;
	snprintf(name, n, "%.*s", (int)sizeof(r->object.file), r->object.file);
	return OBJECT_FILE;
}

static bool is_loopback(int family, const unsigned char *a)
{
	static const unsigned char one[16] = {[15] = 1};

	return family == AF_INET ? a[0] == 127 : !memcmp(a, one, sizeof(one));
}

/*
 * Describe a Unix socket by its path and by the process that made the other end, or, of datagrams,
 * that has the other end open.
 */
static void unix_name(struct kernel_side *k, const struct pt_object *o, uint32_t pid, char *name,
		      size_t n)
{
	char comm[TARGET_COMM] = "", who[64] = "", path[PT_SOCKET_PATH + 1];
	const struct pipe_end_known *end = NULL;
	uint32_t peer = o->peer_pid;

	snprintf(path, sizeof(path), "%.*s", PT_SOCKET_PATH - 1,
		 o->path[0] ? o->path : o->path + 1);
	if (!peer && o->room && o->peer_inode)
		end = kernel_socket(k, &(struct pt_sought){.inode = o->peer_inode}, pid);
	if (peer && peer != pid)
		target_thread_comm((pid_t)peer, (pid_t)peer, comm, sizeof(comm));
	if (comm[0])
		snprintf(who, sizeof(who), "%s %u", comm, peer);
	else if (end)
		pipe_end_text(end, who, sizeof(who));
	snprintf(name, n, "Unix socket%s%s%s%s", path[0] ? o->path[0] ? " " : " @" : "", path,
		 who[0] ? " of " : "", who);
}

/* The kind and name of a socket as the kernel recorded it: its peer, and whether the peer is
 * on this host. */
static uint32_t socket_kind(struct kernel_side *k, const struct pt_record_sleep *r, char *name,
			    size_t n)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct pt_object *o = &r->object;
	const unsigned char *peer = o->peer, *own = o->own;
	int family = (int)o->family;
	char text[INET6_ADDRSTRLEN];

	name[0] = '\0';
	if (family == AF_UNIX) {
		unix_name(k, o, r->head.tgid, name, n);
		return OBJECT_LOCAL;
	}
	if (family != AF_INET && family != AF_INET6)
		return OBJECT_SOCKET;
	if (family == AF_INET6 && !memcmp(peer, mapped, sizeof(mapped))) {
		family = AF_INET;
		peer += sizeof(mapped);
		own += sizeof(mapped);
	}
	if (!o->port && o->own_port)
		snprintf(name, n, "%sport %u",
			 o->protocol == IPPROTO_TCP ? "new connections to " : "", o->own_port);
	if (!o->port || !inet_ntop(family, peer, text, sizeof(text)))
		return OBJECT_SOCKET;
	snprintf(name, n, family == AF_INET6 ? "[%s]:%u%s" : "%s:%u%s", text, o->port,
		 o->port == DNS_PORT ? " (DNS server)" : "");
	return is_loopback(family, peer) || !memcmp(peer, own, family == AF_INET ? 4 : 16)
		   ? OBJECT_LOCAL
		   : OBJECT_SOCKET;
}

/* The kind and name of the object that a call slept on, by its descriptor. */
static uint32_t object_kind(struct kernel_side *k, const struct pt_record_sleep *r, char *name,
			    size_t n)
{
	uint32_t kind;

	if (r->object.family)
		return socket_kind(k, r, name, n);
	kind = file_kind(r, name, n);
	if ((r->object.mode & S_IFMT) == S_IFIFO)
		return OBJECT_PIPE;
	if (!strcmp(name, "anon_inode:[eventfd]"))
		snprintf(name, n, "an eventfd");
	return kind;
}

/* The mapping of the last address that was looked up, of a page fault or an argument. */
static struct {
	uint32_t pid;
	uint64_t start, end, looked_ns, found_ns;
	char name[NAME_BYTES];
} mapped;

static bool mapping_find(uint32_t pid, uint64_t address)
{
	char path[64], *text, *line, *next;
	uint64_t start, end;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", proc_number((pid_t)pid));
	if (reader_text((pid_t)pid, path, &text) < 0)
		return false;
	for (line = text; !found && *line; line = next) {
		int at = 0;

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &start, &end, &at) <
			2 ||
		    address < start || address >= end)
			continue;
		found = true;
		mapped.pid = pid;
		mapped.start = start;
		mapped.end = end;
		snprintf(mapped.name, sizeof(mapped.name), "%.*s", NAME_BYTES - 1,
			 at && line[at] == '/' ? line + at : "");
	}
	free(text);
	return found;
}

/* The file that is mapped at this address; "" if there is none. Reading the maps of a large
 * program is slow, so do it at most every MAPS_EVERY_NS. Another file may take its place meanwhile,
 * so a mapping is believed for MAPS_AGE_NS. */
static void mapped_file(uint32_t pid, uint64_t address, char *name, size_t n)
{
	uint64_t now = now_ns();
	bool known = mapped.pid == pid && address >= mapped.start && address < mapped.end &&
		     now - mapped.found_ns < MAPS_AGE_NS;

	if (!known && address && now - mapped.looked_ns >= MAPS_EVERY_NS) {
		mapped.looked_ns = now;
		known = mapping_find(pid, address);
		mapped.found_ns = known ? now : 0;
	}
	snprintf(name, n, "%s", known ? mapped.name : "");
}

static bool takes_a_descriptor(const char *call)
{
	return strstr(call, "read") || strstr(call, "write") || !strncmp(call, "recv", 4) ||
	       !strncmp(call, "send", 4) || !strncmp(call, "accept", 6) ||
	       !strcmp(call, "splice") || !strcmp(call, "copy_file_range") ||
	       !strcmp(call, "connect") || !strcmp(call, "fallocate") ||
	       !strcmp(call, "ftruncate") || !strcmp(call, "getdents64") ||
	       !strcmp(call, "ioctl") || !strcmp(call, "flock") || !strcmp(call, "fcntl") ||
	       !strcmp(call, "fsync") || !strcmp(call, "fdatasync") || !strcmp(call, "syncfs") ||
	       !strcmp(call, "sync_file_range");
}

/* True for calls that wait for several objects at once. */
static bool waits_for_several(const char *call)
{
	return !strcmp(call, "poll") || !strcmp(call, "ppoll") || !strcmp(call, "select") ||
	       !strcmp(call, "pselect6") || !strncmp(call, "epoll_", 6) ||
	       !strcmp(call, "io_uring_enter");
}

/* Describe the object that the kernel recorded for a wait for several: the first, or the first
 * that was ready. Of a thread snapshot it is the peer that alone can end the wait. */
static void object_of_several(struct kernel_side *k, const struct pt_record_sleep *r,
			      struct rec_sleep *s, char *name, size_t n)
{
	if (r->fd == PT_NO_FD || !r->object.mode)
		return;
	/* the descriptor is that of the epoll, not of the file that was ready */
	if (r->object.family || s->call[0] != 'e')
		s->object = object_kind(k, r, name, n);
	else if ((r->object.mode & S_IFMT) == S_IFIFO)
		s->object = OBJECT_PIPE;
}

/* The name of the call that it sleeps for to try it again; NULL: none. */
static const char *tried_call(const struct pt_record_sleep *r)
{
	return r->tried.call && r->tried.call <= PT_SYSCALLS ? syscall_name(r->tried.call - 1)
							     : NULL;
}

void sleep_tried(const struct pt_record_sleep *r, struct rec_sleep *s, char *about, size_t n,
		 char *holder, size_t holder_size)
{
	const char *call = tried_call(r), *command = "", *error;
	pid_t owner = (pid_t)r->tried.owner;
	char comm[TARGET_COMM] = "";

	if (!call)
		return;
	if (!strcmp(call, "fcntl"))
		command = r->tried.args[1] == F_SETLK	    ? " F_SETLK"
			  : r->tried.args[1] == F_OFD_SETLK ? " F_OFD_SETLK"
							    : "";
	s->flags |= SLEEP_RETRIES;
	if (*command || !strcmp(call, "flock"))
		s->flags |= SLEEP_RETRIES_LOCK;
	error = strerrorname_np((int)r->tried.error);
	snprintf(about, n, "%s%s failed with %s", call, command, error ? error : "an error");
	s->about = about;
	if (owner)
		target_thread_comm(owner, owner, comm, sizeof(comm));
	if (comm[0])
		snprintf(holder, holder_size, "%s %d", comm, (int)owner);
}

void sleep_object(struct kernel_side *k, const struct pt_record_sleep *r, struct rec_sleep *s,
		  char *name, size_t n)
{
	const char *call = tried_call(r) ?: s->call;

	memcpy(s->args, r->args, sizeof(s->args));
	if (r->object.held_back)
		s->flags |= SLEEP_HELD_BACK;
	name[0] = '\0';
	s->name = name;
	if (r->syscall < 0)
		mapped_file(r->head.tgid, r->fault, name, n);
	else if (!strcmp(call, "msync"))
		mapped_file(r->head.tgid, r->args[0], name, n);
	else if (waits_for_several(call))
		object_of_several(k, r, s, name, n);
	else if (takes_a_descriptor(call))
		s->object = object_kind(k, r, name, n);
	/* it was a file, even if its descriptor has been closed since */
	if (strstr(call, "sync") && s->object != OBJECT_FILE && strcmp(call, "msync") != 0)
		name[0] = '\0';
}

uint32_t sleep_queue(struct kernel_side *k, const struct pt_record_sleep *r, struct rec_sleep *s,
		     char *holder, size_t n)
{
	const struct pt_object *o = &r->object;
	struct pt_sought sought = {.network = o->network, .port = o->port};
	const struct pipe_end_known *end;

	s->queued = o->queued;
	s->room = o->room;
	if (s->object != OBJECT_LOCAL)
		return 0;
	if (o->room && o->queued >= o->room &&
	    (strstr(s->call, "write") || !strncmp(s->call, "send", 4)))
		sought = (struct pt_sought){.inode = o->peer_inode};
	else if (!o->port || strcmp(s->call, "connect") != 0)
		return 0;
	else if (o->family == AF_INET)
		memcpy(&sought.address, o->peer, sizeof(sought.address));
	end = kernel_socket(k, &sought, r->head.tgid);
	if (!end)
		return 0;
	if (!sought.inode) {
		s->queued = end->queued;
		s->room = end->room;
		s->overflows = end->dropped;
	}
	s->holder = pipe_end_text(end, holder, n);
	return end->pid;
}

/* Wait reasons (runtime2.go) for which a call can park. Values from 21 on exist since Go 1.20;
 * earlier versions used them only for waits that no call of a program makes. */
static const char *park_reason(uint32_t reason)
{
	static const char *const text[] = {[2] = "IO wait",
					   [3] = "chan receive (nil chan)",
					   [4] = "chan send (nil chan)",
					   [9] = "select",
					   [10] = "select (no cases)",
					   [14] = "chan receive",
					   [15] = "chan send",
					   [18] = "semacquire",
					   [19] = "sleep",
					   [20] = "sync.Cond.Wait",
					   [21] = "sync.Mutex.Lock",
					   [22] = "sync.RWMutex.RLock",
					   [23] = "sync.RWMutex.Lock"};

	return reason < sizeof(text) / sizeof(text[0]) && text[reason] ? text[reason] : "";
}

bool sleep_of_goroutine(const struct pt_record_sleep *r, struct rec_sleep *s)
{
	if (!r->parked)
		return false;
	*s = (struct rec_sleep){.syscall = -1,
				.call = "",
				.work = SLEEP_PARKED,
				.name = park_reason(r->parked - 1),
				.waker = "",
				.holder = "",
				.doing = "",
				.slept_ns = r->slept};
	return true;
}

void sleep_doing(const struct pt_record_sleep *r, struct rec_sleep *s, char *text, size_t n)
{
	const char *call = r->did_syscall >= 0 && r->did_syscall < PT_SYSCALLS
			       ? syscall_name((unsigned int)r->did_syscall)
			       : NULL;
	size_t used;

	switch ((enum pt_did)r->did) {
	case PT_DID_RUN:
		snprintf(text, n, "ran");
		break;
	case PT_DID_SLEEP:
		if (call)
			snprintf(text, n, "was in %s", call);
		else
			snprintf(text, n, "%s",
				 r->did_syscall == PT_NO_PROGRAM ? "slept" : "waited for memory");
		break;
	case PT_DID_WAIT_FOR_CPU:
		snprintf(text, n, "was preempted by %.*s %u", PT_COMM, r->did_comm, r->did_pid);
		break;
	default:
		return;
	}
	used = strlen(text);
	/* no figure: causes with the same text are one */
	if (r->did_ns * 2 < r->slept)
		snprintf(text + used, n - used, " for a part of that time");
	s->doing = text;
}

/* The interrupt in which the waking came. */
static uint32_t bracket_of(uint32_t waker_irq)
{
	uint32_t irq = waker_irq - 1;

	if (!waker_irq)
		return 0;
	if (irq == PT_IRQ_LOCAL_TIMER)
		return (uint32_t)BRACKET(BRACKET_CLOCK, 0);
	if (irq >= PT_IRQ_VECTOR)
		return (uint32_t)BRACKET(BRACKET_IPI, irq - PT_IRQ_VECTOR);
	return irq >= PT_IRQ_SOFT ? (uint32_t)BRACKET(BRACKET_SOFT, irq - PT_IRQ_SOFT)
				  : (uint32_t)BRACKET(BRACKET_HARD, irq);
}

void sleep_waking(const struct pt_record_sleep *r, struct rec_sleep *s, char *waker, size_t n)
{
	s->bracket = bracket_of(r->waker_irq);
	s->waker_pid = r->waker_tgid;
	s->waker_tid = r->waker_tid;
	s->waker = waker;
	if (r->io)
		s->flags |= SLEEP_IN_IOWAIT;
	if (r->work.doing & PT_DOING_LOCK)
		s->flags |= SLEEP_CONTENDS;
	if (!strncmp(r->waker_comm, "ksoftirqd/", 10))
		s->flags |= SLEEP_BY_KSOFTIRQD;
	if (r->waker_tid == r->head.tid)
		s->flags |= SLEEP_BY_ITSELF;
	snprintf(waker, n, "%.*s", PT_COMM, r->waker_comm);
}
