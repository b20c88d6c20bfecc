// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/code_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/process/live_thread.h"
#include "collect/reader.h"

/* Bits of an entry of /proc/PID/pagemap. */
#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_OF_FILE (1ull << 61)

enum { PAGE = 4096, PIECES = 2048 };

struct compare_order {
	uint32_t nr;
	bool several; /* of several processes: an error of one does not end the comparison */
	struct code_piece one[PIECES];
};

_Static_assert(sizeof(struct compare_order) <= READER_MAX_ARGUMENT, "pieces of one request");

/* What the reader has open of the process. */
struct code_source {
	pid_t pid;
	int pagemap, memory, file;   /* -1: not open */
	uint64_t map_start, map_end; /* the mapping whose file is open */
};

static int open_of(pid_t pid, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* 1: the process has a copy of its own of a page with these bytes; 0: it has the file's; -ESRCH. */
static int is_private(const struct code_source *s, uint64_t address, size_t length)
{
	uint64_t first = address / PAGE, n = (address + length - 1) / PAGE - first + 1, entry[2];
	ssize_t size = (ssize_t)(n * sizeof(entry[0]));

	if (s->pagemap < 0)
		return 1;
	if (pread(s->pagemap, entry, (size_t)size, (off_t)(first * sizeof(entry[0]))) != size)
		return -ESRCH;
	for (uint64_t i = 0; i < n; i++) {
		if (entry[i] & PAGE_SWAPPED ||
		    (entry[i] & PAGE_PRESENT && !(entry[i] & PAGE_OF_FILE)))
			return 1;
	}
	return 0;
}

static bool memory_read(struct code_source *s, uint64_t address, uint8_t *to, size_t length)
{
	struct iovec local = {.iov_base = to, .iov_len = length},
		     remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = length};

	if (process_vm_readv(s->pid, &local, 1, &remote, 1, 0) == (ssize_t)length)
		return true;
	/* code may be mapped for execution only */
	if (s->memory < 0)
		s->memory = open_of(s->pid, "mem");
	return s->memory >= 0 && pread(s->memory, to, length, (off_t)address) == (ssize_t)length;
}

static bool file_read(struct code_source *s, const struct code_piece *p, uint8_t *to, size_t length)
{
	char name[64];

	if (s->file < 0 || p->map_start != s->map_start || p->map_end != s->map_end) {
		if (s->file >= 0)
			close(s->file);
		snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, p->map_start,
			 p->map_end);
		s->file = open_of(s->pid, name);
		s->map_start = p->map_start;
		s->map_end = p->map_end;
	}
	return s->file >= 0 && pread(s->file, to, length, (off_t)p->offset) == (ssize_t)length;
}

/* True if the kernel has mapped the code at this address for its uprobes. A process cannot choose
 * this name for a mapping without a file. */
static bool is_of_uprobes(pid_t pid, uint64_t address)
{
	char line[512], name[64];
	unsigned long inode;
	uint64_t start, end;
	bool found = false;
	FILE *maps;

	snprintf(line, sizeof(line), "/proc/%d/maps", pid);
	maps = fopen(line, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		name[0] = '\0';
		found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %*s %lu %63s", &start, &end,
			       &inode, name) == 4 &&
			address >= start && address < end && !inode &&
			!strcmp(name, "[uprobes-trampoline]");
	}
	if (maps)
		fclose(maps);
	return found;
}

static int piece_compare(struct code_source *s, struct code_piece *p)
{
	size_t length = p->length ? p->length : CODE_MAX_BYTES;
	uint8_t memory[CODE_MAX_BYTES], file[CODE_MAX_BYTES];
	int private = is_private(s, p->address, length);

	if (private < 0)
		return private;
	p->state = CODE_AS_IN_FILE;
	if (!private)
		return 0;
	if (!memory_read(s, p->address, memory, length) || !file_read(s, p, file, length)) {
		p->state = CODE_UNREADABLE;
		return 0;
	}
	p->state = (uint8_t)code_compare(file, memory, length);
	if (p->state == CODE_CALL_AT_NOP)
		p->state = is_of_uprobes(s->pid, code_call_target(memory, p->address))
			       ? CODE_BREAKPOINT
			       : CODE_CHANGED;
	return 0;
}

static void source_close(const struct code_source *s)
{
	if (s->pagemap >= 0)
		close(s->pagemap);
	if (s->memory >= 0)
		close(s->memory);
	if (s->file >= 0)
		close(s->file);
}

