// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * culprit_softirq SECONDS KIND: the CPU serves the network in the middle of slow calls. One
 * datagram to a group of many members on the loopback interface is handed to each of them in
 * softirq NET_RX: on the CPU that sends (sent), or on that of an innocent thread, to which the
 * interface steers what another process, "flooder", sends (steered).
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "culprit.h"

enum { MEMBERS = 900, PORT = 9 };

static struct sockaddr_in group = {.sin_family = AF_INET};
static int sender, poke[2], begun[2];
static bool steered;

/* An own network, whose loopback interface is up. */
static void network_begin(void)
{
	struct ifreq lo = {.ifr_name = "lo"};
	int s;

	if (unshare(CLONE_NEWNET | CLONE_NEWNS))
		skip("no network of its own");
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0 || ioctl(s, SIOCGIFFLAGS, &lo))
		skip("lo");
	lo.ifr_flags |= IFF_UP | IFF_MULTICAST;
	if (ioctl(s, SIOCSIFFLAGS, &lo))
		skip("lo");
	close(s);
}

/* What arrives on the interface is handled on this CPU. */
static void steer_to(int cpu)
{
	char mask[16];
	int fd, n = snprintf(mask, sizeof(mask), "%x", 1u << (cpu & 31));

	if (cpu > 31 || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip("no second CPU, or too many");
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL))
		skip("sysfs");
	fd = open("/sys/class/net/lo/queues/rx-0/rps_cpus", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, mask, (size_t)n) != n)
		skip("rps_cpus");
	close(fd);
}

/* The members never read: what they cannot hold is dropped, also in the softirq. */
static void members_begin(void)
{
	struct ip_mreqn here = {.imr_ifindex = (int)if_nametoindex("lo")};
	int k, s, yes = 1;

	group.sin_port = htons(PORT);
	inet_pton(AF_INET, "239.1.2.3", &group.sin_addr);
	here.imr_multiaddr = group.sin_addr;
	for (k = 0; k < MEMBERS; k++) {
		s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (s < 0 || setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
		    bind(s, (struct sockaddr *)&group, sizeof(group)) ||
		    setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &here, sizeof(here)))
			skip("members");
	}
	sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sender < 0 || setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &here, sizeof(here)))
		skip("sender");
}

WATCHED void announce(int datagrams)
{
	for (; datagrams > 0; datagrams--)
		if (sendto(sender, "x", 1, 0, (struct sockaddr *)&group, sizeof(group)) != 1)
			die("sendto");
	KEEP(bystander(1));
}

/* Of the CPUs any but that one. */
static void flood(int not )
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("sched_getaffinity");
	CPU_CLR(not, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
	scheduled(SCHED_FIFO, 5);
	for (;;) {
		uint64_t told;

		byte_take(poke[0]);
		byte_send(begun[1]);
		/* who was asleep is to be in the middle of its call */
		for (told = now_ns(); now_ns() - told < 60000;)
			;
		announce(30);
	}
}

WATCHED void innocent(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	if (!steered && i % 4 == 0)
		announce(1);
	if (steered && i % 4 == 0)
		innocent(200);
	KEEP(bystander(i));
}

WATCHED void request(uint64_t i)
{
	if (steered && i % 4 == 0) {
		byte_send(poke[1]);
		byte_take(begun[0]);
	}
	serve(i);
}

int main(int argc, char **argv)
{
	int cpu;

	target_begin(&argc, &argv);
	steered = argc > 2 && !strcmp(argv[2], "steered");
	if (pipe(poke) || pipe(begun))
		die("pipe");
	network_begin();
	cpu = sched_getcpu();
	if (steered)
		steer_to(cpu);
	members_begin();
	if (steered && !child_run("flooder"))
		flood(cpu);
	pin_to(cpu);
	return culprit_run(argc, argv, request, 300);
}
