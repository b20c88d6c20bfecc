/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the clock of steal time that KVM keeps for each virtual CPU. */
#pragma once

struct btf;
struct collector;

/*
 * Returns the address of a CPU's steal time (`steal` in struct kvm_steal_time, ns) minus the
 * address of the CPU's struct rq. Returns 0 if KVM does not run this machine, does not tell the
 * steal time, or `types`, the types of the kernel, do not name both variables.
 */
int64_t steal_offset(const struct btf *types);
/* True if a hypervisor runs this machine, KVM or another one. */
bool steal_is_virtual(void);
/* The steal time of the CPUs 0 to nr - 1 so far in ns, in steps of 10 ms; 0 where it is not known.
 */
void steal_of_cpus(uint64_t *ns, uint32_t nr);
/* Warn the user at the end of a measurement if the hypervisor took much CPU time from this machine
 * and does not tell from which calls. Call steal_begin() when the measurement starts. */
void steal_begin(struct collector *c);
void steal_note(struct collector *c);
