// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/parser.h"

#include <fcntl.h>
#include <unistd.h>

#include "tui/engine/parser_private.h"

enum { MAX_ANSWER_MEMORY = 32 << 20 };
#define DEFAULT_LIMIT_NS 20000000000ULL

int parser_start(struct parser **out, uint64_t limit_ns)
{
	struct parser *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->pid = -1;
	p->limit_ns = limit_ns ? limit_ns : DEFAULT_LIMIT_NS;
	p->last = &p->first;
	for (uint32_t i = 0; i < PARSE_MAX_MODULES; i++)
		p->modules[i].fd = p->modules[i].debug_fd = -1;
	arena_init(&p->arena, MAX_ANSWER_MEMORY);
	err = parser_worker_start(p);
	if (err) {
		parser_free(p);
		return err;
	}
	*out = p;
	return 0;
}

static void handed_release(struct handed *h)
{
	if (h->fd >= 0)
		close(h->fd);
	if (h->debug_fd >= 0)
		close(h->debug_fd);
	free(h->name);
	free(h->refused);
	*h = (struct handed){.fd = -1, .debug_fd = -1};
}

void parser_free(struct parser *p)
{
	if (!p)
		return;
	parser_worker_end(p);
	while (p->first)
		pending_free(parser_pop_front(p));
	pending_free(p->asked);
	for (uint32_t i = 0; i < PARSE_MAX_MODULES; i++)
		handed_release(&p->modules[i]);
	arena_release(&p->arena);
	free(p->reason);
	free(p->lost_on);
	free(p);
}

int parser_fd(const struct parser *p)
{
	return p->channel ? channel_fd(p->channel) : -1;
}

bool parser_wants_write(const struct parser *p)
{
	return p->channel && channel_pending(p->channel);
}

uint64_t parser_deadline_ns(const struct parser *p)
{
	if (p->asked)
		return p->asked_until_ns;
	return p->first ? 0 : UINT64_MAX;
}

pid_t parser_pid(const struct parser *p)
{
	return p->pid;
}

unsigned int parser_restarts(const struct parser *p)
{
	return p->restarts;
}

const char *parser_lost_on(const struct parser *p)
{
	return p->lost_on ? p->lost_on : "";
}

int64_t parser_add_module(struct parser *p, uint32_t module, int fd, const char *name,
			  const struct parser_reply *reply)
{
	struct parse_request request = {.module = module, .text = name};
	struct handed *h, fresh = {.debug_fd = -1};
	int64_t id;

	if (!module_valid(module) || fd < 0)
		return -EINVAL;
	h = &p->modules[module];
	fresh.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fresh.fd < 0)
		return -errno;
	fresh.name = strdup(name ? name : "");
	id = fresh.name ? parser_enqueue(p, PARSE_ADD_MODULE, &request, reply) : -ENOMEM;
	if (id < 0) {
		handed_release(&fresh);
		return id;
	}
	handed_release(h);
	*h = fresh;
	return id;
}

int64_t parser_add_debug(struct parser *p, uint32_t module, int fd,
			 const struct parser_reply *reply)
{
	struct parse_request request = {.module = module};
	struct handed *h;
	int64_t id;
	int copy;

	if (!module_valid(module) || fd < 0)
		return -EINVAL;
	h = &p->modules[module];
	if (h->fd < 0)
		return -ENOENT;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return -errno;
	id = parser_enqueue(p, PARSE_ADD_DEBUG, &request, reply);
	if (id < 0) {
		close(copy);
		return id;
	}
	if (h->debug_fd >= 0)
		close(h->debug_fd);
	h->debug_fd = copy;
	return id;
}

int64_t parser_forget(struct parser *p, uint32_t module)
{
	struct parse_request request = {.module = module, .text = ""};

	if (!module_valid(module))
		return -EINVAL;
	handed_release(&p->modules[module]);
	return parser_enqueue(p, PARSE_FORGET, &request, NULL);
}

int64_t parser_ask(struct parser *p, enum parse_type type, const struct parse_request *request,
		   const struct parser_reply *reply)
{
	if (type <= PARSE_ADD_DEBUG || type >= PARSE_LAST ||
	    request->nr_offsets > PARSE_MAX_OFFSETS || request->nr_mappings > PARSE_MAX_MAPPINGS ||
	    request->nr_regs > PARSE_MAX_REGS || request->nr_words > PARSE_MAX_WORDS ||
	    request->nr_pieces > STACK_PIECES_WORDS)
		return -EINVAL;
	return parser_enqueue(p, type, request, reply);
}
