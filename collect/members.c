// SPDX-License-Identifier: GPL-2.0-or-later
/* The values behind arguments: of a function when a call begins, of the file of a system call when
 * it ends. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "analysis/base/array.h"
#include "analysis/base/syscall_names.h"
#include "analysis/latency/syscall_args.h"
#include "bpf/ring.h"
#include "collect/functions_impl.h"
#include "collect/kernel_side.h"
#include "collect/state.h"

/* The front may ask for anything: what is out of range is not read. */
static bool can_be_read(const struct rec_member *m, uint32_t most)
{
	return m->size && m->size <= most && m->argument < PT_ARGS && m->offset < PT_OFFSETS;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Let a block cover a member, too. False: it is behind another argument, or too far away. */
static bool block_extend(struct pt_block *b, const struct rec_member *m)
{
	uint32_t from = b->offset < m->offset ? b->offset : m->offset;
	uint32_t end = larger(b->offset + b->size, m->offset + m->size);

	if (b->argument != m->argument || end - from > PT_BLOCK)
		return false;
	b->offset = from;
	b->size = end - from;
	return true;
}

/* Choose the block for a member: there is one for each at most. Returns its number. */
static uint32_t block_choose(struct pt_behind *list, const struct rec_member *m)
{
	for (uint32_t i = 0;; i++) {
		struct pt_block *b = &list->block[i];

		if (b->size && block_extend(b, m))
			return i;
		if (b->size)
			continue;
		*b = (struct pt_block){
		    .argument = m->argument, .offset = m->offset, .size = m->size};
		return i;
	}
}

/* Choose what is read for the members. */
static void members_place(struct function *f, const struct req_members *req, struct pt_behind *list)
{
	for (uint32_t i = 0; i < SAMPLE_MEMBERS; i++) {
		const struct rec_member *m = &req->members[i];

		f->members[i] = (struct member_place){0};
		if (i < req->nr_members && can_be_read(m, sizeof(uint64_t)))
			f->members[i] =
			    (struct member_place){.block = block_choose(list, m), .size = m->size};
	}
	/* now the begins of the blocks are known */
	for (uint32_t i = 0; i < SAMPLE_MEMBERS; i++)
		if (f->members[i].size)
			f->members[i].at =
			    req->members[i].offset - list->block[f->members[i].block].offset;
}

uint64_t site_reads_ns(const struct function *f, const struct pt_site *s)
{
	return s->flags & PT_SITE_BEHIND ? (uint64_t)f->reads * MEMBER_READ_NS : 0;
}

static void starts_mark(struct collector *c, struct function *f, uint32_t reads)
{
	f->reads = reads;
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		struct pt_site *s = &kernel_side_sites(c->kernel)[f->sites[i].index];

		if (!site_starts(&f->sites[i].site))
			continue;
		if (reads)
			s->flags |= PT_SITE_BEHIND;
		else
			s->flags &= ~(pt_u32)PT_SITE_BEHIND;
	}
}

void function_members(struct collector *c, const struct req_members *req)
{
	struct function *f = function_by_op(c, req->op);
	struct pt_behind list = {0};
	uint32_t reads = 0;

	if (!f || c->options->no_values)
		return;
	starts_mark(c, f, 0);
	members_place(f, req, &list);
	if (can_be_read(&req->text, PT_TEXT))
		list.text = (struct pt_block){.argument = req->text.argument,
					      .offset = req->text.offset,
					      .size = req->text.size,
					      .is_pointer = req->text.is_pointer != 0};
	for (uint32_t i = 0; i < PT_BLOCKS; i++)
		reads += list.block[i].size != 0;
	reads += list.text.size != 0;
	if (reads && !kernel_side_behind(c->kernel, f->slot, &list))
		starts_mark(c, f, reads);
}

void function_members_take(const struct function *f, const struct pt_record_sample *from,
			   struct rec_sample *to)
{
	uint32_t blocks = from->known / SAMPLE_MEMBER0;

