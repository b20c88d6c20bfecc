// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/snapshot_ports.h"

#include "collect/process/live_thread.h"
#include "collect/process/small_file.h"

enum { TCP_LISTEN = 10, MAX_LISTENERS = 4096, PORTS_KNOWN_NS = 1000000000 };

/*
 * Calls `each` for the ports that are listened on in the network namespace of a process, until it
 * returns true; returns that. The kernel lists the sockets that listen first, so the number of
 * connections of the host does not matter.
 */
static bool find_listener(uint32_t pid, const char *table, bool (*each)(void *ctx, uint32_t port),
			  void *ctx)
{
	FILE *f = small_file_open("/proc/%d/net/%s", proc_number((pid_t)pid), table);
	unsigned int own, state;
	bool found = false;
	char line[512];

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f)) /* the headings */
		line[0] = '\0';
	for (int i = 0; i < MAX_LISTENERS && !found && fgets(line, sizeof(line), f); i++) {
		if (sscanf(line, " %*[^:]: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &own, &state) != 2 ||
		    state != TCP_LISTEN)
			break;
		found = each(ctx, own);
	}
	fclose(f);
	return found;
}

static bool is_port(void *ctx, uint32_t port)
{
	return port == *(const uint32_t *)ctx;
}

bool port_is_listened(uint32_t pid, uint32_t port)
{
	return find_listener(pid, "tcp", is_port, &port) ||
	       find_listener(pid, "tcp6", is_port, &port);
}

/* Adds a port that is not in the list yet. Returns true if the list is full. */
static bool port_add(void *ctx, uint32_t port)
{
	struct pt_polled *p = ctx;

	for (uint32_t i = 0; i < p->nr_ports; i++) {
		if (p->port[i] == port)
			return false;
	}
	p->port[p->nr_ports++] = port;
	return p->nr_ports == PT_PORTS;
}

bool ports_find(struct known_ports *known, uint32_t pid, uint64_t now, struct pt_polled *out)
{
	uint64_t network;
	uint32_t i = 0, oldest = 0;
	char link[64];

	small_file_link(link, sizeof(link), "/proc/%d/ns/net", proc_number((pid_t)pid));
	if (sscanf(link, "net:[%" SCNu64, &network) != 1)
		return false;
	while (i < NETWORKS && known->list[i].network != network) {
		if (known->list[i].at_ns < known->list[oldest].at_ns)
			oldest = i;
		i++;
	}
	if (i == NETWORKS)
		i = oldest;
	out->nr_ports = 0;
	if (!known->list[i].network || now - known->list[i].at_ns > PORTS_KNOWN_NS) {
		if (!find_listener(pid, "tcp", port_add, out))
			find_listener(pid, "tcp6", port_add, out);
		known->list[i].network = network;
		known->list[i].at_ns = now;
		known->list[i].nr_ports = out->nr_ports;
		memcpy(known->list[i].port, out->port, sizeof(out->port));
	}
	if (known->list[i].network != network)
		return false;
	out->nr_ports = known->list[i].nr_ports;
	memcpy(out->port, known->list[i].port, sizeof(out->port));
	return true;
}
