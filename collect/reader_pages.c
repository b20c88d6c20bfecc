// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/reader_pages.h"

#include <sys/uio.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	PAGES = PAGES_MAX_BYTES / PAGE,
	MAX_HOLE_PAGES = 4, /* in a row; larger holes lie between mappings */
};

/*
 * Which of `n` pages, from `page` on, are in memory or in swap. All, if there is no pagemap. False:
 * it cannot be read.
 */
static bool pages_present(int pagemap, uint64_t page, unsigned int n, bool *there)
{
	const uint64_t is_there = 3ull << 62; /* present, swapped */
	uint64_t entry[PAGES + 1];

	if (pagemap >= 0 &&
	    pread(pagemap, entry, n * sizeof(entry[0]), (off_t)(page * sizeof(entry[0]))) !=
		(ssize_t)(n * sizeof(entry[0])))
		return false;
	for (unsigned int i = 0; i < n; i++)
		there[i] = pagemap < 0 || entry[i] & is_there;
	return true;
}

/* Read `n` pages or parts of pages from `address` to `end`. */
static ssize_t run_read(pid_t thread, uint64_t address, uint64_t end, char *to)
{
	struct iovec local = {.iov_base = to, .iov_len = end - address}, remote[PAGES + 1];
	unsigned int n = 0;

	/* the kernel skips a part that it cannot read whole, so make one part per page */
	for (uint64_t at = address, next; at < end; at = next) {
		next = (at / PAGE + 1) * PAGE;
		next = next < end ? next : end;
		remote[n++] =
		    (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = next - at};
	}
	return process_vm_readv(thread, &local, 1, remote, n, 0);
}

/* Returns the end of the pages, from `i` on, that are all there or all not there. */
static unsigned int run_end(const bool *there, unsigned int i, unsigned int n)
{
	bool is_there = there[i];

	while (i < n && there[i] == is_there)
		i++;
	return i;
}

uint32_t pages_read(pid_t thread, int pagemap, const struct reader_piece *w, char *to)
{
	uint64_t first = w->address / PAGE, end = w->address + w->bytes, at = w->address, next;
	unsigned int n = (unsigned int)((end - 1) / PAGE - first + 1), i = 0, after;
	bool there[PAGES + 1];
	ssize_t got;

	if (!pages_present(pagemap, first, n, there))
		return 0;
	for (; i < n; i = after, at = next) {
		after = run_end(there, i, n);
		next = (first + after) * PAGE < end ? (first + after) * PAGE : end;
		if (!there[i]) {
			if (!w->holes || after == n || after - i > MAX_HOLE_PAGES)
				break;
			memset(to + (at - w->address), READER_HOLE, next - at);
			continue;
		}
		got = run_read(thread, at, next, to + (at - w->address));
		if (got < (ssize_t)(next - at)) {
			at += got > 0 ? (uint64_t)got : 0;
			break;
		}
	}
	return (uint32_t)(at - w->address);
}
