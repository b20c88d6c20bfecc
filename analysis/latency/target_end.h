/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a target ended, in words: by itself, or killed by a signal while it was measured. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "analysis/session/record.h"

/* The signal that killed the process; 0: none did, or it is not known how the process ended. */
unsigned int target_end_signal(const struct rec_target_end *end);
/* True if the process dumped core. */
bool target_end_has_core(const struct rec_target_end *end);
/* True if a signal killed the process and the user must be told. False if peaktop had started the
 * process and it was asked to end: Ctrl-C and the end of a terminal, a job or a service reach
 * both. */
bool target_end_is_death(const struct rec_target_end *end);
/* "SIGSEGV"; "signal 35" for one without a name. */
struct text target_end_signal_name(unsigned int signal);
/* Append a sentence about a death: which process, which signal, and whether probes were in its
 * code. The name of the process is not sanitised. */
void target_end_words(struct buf *out, const struct rec_target *t,
		      const struct rec_target_end *end);
