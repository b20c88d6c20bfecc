// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/stream.h"
#include "collect/state.h"

#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "analysis/base/format.h"
#include "collect/process/small_file.h"
#include "collect/reader.h"

uint64_t session_ns(const struct collector *c)
{
	return now_ns() - c->start_ns;
}

int send_record(struct collector *c, const struct record *rec)
{
	int err = channel_send(c->front, rec, -1);

	if (err == -EAGAIN || err == -E2BIG)
		c->lost.front++;
	else if (err == -EPIPE)
		c->loop.stopping = true;
	return err;
}

void send_ack(struct collector *c, uint32_t epoch)
{
	send_record(
	    c, &(struct record){.type = REC_ACK, .ack = {.epoch = epoch, .at_ns = session_ns(c)}});
}

void send_note(struct collector *c, enum note_level level, const char *fmt, ...)
{
	char text[512];

	format_arguments(text, sizeof(text), fmt);
	send_record(c, &(struct record){.type = REC_NOTE, .note = {.level = level, .text = text}});
}

void send_refused(struct collector *c, uint32_t epoch, uint32_t op, int error, const char *fmt, ...)
{
	char text[512];

	format_arguments(text, sizeof(text), fmt);
	send_record(c, &(struct record){
			   .type = REC_REFUSED,
			   .refused = {.epoch = epoch, .op = op, .error = error, .reason = text}});
}

void send_reader_notes(struct collector *c)
{
	static const char *const words[READER_KINDS] = {
	    "stacks whose pages wait for I/O (userfaultfd, FUSE, network file systems) are missing",
	    "/proc/PID/maps is blocked by a lock: code that the process maps from now on is not "
	    "known",
	    "the file system of a mapped file does not respond: functions in that file cannot be "
	    "found or probed",
	    "its code cannot be compared with its files, so that no probes are placed in it now",
	};
	enum reader_kind kind;
	pid_t pid;

	while ((pid = reader_next_hung(&kind)))
		send_note(c, NOTE_WARNING, "process %d cannot be read: %s", pid, words[kind]);
}

void send_meta(struct collector *c)
{
	const char *left_out = c->options->targets_note;
	struct utsname u;
	char boot[64] = "";

	small_file_line(boot, sizeof(boot), "/proc/sys/kernel/random/boot_id");
	uname(&u);
	send_record(c, &(struct record){
			   .type = REC_META,
			   .meta = {
			       .version = PEAKTOP_VERSION,
			       .host = u.nodename,
			       .kernel = u.release,
			       .boot_id = boot,
			       .realtime_ns = clock_ns(CLOCK_REALTIME) - session_ns(c),
			       .monotonic_ns = c->start_ns,
			       .cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
			       .interval_ns = c->slice.interval_ns,
			       .command = c->options->command_line ? c->options->command_line : "",
			       .resolution = c->options->resolution,
			       .budget_ppm = c->options->budget_ppm,
			       .shown = c->options->shown,
			   }});
	if (left_out && left_out[0])
		send_note(c, NOTE_WARNING, "%s", left_out);
}

void send_target(struct collector *c, const struct target *t)
{
	send_record(c, &(struct record){.type = REC_TARGET,
					.target = {.pid = (uint32_t)t->pid,
						   .ns_pid = (uint32_t)t->ns_pid,
						   .started_ns = t->started_ns,
						   .uid = t->uid,
						   .comm = t->comm,
						   .exe = t->exe,
						   .threads = t->threads,
						   .requested = t->requested}});
}

void send_blown(struct collector *c, uint32_t op)
{
	send_record(c, &(struct record){.type = REC_SITE, .site = {.op = op, .state = SITE_BLOWN}});
}

static void send_constant(struct collector *c, const char *name, uint64_t low, uint64_t high)
{
	if (!low)
		return;
	send_record(c,
		    &(struct record){
			.type = REC_CONSTANT,
			.constant = {.name = name, .low_ns = low, .high_ns = high, .measured = 1}});
}

/* The times of the scheduler. A task that has used up its slice runs on until the next tick. */
static void send_ticks(struct collector *c)
{
	const uint64_t tick = c->cost.tick, slice = c->cost.slice;
	char name[64];

	if (!tick)
		return;
	snprintf(name, sizeof(name), "timer tick (HZ=%llu)",
		 (unsigned long long)((1000000000 + tick / 2) / tick));
	send_constant(c, name, tick, tick);
	if (!slice)
		return;
	snprintf(name, sizeof(name), "scheduler slice (%.20s, to the next tick)",
		 format_time(slice).s);
	send_constant(c, name, (slice + tick - 1) / tick * tick, (slice + tick - 1) / tick * tick);
}

void send_constants(struct collector *c)
{
	send_ticks(c);
	send_constant(c, "system call", c->cost.system_call, c->cost.system_call);
	send_constant(c, "context switch", c->cost.context_switch, c->cost.context_switch);
	send_constant(c, "page fault", c->cost.minor_fault, c->cost.minor_fault);
}

bool front_has_said(const struct collector *c)
{
	struct pollfd p = {.fd = channel_fd(c->front), .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}
