// SPDX-License-Identifier: GPL-2.0-or-later
/* Which processes the name of a target means, over given lists of processes and control groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tui/cli/target_match.h"

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "01234567fedcba980123456789abcdef0123456789abcdef0123456789abcdef"

static struct target_process processes[] = {
    {1, true, "systemd", "systemd", "0::/init.scope\n", 0, 0},
    {2, false, "redis_flush", "", "0::/\n", 0, 0},
    {10, true, "redis-server", "redis-check-rdb", "0::/system.slice/redis.service\n", 0, 0},
    {11, true, "nginx", "nginx", "0::/system.slice/nginx.service\n", 0, 0},
    {12, true, "nginx", "nginx", "0::/system.slice/nginx.service/workers\n", 0, 0},
    {13, true, "a-very-long-nam", "a-very-long-name", "0::/user.slice\n", 0, 0},
    {14, true, "python3", "python3.11", "0::/system.slice/docker-" ID_A ".scope\n", 0, 0},
    {15, true, "sh", "dash", "0::/system.slice/docker-" ID_A ".scope/init\n", 0, 0},
    {16, true, "java", "java", "3:memory:/docker/" ID_B "\n2:name=systemd:/docker/" ID_B "\n0::/\n",
     0, 0},
    {17, true, "conmon", "conmon", "0::/machine.slice/libpod-conmon-" ID_B ".scope\n", 0, 0},
    {18, true, "init", "systemd", "0::/lxc.payload.web/init.scope\n", 0, 0},
    {19, true, "init", "systemd", "0::/machine.slice/machine-my\\x2dbox.scope\n", 0, 0},
};
static const struct target_list list = {processes, sizeof(processes) / sizeof(processes[0])};
static size_t room[sizeof(processes) / sizeof(processes[0])];

/* The pids that a function finds, as "10 11". */
static const char *
pids(void (*match)(const struct target_list *, const char *, struct target_set *), const char *text)
{
	static char out[256];
	struct target_set set = {.at = room};
	size_t n = 0;

	match(&list, text, &set);
	out[0] = '\0';
	for (size_t i = 0; i < set.nr; i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%d", i ? " " : "",
				      (int)list.list[set.at[i]].pid);
	return out;
}

static void a_name_is_the_whole_name(void **state)
{
	assert_string_equal(pids(target_match_name, "nginx"), "11 12");
	assert_string_equal(pids(target_match_name, "redis"), "");
	assert_string_equal(pids(target_match_name, "redis-server"), "10");
	/* the kernel cuts names */
	assert_string_equal(pids(target_match_name, "a-very-long-name"), "13");
	/* else the name of the program */
	assert_string_equal(pids(target_match_name, "python3.11"), "14");
	assert_string_equal(pids(target_match_name, "systemd"), "1");
}

static void a_prefix_means_no_kernel_threads(void **state)
{
	assert_string_equal(pids(target_match_prefix, "redis"), "10");
	assert_string_equal(pids(target_match_prefix, "py"), "14");
	assert_string_equal(pids(target_match_prefix, "ng"), "11 12");
	assert_string_equal(pids(target_match_prefix, "server"), "");
}

static void a_unit_has_all_that_is_below_it(void **state)
{
	assert_string_equal(pids(target_match_unit, "nginx.service"), "11 12");
	assert_string_equal(pids(target_match_unit, "nginx"), "11 12");
	assert_string_equal(pids(target_match_unit, "user.slice"), "13");
	assert_string_equal(pids(target_match_unit, "init.scope"), "1 18");
	assert_string_equal(pids(target_match_unit, "ginx.service"), "");
	assert_true(target_is_unit("redis.service"));
	assert_false(target_is_unit("redis-server"));
	assert_false(target_is_unit(".service"));
}

