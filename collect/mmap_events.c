// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/mmap_events.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/attach.h"

enum { PAGES = 4 }; /* of one ring buffer: about 100 events */

struct mmap_ring {
	int fd;
	struct perf_event_mmap_page *page;
};

static struct {
	struct mmap_ring rings[MAX_CLOCKS];
	uint32_t nr;
	size_t page;
} events;

void mmap_events_start(uint32_t cpus)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.mmap = 1;
	attr.exclude_kernel = 1;
	/* each record ends with its time */
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TIME;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	events.page = (size_t)sysconf(_SC_PAGESIZE);
	for (uint32_t cpu = 0; cpu < cpus && events.nr < MAX_CLOCKS; cpu++) {
		struct mmap_ring *r = &events.rings[events.nr];

		r->fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				     PERF_FLAG_FD_CLOEXEC);
		if (r->fd < 0)
			continue;
		r->page = mmap(NULL, (PAGES + 1) * events.page, PROT_READ | PROT_WRITE, MAP_SHARED,
			       r->fd, 0);
		if (r->page == MAP_FAILED)
			close(r->fd);
		else
			events.nr++;
	}
}

/* The first bytes of a record, which may continue at the begin of the ring buffer. */
static void copy(const struct mmap_ring *r, uint64_t at, void *to, size_t n)
{
	const char *data = (const char *)r->page + events.page;
	size_t size = PAGES * events.page, from = at % size;
	size_t first = n < size - from ? n : size - from;

	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, n - first);
}

static void ring_read_events(struct mmap_ring *r, mmap_event_fn mapped, void *ctx)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = r->page->data_tail, time;
	struct {
		struct perf_event_header header;
		uint32_t pid;
	} record;

	while (at < head) {
		copy(r, at, &record, sizeof(record));
		if (record.header.size < sizeof(record) + sizeof(time))
			break;
		copy(r, at + record.header.size - sizeof(time), &time, sizeof(time));
		if (record.header.type == PERF_RECORD_MMAP)
			mapped(ctx, (pid_t)record.pid, time);
		else if (record.header.type == PERF_RECORD_LOST)
			mapped(ctx, 0, time);
		at += record.header.size;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

void mmap_events_read(mmap_event_fn mapped, void *ctx)
{
	for (uint32_t i = 0; i < events.nr; i++)
		ring_read_events(&events.rings[i], mapped, ctx);
}

void mmap_events_stop(void)
{
	while (events.nr) {
		struct mmap_ring *r = &events.rings[--events.nr];

		munmap(r->page, (PAGES + 1) * events.page);
		close(r->fd);
	}
}
