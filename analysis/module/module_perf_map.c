// SPDX-License-Identifier: GPL-2.0-or-later
/* Maps of code that was made at run time, as compilers write them for perf to /tmp/perf-PID.map: a
 * line for each function, "START SIZE NAME" with hexadecimal numbers
 * (linux/tools/perf/Documentation/jit-interface.txt). Such a map is a module without code: offsets
 * in it are addresses of the process. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "analysis/module/module_internal.h"

enum { MAX_MAP = 64 << 20, MAX_MAP_FUNCTIONS = 1 << 20, READ_PER_REQUEST = 64 << 10 };
/* What a process can map. */
#define ADDRESSES (1ull << 47)

bool module_is_perf_map_name(const char *name)
{
	size_t n = strlen(name);

	return n > 9 && !strncmp(name, "perf-", 5) && strspn(name + 5, "0123456789") == n - 9 &&
	       !strcmp(name + n - 4, ".map");
}

int module_open_perf_map(struct module **out, int fd)
{
	struct module *m = calloc(1, sizeof(*m));
	struct stat st;

	*out = NULL;
	if (!m)
		return -ENOMEM;
	m->debug.fd = m->debugdata.fd = -1;
	buf_init(&m->extra, MAX_EXTRA_NAMES);
	m->image.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (m->image.fd < 0 || fstat(m->image.fd, &st)) {
		int err = -errno;

		module_free(m);
		return err;
	}
	m->is_perf_map = true;
	m->image.size = (uint64_t)st.st_size;
	m->segments[m->nr_segments++] = (struct module_segment){.size = ADDRESSES};
	m->frames_loaded = m->lines_tried = m->debugdata_tried = true;
	m->identity.type = MODULE_DYN;
	m->identity.size = m->image.size;
	*out = m;
	return 0;
}

bool module_is_perf_map(const struct module *m)
{
	return m->is_perf_map;
}

/* Its writer appends as it compiles, and what it compiles last is often what runs most. Reading the
 * map again costs at most READ_PER_REQUEST bytes for each request, or the map has grown by a
 * part. */
bool module_perf_map_grew(const struct module *m, uint64_t requests)
{
	struct stat st;

	if (!m->is_perf_map || fstat(m->image.fd, &st) || (uint64_t)st.st_size <= m->image.size)
		return false;
	return (uint64_t)st.st_size > m->image.size + m->image.size / 8 ||
	       m->image.size / READ_PER_REQUEST < requests;
}

static char *text_read(struct module *m, size_t *len)
{
	size_t size = m->image.size < MAX_MAP ? m->image.size : MAX_MAP, n = 0;
	char *text = malloc(size + 1);

	while (text && n < size) {
		ssize_t got = pread(m->image.fd, text + n, size - n, (off_t)n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (text)
		text[n] = '\0';
	m->truncated |= m->image.size > MAX_MAP;
	*len = n;
	return text;
}

/* "START SIZE NAME" in place. False: this line is none. */
static bool line_parse(char *line, struct module_function *f)
{
	char *end;

	errno = 0;
	f->vaddr = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end;
	f->size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || errno || !f->size || f->vaddr >= ADDRESSES ||
	    f->size > ADDRESSES - f->vaddr)
		return false;
	f->offset = f->vaddr;
	f->symbol = end + strspn(end, " ");
	return *f->symbol != '\0';
}

/* The order of the lines is that of the pointers to their names. */
static int function_order(const void *a, const void *b)
{
	const struct module_function *x = a, *y = b;

	return ascending(x->vaddr, y->vaddr) ?: ascending(x->symbol, y->symbol);
}

/* Memory is used again: of several functions at one address the last is there. */
static void keep_last(struct module *m)
{
	size_t kept = 0;

	qsort(m->functions, m->nr_functions, sizeof(*m->functions), function_order);
	for (size_t i = 0; i < m->nr_functions; i++) {
		if (kept && m->functions[kept - 1].vaddr == m->functions[i].vaddr)
			kept--;
		m->functions[kept++] = m->functions[i];
	}
	m->nr_functions = kept;
}

int module_perf_map_functions(struct module *m)
{
	size_t len, cap = 0;
	char *text = text_read(m, &len), *line, *next;

	if (!text)
		return -ENOMEM;
	m->strings[FUNCTION_SYMTAB] = (struct strings){text, len};
	for (line = text; *line; line = next) {
		struct module_function f = {.sized = true};
		size_t n = strcspn(line, "\n");

		next = line + n + (line[n] == '\n');
		/* a last line without an end is being written */
		if (line[n] != '\n')
			break;
		line[n] = '\0';
		if (!line_parse(line, &f))
			continue;
		if (m->nr_functions == MAX_MAP_FUNCTIONS) {
			m->truncated = true;
			break;
		}
		if (array_append(m->functions, m->nr_functions, cap, MAX_MAP_FUNCTIONS, f))
			return -ENOMEM;
	}
	if (m->nr_functions)
		keep_last(m);
	return 0;
}
