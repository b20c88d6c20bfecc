/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks sites before probes are attached: each must be the start of an instruction. The front
 * names the sites, and a compromised front could name the middle of an instruction, which a
 * breakpoint would turn into another instruction. A code reader process without privileges,
 * which has only the module's file (analysis/code/boundary.h), answers, so that neither the
 * front nor another file of the target can influence the answer. Answers are cached.
 */
#pragma once

struct collector;
struct rec_site;

enum { SITE_CHECK_WAIT_MS = 5000 };

/*
 * Check sites in mapped code. Returns NULL if all of them may be probed, else the reason in
 * words, which is valid until the next call.
 */
const char *sites_check(struct collector *c, const struct rec_site *const *sites, size_t nr);
/* The length of the instruction at a site that sites_check() has accepted; 0: not known. */
uint8_t site_length(struct collector *c, uint32_t module, uint64_t offset);
void site_check_release(struct collector *c);