/* 0 for a kernel without pagemaps, on which all is read; -ESRCH if the process has ended. */
static int process_is_there(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return access(path, F_OK) ? -ESRCH : 0;
}

/* The first `n` pieces, which are of one process. */
static int process_compare(struct code_piece *pieces, uint32_t n)
{
	struct code_source s = {.pid = proc_number(pieces->pid), .memory = -1, .file = -1};
	int err = 0;

	s.pagemap = open_of(s.pid, "pagemap");
	if (s.pagemap < 0)
		err = errno == ENOENT ? process_is_there(pieces->pid) : -errno;
	for (uint32_t i = 0; i < n && !err; i++)
		err = piece_compare(&s, &pieces[i]);
	source_close(&s);
	return err;
}

static int64_t compare_work(void *argument, int *unused)
{
	struct compare_order *o = argument;
	uint32_t n;

	(void)unused;
	for (uint32_t i = 0; i < o->nr; i += n) {
		int err;

		for (n = 1; i + n < o->nr && o->one[i + n].pid == o->one[i].pid;)
			n++;
		reader_reads(o->one[i].pid);
		err = process_compare(&o->one[i], n);
		if (err && !o->several)
			return err;
		for (uint32_t k = i; k < i + n && err; k++)
			o->one[k].state = CODE_UNREADABLE;
	}
	return 0;
}

static int compare(struct code_piece *pieces, size_t n, bool several)
{
	size_t size = offsetof(struct compare_order, one) + n * sizeof(*pieces);
	struct compare_order *o = malloc(size);
	int err;

	if (!o)
		return -ENOMEM;
	o->nr = (uint32_t)n;
	o->several = several;
	memcpy(o->one, pieces, n * sizeof(*pieces));
	err = (int)reader_call(pieces->pid, READER_CODE, compare_work, o, size, NULL);
	if (!err)
		memcpy(pieces, o->one, n * sizeof(*pieces));
	free(o);
	return err;
}

int code_memory_compare(pid_t pid, struct code_piece *pieces, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n; i++)
		pieces[i].pid = pid;
	for (size_t done = 0, some; done < n && !err; done += some) {
		some = n - done < PIECES ? n - done : PIECES;
		err = compare(pieces + done, some, false);
	}
	return err;
}

void code_memory_compare_all(struct code_piece *pieces, size_t n)
{
	for (size_t done = 0, some; done < n; done += some) {
		some = n - done < PIECES ? n - done : PIECES;
		if (!compare(pieces + done, some, true))
			continue;
		for (size_t i = done; i < done + some; i++)
			pieces[i].state = CODE_UNREADABLE;
	}
}

struct survey_order {
	pid_t pid;
	struct code_survey survey;
};

/* Compare the page at `address` with the file, if it is private. */
static int page_survey(struct code_source *s, struct code_survey *v, uint64_t address)
{
	struct code_piece p = {.address = address,
			       .offset = v->offset + (address - v->map_start),
			       .map_start = v->map_start,
			       .map_end = v->map_end};
	uint8_t memory[PAGE], file[PAGE] = {0};
	int private = is_private(s, address, PAGE);
	size_t first = 0, n;

	if (private <= 0)
		return private;
	/* the file may end within its last page: the rest of that is no code */
	if (!memory_read(s, address, memory, PAGE) || !file_read(s, &p, file, PAGE))
		return 0;
	n = code_differences(file, memory, PAGE, &first);
	if (n && !v->bytes)
		v->first = p.offset + first;
	v->bytes += (uint32_t)n;
	return 0;
}

static int64_t survey_work(void *argument, int *unused)
{
	struct survey_order *o = argument;
	struct code_source s = {.pid = proc_number(o->pid), .memory = -1, .file = -1};
	int err = 0;

	(void)unused;
	s.pagemap = open_of(s.pid, "pagemap");
	if (s.pagemap < 0)
		return -errno;
	for (uint64_t at = o->survey.map_start; at < o->survey.map_end && !err; at += PAGE) {
		reader_reads(o->pid);
		err = page_survey(&s, &o->survey, at);
	}
	source_close(&s);
	return err;
}

int code_memory_survey(pid_t pid, struct code_survey *survey)
{
	struct survey_order o = {.pid = pid, .survey = *survey};
	int err = (int)reader_call(pid, READER_CODE, survey_work, &o, sizeof(o), NULL);

	*survey = o.survey;
	return err;
}
