// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/parser/frames.h"

static struct rec_frame frame_of(const struct parsed_frame *f)
{
	return (struct rec_frame){
	    .module = f->module, .offset = f->offset, .function = f->function};
}

uint32_t frames_callers(const struct parsed_frames *a, struct rec_frame *out, uint32_t max)
{
	uint32_t nr = a->nr < max ? a->nr : max;

	for (uint32_t i = 0; i < nr; i++)
		out[i] = frame_of(&a->frames[i]);
	if (nr && a->stop) {
		nr = nr < max ? nr + 1 : nr;
		out[nr - 1] = (struct rec_frame){.function = CALLERS_UNKNOWN};
	}
	return nr;
}

uint32_t frames_kernel_callers(const struct rec_frame *kernel, uint32_t nr, struct rec_code f0,
			       struct rec_frame *callers)
{
	uint32_t above = 0;

	if (f0.offset & REC_KERNEL_CALL)
		return 0;
	while (above < nr && kernel[above].function != f0.offset)
		above++;
	for (uint32_t i = 0; above < nr && i < above; i++)
		callers[i] = kernel[above - 1 - i];
	return above;
}

/* Copy the `nr` innermost frames, starting with the outermost of them. */
static uint32_t inwards(const struct parsed_frames *a, uint32_t nr, struct rec_frame *out,
			uint32_t max)
{
	if (nr > max)
		return 0;
	for (uint32_t i = 0; i < nr; i++)
		out[i] = frame_of(&a->frames[nr - 1 - i]);
	return nr;
}

uint32_t frames_outermost_first(const struct parsed_frames *a, struct rec_frame *out, uint32_t max)
{
	return inwards(a, a->nr, out, max);
}

uint32_t frames_from_function(const struct parsed_frames *a, struct rec_code function,
			      struct rec_frame *out, uint32_t max)
{
	for (uint32_t i = a->nr; i > 0; i--) {
		if (a->frames[i - 1].module == function.module &&
		    a->frames[i - 1].function == function.offset)
			return inwards(a, i, out, max);
	}
	return 0;
}

uint32_t frames_from_cfa(const struct parsed_frames *a, uint64_t cfa, struct rec_frame *out,
			 uint32_t max)
{
	for (uint32_t i = 0; i < a->nr; i++) {
		if (a->frames[i].cfa == cfa)
			return inwards(a, i + 1, out, max);
	}
	return 0;
}
