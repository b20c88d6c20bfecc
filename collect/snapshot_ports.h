/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the TCP ports that are listened on in the network namespace of a process. */
#pragma once

#include "bpf/records.h"

/* No more network namespaces are known at a time. */
enum { NETWORKS = 8 };

/* The ports of some network namespaces; begins as zeros. */
struct known_ports {
	struct {
		uint64_t network; /* inode of the namespace; 0: unused */
		uint64_t at_ns;
		uint32_t nr_ports, port[PT_PORTS];
	} list[NETWORKS];
};

bool port_is_listened(uint32_t pid, uint32_t port);
/*
 * Fill the ports of `out`: the first PT_PORTS. A server seldom begins to listen: the ports of a
 * namespace are read once a second, however many processes are in it, and those of at most NETWORKS
 * namespaces a second. Returns false if the ports are not known.
 */
bool ports_find(struct known_ports *known, uint32_t pid, uint64_t now, struct pt_polled *out);
