// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostile_front PID FUNCTION: a front that was taken over. It starts a collector on the process and
 * asks for a probe on each byte of the first instructions of a function of its program, one after
 * the other, and on the file's header. Prints a line "OFFSET begin|inside|header armed|refused
 * REASON" for each.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "analysis/code/decode.h"
#include "analysis/module/module.h"
#include "analysis/session/record.h"
#include "collect/collector.h"
#include "collect/process/channel.h"
#include "collect/process/code_reader.h"

enum { BYTES = 24, WAIT_MS = 20000 };

struct front {
	struct channel *channel;
	const char *path; /* of the program */
	uint32_t module;
	char answer[512]; /* to the last request; "" while there is none */
	bool over;
};

static void take(struct front *f, const struct record *rec)
{
	switch ((int)rec->type) {
	case REC_MODULE:
		if (!strcmp(rec->module.path, f->path))
			f->module = rec->module.module;
		break;
	case REC_ACK:
		snprintf(f->answer, sizeof(f->answer), "armed");
		break;
	case REC_REFUSED:
		snprintf(f->answer, sizeof(f->answer), "refused %s", rec->refused.reason);
		break;
	case REC_BYE:
		f->over = true;
		break;
	}
}

static void turn(struct front *f)
{
	struct pollfd p = {.fd = channel_fd(f->channel),
			   .events = (short)(POLLIN | (channel_pending(f->channel) ? POLLOUT : 0))};
	struct record beat = {.type = REQ_HEARTBEAT};
	const struct record *rec;
	int fd;

	channel_send(f->channel, &beat, -1);
	poll(&p, 1, 200);
	channel_flush(f->channel);
	if (channel_fill(f->channel) < 0 && p.revents & POLLHUP)
		f->over = true;
	while (channel_next(f->channel, &rec, &fd) == 1) {
		if (fd >= 0)
			close(fd);
		take(f, rec);
	}
}

static void arm(struct front *f, uint32_t op, uint64_t offset, const char *where)
{
	struct rec_site site = {.op = op,
				.module = f->module,
				.offset = offset,
				.role = SITE_ENTRY,
				.class = SITE_EMULATED,
				.cfa = 8};
	struct record rec = {.type = REQ_ARM};

	rec.arm = (struct req_arm){.epoch = op, .sites = &site, .nr_sites = 1};
	rec.arm.op = (struct rec_op){.op = op,
				     .layer = LAYER_FUNCTION,
				     .name = "hostile",
				     .label = "",
				     .requested = "",
				     .module = "",
				     .placement = ""};
	f->answer[0] = '\0';
	channel_send(f->channel, &rec, -1);
	for (int waited = 0; !f->answer[0] && !f->over && waited < WAIT_MS; waited += 200)
		turn(f);
	printf("%llu %s %s\n", (unsigned long long)offset, where,
	       f->answer[0] ? f->answer : "no answer");
	fflush(stdout);
}

static struct front front_begin(pid_t pid, const char *path)
{
	static struct collector_options options;
	struct front f = {.path = path};
	int pair[2];

	options = (struct collector_options){.pids = {pid},
					     .nr_pids = 1,
					     .uid = getuid(),
					     .gid = getgid(),
					     .interval_ns = 1000000000,
					     .budget_ppm = 1000000,
					     .resolution = 4,
					     .command_line = "",
					     .targets_note = "",
					     .code_serve = code_reader_serve};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		exit(2);
	if (fork() == 0) {
		close(pair[0]);
		_exit(collector_run(pair[1], &options));
	}
	close(pair[1]);
	f.channel = channel_new(pair[0], 4u << 20);
	return f;
}

int main(int argc, char **argv)
{
	struct decoder *decoder = decoder_new();
	const struct module_function *function;
	const uint8_t *code;
	char path[64], real[4096];
	struct module *m;
	struct front f;
	uint32_t op = 1000;
	size_t next = 0;
	ssize_t n;
	int fd;

	if (argc != 3)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/exe", argv[1]);
	n = readlink(path, real, sizeof(real) - 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (n <= 0 || fd < 0 || module_open(&m, fd) || module_find(m, argv[2], &function, 1) != 1 ||
	    function->size < BYTES)
		return 2;
	real[n] = '\0';
	code = module_code(m, function->vaddr, BYTES + INSN_MAX_LENGTH);
	f = front_begin((pid_t)strtol(argv[1], NULL, 10), real);
	for (int waited = 0; !f.module && !f.over && waited < WAIT_MS; waited += 200)
		turn(&f);
	if (!f.module || !code)
		return 2;
	for (size_t i = 0; i < BYTES; i++) {
		bool begins = i == next;
		struct insn insn;

		if (begins &&
		    !decode_insn(decoder, code + i, INSN_MAX_LENGTH, function->vaddr + i, &insn))
			next += insn.length;
		else if (begins)
			return 2;
		arm(&f, op++, function->offset + i, begins ? "begin" : "inside");
	}
	arm(&f, op++, 1, "header");
	channel_free(f.channel);
	return 0;
}
