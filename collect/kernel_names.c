// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_names.h"
#include "analysis/base/array.h"

enum { MAX_NAMES = 1 << 20, MAX_TEXT = 64 << 20 };

/* Packed, because there are more than a hundred thousand. */
struct __attribute__((packed)) name {
	uint64_t address;
	uint32_t text; /* offset in `texts` */
};

static struct name *names;
static char *texts;
static size_t nr_names, cap_names, text_bytes, cap_text;
static uint64_t base;
static bool tried;

static const struct kernel_side *iterated;
static kernel_names_iterator iterate;

void kernel_names_fall_back(const struct kernel_side *k, kernel_names_iterator iterator)
{
	iterated = k;
	iterate = iterator;
}

void kernel_names_release(void)
{
	free(names);
	free(texts);
	names = NULL;
	texts = NULL;
	nr_names = cap_names = text_bytes = cap_text = 0;
	tried = false;
}

static bool room(size_t bytes)
{
	return !array_grow(names, nr_names, cap_names, MAX_NAMES) &&
	       !array_fit(texts, text_bytes + bytes, cap_text, MAX_TEXT);
}

static int by_address(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return ascending(x->address, y->address) ?: ascending(x->text, y->text);
}

static void name_add(uint64_t address, const char *name)
{
	size_t n = strlen(name) + 1;

	if (!strcmp(name, "_stext"))
		base = address;
	if (!room(n))
		return;
	names[nr_names++] = (struct name){address, (uint32_t)text_bytes};
	memcpy(texts + text_bytes, name, n);
	text_bytes += n;
}

static void kallsyms_read(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[512], type;
	uint64_t address;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %c %511s", &address, &type, name) == 3 && address &&
		    strchr("tTwW", type))
			name_add(address, name);
	}
	fclose(f);
}

static void names_read(void)
{
	tried = true;
	kallsyms_read();
	/* kernel.kptr_restrict=2 hides the addresses even from root */
	if (!nr_names && iterated)
		iterate(iterated, name_add);
	qsort(names, nr_names, sizeof(*names), by_address);
}

/* Read the names, unless they were read before. */
static void kernel_names_prepare(void)
{
	if (!tried)
		names_read();
}

bool kernel_place_of(uint64_t address, struct kernel_place *out)
{
	size_t low;

	kernel_names_prepare();
	low = lower_bound(i, nr_names, names[i].address <= address);
	if (!low)
		return false;
	low--;
	/* an address may have several names: always choose the same */
	while (low && names[low - 1].address == names[low].address)
		low--;
	*out = (struct kernel_place){
	    .name = texts + names[low].text, .start = names[low].address, .index = low};
	return true;
}

const char *kernel_name(uint64_t address)
{
	struct kernel_place p;

	return kernel_place_of(address, &p) ? p.name : NULL;
}

uint64_t kernel_name_address(const char *name)
{
	const struct name *n;

	kernel_names_prepare();
	n = find_first(i, names, nr_names, !strcmp(texts + names[i].text, name));
	return n ? n->address : 0;
}

size_t kernel_names_count(void)
{
	kernel_names_prepare();
	return nr_names;
}

uint64_t kernel_names_base(void)
{
	return base;
}

size_t kernel_names_of_tracing(const char *const *innermost_first, size_t nr)
{
	static const char *const tracing[] = {"bpf_", "__traceiter_", "__bpf_trace_", "__schedule",
					      NULL};
	size_t own = 0;

	for (size_t i = 0; i < nr; i++) {
		const char *name = innermost_first[i];

		/* code of a BPF program may have no name */
		if (!name)
			continue;
		if (!kernel_name_begins(name, tracing))
			break;
		own = i + 1;
	}
	return own;
}

/* A trampoline runs programs, or calls the function that they trace. */
static bool runs_program(const char *trampoline, const char *callee)
{
	static const char *const trampolines[] = {"bpf_trampoline_", NULL};
	static const char *const programs[] = {"bpf_prog_", "__bpf_prog_", "__bpf_tramp_", NULL};

	return kernel_name_begins(trampoline, trampolines) &&
	       (!callee || kernel_name_begins(callee, programs));
}

size_t kernel_names_of_programs(const char *const *innermost_first, size_t nr)
{
	static const char *const callers[] = {"bpf_trace_run",
					      "__bpf_trace_",
					      "__traceiter_",
					      "trace_call_bpf",
					      "kprobe_multi_link_",
					      "uprobe_multi_link_",
					      NULL};
	size_t own = 0;

	for (size_t i = 0; i < nr; i++) {
		const char *name = innermost_first[i];

		if (kernel_name_begins(name, callers) ||
		    runs_program(name, i ? innermost_first[i - 1] : NULL))
			own = i + 1;
	}
	return own;
}

void kernel_names_line(const uint64_t *innermost_first, size_t nr, char *out, size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = nr; i > 0; i--) {
		/* all but the innermost are return addresses: the byte before such an address
		 * belongs to the caller */
		const char *name = kernel_name(innermost_first[i - 1] - (i > 1));
		int n = name ? snprintf(out + at, size - at, "%s%s", at ? ";" : "", name) : 0;

		if (n < 0 || (size_t)n >= size - at) {
			out[at] = '\0';
			return;
		}
		at += (size_t)n;
	}
}
