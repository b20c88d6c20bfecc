// SPDX-License-Identifier: GPL-2.0-or-later
/* The gates of the tracepoint layers: calls count that begin while the gate of their layer is
 * open. */
#include "collect/keep.h"
#include "collect/kernel_side.h"
#include "collect/state.h"
#include "collect/units.h"

/* Open the gate of a layer (`now`) or close it (0): its calls count while the gate is open. */
static void gate_open(struct collector *c, enum layer layer, uint64_t now)
{
	__atomic_store_n(&kernel_side_control(c->kernel)->gate_ns[layer], now, __ATOMIC_SEQ_CST);
}

enum layer unit_gate(enum unit u)
{
	return u == UNIT_SYSCALLS ? LAYER_SYSCALL : LAYER_RUNQUEUE;
}

void unit_gate_open(struct collector *c, enum unit u)
{
	struct armed_clock now = clock_now(c);

	gate_open(c, unit_gate(u), now.ns);
	armed_on(&c->units[u].time, now);
}

void unit_gate_close(struct collector *c, enum unit u)
{
	struct armed_clock now;

	gate_open(c, unit_gate(u), 0);
	now = clock_now(c);
	armed_off(&c->units[u].time, now.ns, now);
}

void unit_burst_count(struct collector *c, enum unit u)
{
	struct pt_control *control = kernel_side_control(c->kernel);

	if (u == UNIT_SYSCALLS) {
		control->sys_burst++;
		control->uring_open = 0;
	} else {
		control->sched_burst++;
	}
}

/* The gates of layers that are no units. */
static void plain_gates_open(struct collector *c, uint32_t layers, uint64_t now)
{
	static const enum layer gates[] = {LAYER_KERNEL, LAYER_BLOCK, LAYER_LOCK, LAYER_URING,
					   LAYER_NET};

	for (size_t i = 0; i < sizeof(gates) / sizeof(gates[0]); i++)
		if (layers & 1u << gates[i])
			gate_open(c, gates[i], now);
}

void units_layers_begin(struct collector *c, uint32_t layers)
{
	const uint32_t calls = 1u << LAYER_SYSCALL | 1u << LAYER_LOCK | 1u << LAYER_URING;

	if (layers & calls)
		unit_burst_count(c, UNIT_SYSCALLS);
	if (layers & 1u << LAYER_RUNQUEUE)
		unit_burst_count(c, UNIT_SCHED);
	units_layers(c);
	if (layers & 1u << LAYER_RUNQUEUE)
		keep_burst_begins(c);
	if (kernel_side_control(c->kernel)->gate_ns[LAYER_KERNEL])
		plain_gates_open(c, layers, now_ns());
}

void gates_open(struct collector *c)
{
	plain_gates_open(c, UINT32_MAX, now_ns());
	for (enum unit u = 0; u < UNITS; u++) {
		if (c->units[u].state == FUNCTION_ON)
			unit_gate_open(c, u);
	}
}

void gates_close(struct collector *c)
{
	plain_gates_open(c, UINT32_MAX, 0);
	for (enum unit u = 0; u < UNITS; u++)
		unit_gate_close(c, u);
}