static void a_control_group_is_a_whole_path(void **state)
{
	assert_string_equal(pids(target_match_cgroup, "/system.slice/nginx.service"), "11 12");
	assert_string_equal(pids(target_match_cgroup, "system.slice/nginx.service/"), "11 12");
	assert_string_equal(pids(target_match_cgroup, "/sys/fs/cgroup/system.slice/nginx.service"),
			    "11 12");
	assert_string_equal(pids(target_match_cgroup, "/system.slice/nginx"), "");
	assert_string_equal(pids(target_match_cgroup, "/nginx.service"), "");
	/* version 1, with its controllers and as it is mounted */
	assert_string_equal(pids(target_match_cgroup, "/docker"), "16");
	assert_string_equal(pids(target_match_cgroup, "/sys/fs/cgroup/memory/docker/" ID_B), "16");
	assert_string_equal(pids(target_match_cgroup, "/sys/fs/cgroup/systemd/docker"), "16");
	assert_string_equal(pids(target_match_cgroup, "/sys/fs/cgroup/pids/docker"), "");
	assert_string_equal(pids(target_match_cgroup, "/sys/fs/cgroup/unified/user.slice"), "13");
	assert_string_equal(pids(target_match_cgroup, "/sys/fs/cgroups/user.slice"), "");
}

static void a_container_is_found_by_its_control_group(void **state)
{
	char id[CONTAINER_ID + 1];

	assert_string_equal(pids(target_match_container, ID_A), "14 15");
	assert_string_equal(pids(target_match_container, "0123456789ab"), "14 15");
	/* two containers, and not podman's monitor */
	assert_string_equal(pids(target_match_container, "01234567"), "14 15 16");
	assert_string_equal(pids(target_match_container, "01234567fe"), "16");
	assert_string_equal(pids(target_match_container, "012"), "");
	assert_string_equal(pids(target_match_container, "89abcdef"), "");
	assert_string_equal(pids(target_match_container, "web"), "18");
	assert_string_equal(pids(target_match_container, "my-box"), "19");
	assert_true(target_container_id(processes[7].cgroups, id));
	assert_string_equal(id, ID_A);
	assert_false(target_container_id(processes[3].cgroups, id));
	assert_false(target_container_id("0::/", id));
	assert_false(target_container_id("damaged\n\n:\n", id));
}

/* The control groups that docker, podman, Kubernetes and systemd make, with both of their drivers.
 */
static void each_runtime_names_its_groups(void **state)
{
	static const char *const containers[] = {
	    "0::/docker/" ID_A "\n",
	    "0::/system.slice/docker-" ID_A ".scope\n",
	    "0::/machine.slice/libpod-" ID_A ".scope/container\n",
	    "0::/libpod_parent/libpod-" ID_A "\n",
	    "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope\n",
	    "0::/kubepods.slice/kubepods-burstable.slice/"
	    "kubepods-burstable-pod2c9b3f8e_7d11_4c3a_9a55_0e1f2d3c4b5a.slice/cri-containerd-" ID_A
	    ".scope\n",
	    "0::/kubepods/burstable/pod2c9b3f8e-7d11-4c3a-9a55-0e1f2d3c4b5a/" ID_A "\n",
	    "0::/kubepods.slice/kubepods-besteffort.slice/crio-" ID_A ".scope\n",
	    "0::/default/" ID_A "\n",
	};
	static const struct {
		const char *unit, *cgroups;
	} units[] = {
	    {"postgresql@15-main.service",
	     "0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n"},
	    {"kubepods.slice",
	     "0::/kubepods.slice/kubepods-besteffort.slice/crio-" ID_A ".scope\n"},
	    {"bar.service",
	     "0::/user.slice/user-1000.slice/user@1000.service/app.slice/bar.service\n"},
	    {"dev-disk\\x2dby.service", "0::/system.slice/dev-disk\\x2dby.service\n"},
	};
	struct target_process one = {.pid = 7, .has_memory = true};
	const struct target_list l = {&one, 1};
	size_t at[1];

	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
		struct target_set set = {.at = at};

		one.cgroups = containers[i];
		target_match_container(&l, "0123456789ab", &set);
		assert_int_equal(set.nr, 1);
		set.nr = 0;
		target_match_container(&l, "0123456789ac", &set);
		assert_int_equal(set.nr, 0);
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		struct target_set set = {.at = at};

		one.cgroups = units[i].cgroups;
		target_match_unit(&l, units[i].unit, &set);
		assert_int_equal(set.nr, 1);
		set.nr = 0;
		target_match_unit(&l, "other.service", &set);
		assert_int_equal(set.nr, 0);
	}
}