	for (uint32_t i = 0; i < SAMPLE_MEMBERS; i++) {
		const struct member_place *m = &f->members[i];

		if (!m->size || !(blocks >> m->block & 1))
			continue;
		memcpy(&to->members[i], (const char *)from->blocks[m->block] + m->at, m->size);
		to->known |= (uint32_t)SAMPLE_MEMBER0 << i;
	}
}

void file_values(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);

	for (unsigned int nr = 0; nr < PT_SYSCALLS && !c->options->no_values; nr++) {
		const char *name = syscall_name(nr);

		if (name)
			control->sys_file[nr] = (pt_u16)(syscall_file(name) + 1);
	}
}

static const char *socket_words(uint64_t kind)
{
	static const struct {
		int family, type, protocol; /* 0: any */
		const char *words;
	} sockets[] = {
	    {AF_UNIX, SOCK_STREAM, 0, "Unix stream socket"},
	    {AF_UNIX, SOCK_DGRAM, 0, "Unix datagram socket"},
	    {AF_UNIX, 0, 0, "Unix packet socket"},
	    {AF_INET, 0, IPPROTO_TCP, "TCP socket"},
	    {AF_INET6, 0, IPPROTO_TCP, "TCP socket"},
	    {AF_INET, 0, IPPROTO_UDP, "UDP socket"},
	    {AF_INET6, 0, IPPROTO_UDP, "UDP socket"},
	    {AF_NETLINK, 0, 0, "netlink socket"},
	    {AF_PACKET, 0, 0, "packet socket"},
	    {AF_VSOCK, 0, 0, "socket to a virtual machine or its host"},
	};
	int family = (int)(kind >> 48), type = (int)(kind >> 32 & 0xffff),
	    protocol = (int)(kind >> 16 & 0xffff);

	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++)
		if (sockets[i].family == family && (!sockets[i].type || sockets[i].type == type) &&
		    (!sockets[i].protocol || sockets[i].protocol == protocol))
			return sockets[i].words;
	return "socket";
}

/* Describe a file by its mode and the name that the kernel told: of the file system, of a device,
 * or of an object without a path, such as "[eventfd]". */
static void file_words(uint64_t kind, const char *name, char *to, size_t size)
{
	switch (kind & S_IFMT) {
	case S_IFREG:
		snprintf(to, size, "file on %s", name);
		break;
	case S_IFDIR:
		snprintf(to, size, "directory on %s", name);
		break;
	case S_IFCHR:
	case S_IFBLK:
		snprintf(to, size, "device %s", name);
		break;
	case S_IFIFO:
		snprintf(to, size, "%s", strcmp(name, "pipefs") ? "named pipe" : "pipe");
		break;
	case S_IFSOCK:
		snprintf(to, size, "%s", socket_words(kind));
		break;
	default:
		name += *name == '[';
		snprintf(to, size, "%.*s", (int)strcspn(name, "]"), name);
		break;
	}
}

static void peer_take(const struct pt_record_sample *from, char *text, size_t size)
{
	if (!inet_ntop((int)from->blocks[1][0], from->blocks[0], text, (socklen_t)size))
		text[0] = '\0';
}

void object_values_take(enum layer layer, const struct pt_record_sample *from,
			struct rec_sample *to, char *text, size_t size)
{
	char name[PT_TEXT + 1];

	if (layer == LAYER_NET) {
		peer_take(from, text, size);
		return;
	}
	for (uint32_t i = 0; i < PT_FILE_KIND; i++) {
		to->members[i] = from->blocks[i][0];
		to->known |= from->known & (uint32_t)SAMPLE_MEMBER0 << i;
	}
	/* what else open() was told is not of interest here */
	to->members[PT_FILE_FLAGS] &= O_APPEND | O_NONBLOCK | O_SYNC | O_DIRECT;
	snprintf(name, sizeof(name), "%.*s", PT_TEXT, from->text);
	file_words(from->blocks[PT_FILE_KIND][0], name, text, size);
}
