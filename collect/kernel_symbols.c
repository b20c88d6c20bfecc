// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes the frames of the kernel's part of a stack, and sends the names of kernel functions
 * when they first occur. */
#include "collect/kernel_symbols.h"
#include "collect/descend.h"
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/stream.h"

#include "collect/kernel_names.h"

/* Symbols that were already sent to the front. */
struct kernel_symbols {
	uint32_t *reported; /* a bit for each name of kernel_names.h */
	uint32_t calls_sent[PT_SYSCALLS / 32];
	bool fault_sent;
};

void kernel_names_look(struct collector *c)
{
	if (c->names_looked)
		return;
	c->names_looked = true;
	if (!kernel_names_count())
		send_note(c, NOTE_WARNING,
			  "the names of the kernel's functions are hidden, so kernel stacks are "
			  "missing and causes inside of the kernel are told in general words only; "
			  "check CAP_SYSLOG and kernel.kptr_restrict");
}

void kernel_symbols_load(struct collector *c)
{
	struct kernel_symbols *k;

	if (c->symbols)
		return;
	k = c->symbols = calloc(1, sizeof(*k));
	if (k)
		k->reported = calloc(kernel_names_count() / 32 + 1, sizeof(*k->reported));
	kernel_names_look(c);
}

void kernel_symbols_free(struct collector *c)
{
	if (!c->symbols)
		return;
	free(c->symbols->reported);
	free(c->symbols);
	c->symbols = NULL;
}

static void symbol_send(struct collector *c, uint64_t offset, const char *symbol,
			const char *function)
{
	send_record(c, &(struct record){.type = REC_SYMBOL,
					.symbol = {.module = REC_KERNEL_MODULE,
						   .offset = offset,
						   .symbol = symbol,
						   .function = function,
						   .file = ""}});
}

/* A frame for the reason why the thread is in the kernel: the system call or a page fault. */
static struct rec_frame call_frame(struct collector *c, int64_t nr)
{
	struct kernel_symbols *k = c->symbols;
	uint64_t offset =
	    nr >= 0 && nr < PT_SYSCALLS ? REC_KERNEL_CALL | (uint64_t)nr : REC_KERNEL_FAULT;
	char name[64];

	if (offset == REC_KERNEL_FAULT) {
		if (!k->fault_sent)
			symbol_send(c, offset, "", "page fault");
		k->fault_sent = true;
	} else if (!(k->calls_sent[nr / 32] & 1u << nr % 32)) {
		syscall_op_name((uint32_t)nr, name, sizeof(name));
		symbol_send(c, offset, "", name);
		k->calls_sent[nr / 32] |= 1u << nr % 32;
	}
	return (struct rec_frame){
	    .module = REC_KERNEL_MODULE, .offset = offset, .function = offset};
}

static bool begins_with(const char *s, const char *begin)
{
	return !strncmp(s, begin, strlen(begin));
}

/* True for the entry code of the kernel, which all stacks share: the system call stands for
 * it. */
static bool is_entry(const char *s)
{
	return begins_with(s, "entry_SYSCALL") || begins_with(s, "do_syscall_") ||
	       begins_with(s, "x64_sys_call") || begins_with(s, "__x64_sys_") ||
	       begins_with(s, "__se_sys_") || begins_with(s, "__do_sys_") ||
	       begins_with(s, "asm_") || begins_with(s, "exc_page_fault") ||
	       begins_with(s, "do_user_addr_fault") || begins_with(s, "ret_from_fork");
}

/* True for the scheduler's own functions. Only the function that wanted to sleep matters. */
static bool is_schedule(const char *s)
{
	return begins_with(s, "__schedule") || !strcmp(s, "schedule") ||
	       begins_with(s, "schedule_preempt");
}

static const char *name_of(uint64_t address)
{
	const char *name = kernel_name(address);

	return name ? name : "";
}

static struct rec_frame frame_of(struct collector *c, uint64_t address)
{
	struct kernel_symbols *k = c->symbols;
	uint64_t base = kernel_names_base();
	struct kernel_place p;

	if (!kernel_place_of(address, &p))
		return (struct rec_frame){.module = REC_KERNEL_MODULE,
					  .offset = address - base,
					  .function = address - base};
	if (!(k->reported[p.index / 32] & 1u << p.index % 32)) {
		symbol_send(c, p.start - base, p.name, p.name);
		k->reported[p.index / 32] |= 1u << p.index % 32;
	}
	return (struct rec_frame){
	    .module = REC_KERNEL_MODULE, .offset = address - base, .function = p.start - base};
}

uint64_t kernel_symbol_named(struct collector *c, const char *name)
{
	uint64_t address = kernel_name_address(name);

	kernel_symbols_load(c);
	if (address && c->symbols && c->symbols->reported)
		return frame_of(c, address).function;
	symbol_send(c, 0, name, name);
	return 0;
}

uint32_t kernel_stack_programs(const uint64_t *innermost_first, uint32_t nr)
{
	const char *names[PT_KERNEL_FRAMES];

	for (uint32_t i = 0; i < nr; i++)
		names[i] = kernel_name(innermost_first[i]);
	return (uint32_t)kernel_names_of_programs(names, nr);
}

/* The index of the innermost relevant frame, of those from `first` on: skip the last steps of going
 * to sleep. If the frames are call sites to be probed, also of a thread that is on its CPU. */
static uint32_t first_that_counts(const struct collector *c, const struct pt_record_stack *r,
				  uint32_t first, uint32_t nr)
{
	for (uint32_t i = first; (r->sleeps || descend_goes_into_kernel(c)) && i < nr; i++) {
		if (is_schedule(name_of(r->kernel[i])))
			first = i + 1;
	}
	return first;
}

/* True if the thread is in the kernel for a system call or a page fault, not for an interrupt. */
static bool has_reason(const struct pt_record_stack *r, uint32_t nr)
{
	for (uint32_t i = 0; r->syscall < 0 && i < nr; i++) {
		if (begins_with(name_of(r->kernel[i]), "asm_exc_page_fault"))
			return true;
	}
	return r->syscall >= 0;
}

/*
 * A frame of the kernel's entry code, which is left out. The next frame is called from it: the
 * frame that stands for the entry tells from where, if the callees of that one can be probed.
 */
static uint32_t entry_frame(struct collector *c, uint64_t address, struct rec_frame *out,
			    uint32_t n)
{
	if (!descend_goes_into_kernel(c))
		return n;
	if (n && begins_with(name_of(address), "asm_exc_page_fault"))
		out[n++] = call_frame(c, -1);
	if (n && out[n - 1].function & REC_KERNEL_CALL)
		out[n - 1].offset = address - kernel_names_base();
	return n;
}

uint32_t kernel_frames(struct collector *c, const struct pt_record_stack *r, uint32_t programs,
		       struct rec_frame *out)
{
	uint32_t n = 0, nr = r->nr_kernel < PT_KERNEL_FRAMES ? r->nr_kernel : PT_KERNEL_FRAMES,
		 first;

	if (!nr || !c->symbols || !c->symbols->reported || !kernel_names_count())
		return 0;
	if (has_reason(r, nr))
		out[n++] = call_frame(c, r->syscall);
	first = first_that_counts(c, r, programs, nr);
	for (uint32_t i = nr; i > first; i--) {
		const char *name = name_of(r->kernel[i - 1]);

		if (is_entry(name))
			n = entry_frame(c, r->kernel[i - 1], out, n);
		else if (*name && !begins_with(name, "bpf_trampoline_"))
			out[n++] = frame_of(c, r->kernel[i - 1]);
	}
	return n;
}