static void names_of_containers_are_in_files(void **state)
{
	static const char docker[] = "{\"ID\":\"" ID_A "\",\"Name\":\"/web\",\"Args\":"
				     "[\"{\\\"Name\\\":\\\"/fake\\\"}\"]}";
	static const char podman[] =
	    "[{\"id\":\"" ID_A "\",\"names\":[\"web\"],\"image\":\"x\",\"metadata\":\"db\"},"
	    "{\"id\":\"" ID_B
	    "\",\"names\":[\"other\",\"db\"]},{\"id\":\"short\",\"names\":[\"s\"]}]";
	char id[CONTAINER_ID + 1];

	assert_true(target_is_docker_name(docker, "web"));
	assert_false(target_is_docker_name(docker, "we"));
	assert_false(target_is_docker_name(docker, "fake"));
	assert_true(target_podman_id(podman, "web", id));
	assert_string_equal(id, ID_A);
	assert_true(target_podman_id(podman, "db", id));
	assert_string_equal(id, ID_B);
	assert_false(target_podman_id(podman, "x", id));
	assert_false(target_podman_id(podman, "s", id));
	assert_false(target_podman_id("", "web", id));
	assert_true(target_kubernetes_id("shop-7f_default_cart-" ID_B ".log", "cart", id));
	assert_string_equal(id, ID_B);
	assert_true(target_kubernetes_id("shop-7f_default_cart-" ID_B ".log", "shop-7f", id));
	assert_false(target_kubernetes_id("shop-7f_default_cart-" ID_B ".log", "default", id));
	assert_false(target_kubernetes_id("shop-7f_default_cart-short.log", "cart", id));
	assert_false(target_kubernetes_id("x-" ID_B ".log", "x", id));
}

static void only_names_that_are_near_are_suggested(void **state)
{
	char near[160];

	target_near_names(&list, "ngnix", near, sizeof(near));
	assert_string_equal(near, "nginx");
	target_near_names(&list, "redis", near, sizeof(near));
	assert_string_equal(near, "redis-server");
	target_near_names(&list, "redis-sever", near, sizeof(near));
	assert_string_equal(near, "redis-server");
	target_near_names(&list, "frobnicate", near, sizeof(near));
	assert_string_equal(near, "");
	target_near_names(&list, "nope", near, sizeof(near));
	assert_string_equal(near, "");
	target_near_names(&list, "", near, sizeof(near));
	assert_string_equal(near, "");
	/* no more than the room */
	target_near_names(&list, "redis", near, 6);
	assert_string_equal(near, "redis");
}

static void the_busiest_are_kept(void **state)
{
	struct target_process p[] = {
	    {.pid = 1, .cpu_ticks = 900}, {.pid = 2, .busy_ticks = 1, .cpu_ticks = 1},
	    {.pid = 3, .cpu_ticks = 950}, {.pid = 4, .busy_ticks = 7},
	    {.pid = 5, .cpu_ticks = 900},
	};
	const struct target_list all = {p, sizeof(p) / sizeof(p[0])};
	size_t at[] = {0, 1, 2, 3, 4};
	struct target_set set = {at, sizeof(at) / sizeof(at[0])};

	target_keep_busiest(&all, &set, 9);
	assert_int_equal(set.nr, 5);
	assert_int_equal(set.at[0], 0);
	target_keep_busiest(&all, &set, 4);
	assert_int_equal(set.nr, 4);
	assert_int_equal(p[set.at[0]].pid, 4);
	assert_int_equal(p[set.at[1]].pid, 2);
	assert_int_equal(p[set.at[2]].pid, 3);
	assert_int_equal(p[set.at[3]].pid, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_name_is_the_whole_name),
	    cmocka_unit_test(a_prefix_means_no_kernel_threads),
	    cmocka_unit_test(a_unit_has_all_that_is_below_it),
	    cmocka_unit_test(a_control_group_is_a_whole_path),
	    cmocka_unit_test(a_container_is_found_by_its_control_group),
	    cmocka_unit_test(each_runtime_names_its_groups),
	    cmocka_unit_test(names_of_containers_are_in_files),
	    cmocka_unit_test(the_busiest_are_kept),
	    cmocka_unit_test(only_names_that_are_near_are_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
