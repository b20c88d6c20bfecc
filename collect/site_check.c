// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/site_check.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/modules.h"
#include "collect/opener.h"
#include "collect/process/code_reader.h"
#include "collect/state.h"

/* Values of enum boundary (analysis/code/boundary.h), sent as bytes on the socket. */
enum verdict { VERDICT_GOOD = 1, VERDICT_INSIDE, VERDICT_NO_CODE };

enum { MAX_READERS = 16, KNOWN = 1 << 14, ASK = 512, VERDICT_MASK = 15 };

/* A code reader process for one module. */
struct code_reader {
	uint32_t module; /* 0: free */
	int socket;
	uint64_t used; /* number of the last query to it */
};

struct site_checks {
	struct code_reader readers[MAX_READERS];
	uint64_t questions;
	char reason[512];
	struct known_site {
		uint64_t key;	/* 0: none. A new key replaces an old one with the same hash */
		uint8_t length; /* of the instruction; 0: not known */
	} known[KNOWN];		/* good sites by hash */
};

static uint64_t site_key(uint32_t module, uint64_t offset)
{
	return (uint64_t)module << 48 ^ offset;
}

static struct known_site *known_at(struct site_checks *k, uint64_t key)
{
	return &k->known[key * UINT64_C(0x9e3779b97f4a7c15) >> 50];
}

static void reader_close(struct code_reader *r)
{
	if (r->module)
		close(r->socket);
	r->module = 0;
}

/* Find the code reader of this module, or start one, and if there are too many replace the least
 * recently used one. Returns 0 or a negative errno. */
static int reader_of(struct collector *c, uint32_t module, struct code_reader **found)
{
	struct site_checks *k = c->files.checks;
	struct code_reader *r = NULL;
	int fd;

	for (unsigned int i = 0; i < MAX_READERS; i++) {
		struct code_reader *other = &k->readers[i];

		if (other->module == module) {
			*found = other;
			return 0;
		}
		if (!r || !other->module || (r->module && other->used < r->used))
			r = other;
	}
	reader_close(r);
	fd = module_content(c, module);
	if (fd < 0)
		return fd;
	r->socket = opener_code(c->files.opener, fd);
	close(fd);
	if (r->socket < 0)
		return r->socket;
	r->module = module;
	*found = r;
	return 0;
}

/* Query `nr` offsets in one module. Returns 0 or a negative errno (-ETIMEDOUT: try again); then
 * the code reader is closed. */
static int ask(struct collector *c, uint32_t module, const uint64_t *offsets, size_t nr,
	       uint8_t *verdicts)
{
	struct code_reader *r;
	struct pollfd p;
	int ready, err = reader_of(c, module, &r);

	if (err)
		return err;
	r->used = ++c->files.checks->questions;
	if (send(r->socket, offsets, nr * sizeof(*offsets), MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)(nr * sizeof(*offsets))) {
		reader_close(r);
		return -EPIPE;
	}
	p = (struct pollfd){.fd = r->socket, .events = POLLIN};
	do {
		ready = poll(&p, 1, SITE_CHECK_WAIT_MS);
	} while (ready < 0 && errno == EINTR);
	if (ready == 1 && recv(r->socket, verdicts, nr, MSG_DONTWAIT) == (ssize_t)nr)
		return 0;
	reader_close(r);
	return ready ? -EPIPE : -ETIMEDOUT;
}

static const char *why(int err, uint8_t verdict)
{
	if (err == -ETIMEDOUT)
		return "checking the code took too long, so the probe is not attached; try again";
	if (err)
		return "the code could not be checked, so the probe is not attached";
	return verdict == VERDICT_INSIDE ? "the address is in the middle of an instruction"
					 : "no instruction starts at this address";
}

/* Check the sites in one module that were not checked before. Returns NULL or the reason for a
 * refusal. */
static const char *module_check(struct collector *c, uint32_t module,
				const struct rec_site *const *sites, size_t nr)
{
	uint64_t offsets[ASK];
	uint8_t verdicts[ASK];
	size_t n = 0;
	int err;

	if (module_is_vdso(c, module))
		return "the vDSO is code of the kernel without a file; it cannot be probed";
	for (size_t i = 0; i < nr && n < ASK; i++) {
		uint64_t key = site_key(module, sites[i]->offset);

		if (sites[i]->module != module || known_at(c->files.checks, key)->key == key)
			continue;
		offsets[n++] = sites[i]->offset;
	}
	if (!n)
		return NULL;
	err = ask(c, module, offsets, n, verdicts);
	for (size_t i = 0; i < n; i++) {
		uint64_t key = site_key(module, offsets[i]);

		uint8_t verdict = verdicts[i] & VERDICT_MASK;

		if (err || verdict != VERDICT_GOOD) {
			snprintf(c->files.checks->reason, sizeof(c->files.checks->reason),
				 "%s: 0x%" PRIx64 " in %s", why(err, verdict), offsets[i],
				 c->files.modules[module - 1].path);
			return c->files.checks->reason;
		}
		*known_at(c->files.checks, key) = (struct known_site){
		    .key = key, .length = verdicts[i] >> CODE_READER_LENGTH_SHIFT};
	}
	return NULL;
}

const char *sites_check(struct collector *c, const struct rec_site *const *sites, size_t nr)
{
	const char *wrong = NULL;

	if (!c->files.checks)
		c->files.checks = calloc(1, sizeof(*c->files.checks));
	if (!c->files.checks)
		return "out of memory";
	for (size_t i = 0; i < nr && !wrong; i++) {
		uint64_t key = site_key(sites[i]->module, sites[i]->offset);

		/* this also checks all later sites in the same module */
		if (known_at(c->files.checks, key)->key != key)
			wrong = module_check(c, sites[i]->module, sites + i, nr - i);
	}
	return wrong;
}

uint8_t site_length(struct collector *c, uint32_t module, uint64_t offset)
{
	const struct rec_site site = {.module = module, .offset = offset}, *one = &site;
	uint64_t key = site_key(module, offset);

	/* another site with the same hash may have replaced it */
	return sites_check(c, &one, 1) ? 0 : known_at(c->files.checks, key)->length;
}

void site_check_release(struct collector *c)
{
	if (!c->files.checks)
		return;
	for (unsigned int i = 0; i < MAX_READERS; i++)
		reader_close(&c->files.checks->readers[i]);
	free(c->files.checks);
	c->files.checks = NULL;
}
