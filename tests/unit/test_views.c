// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whole screens against tests/unit/golden: text and role of every cell, drawn
 * from a model that was built from records. UPDATE_GOLDEN=1 writes them anew:
 * look at the difference before it is committed.
 */
#include <locale.h>

#include "tests/unit/screen_harness.h"

static const struct screen_options live = {
    .root = SCREEN_OPERATIONS, .layers = 0x39, .layers_available = 0x3b};
static const struct screen_options ascii = {
    .root = SCREEN_OPERATIONS, .layers = 0x39, .layers_available = 0x3b, .ascii = true};
static const struct screen_options replay = {.root = SCREEN_OPERATIONS, .replay = true};
static const struct screen_options picker = {.root = SCREEN_PICKER, .host = "db1"};

static const struct golden {
	const char *name;
	unsigned int slices;
	const struct screen_options *options;
	const char *script;
} goldens[] = {
    {"waiting", 0, &live, "dump-roles"},
    {"operations-80x24", 40, &live, "key j\ndump-roles"},
    {"operations-120x40", 40, &live, "size 120 40\nkey l R\ndump-roles"},
    {"operations-200x50", 40, &live, "size 200 50\ndump"},
    {"operations-40x12", 40, &live, "size 40 12\ndump-roles"},
    {"operations-20x5", 40, &live, "size 20 5\nkey j j j\ndump-roles"},
    {"operations-ascii", 40, &ascii, "dump-roles"},
    {"operations-filter", 40, &live, "key /\ntype re\ndump-roles\nkey Enter\ndump-roles"},
    {"operations-paused", 40, &live, "key Space\ntick 20\ndump-roles"},
    {"operation-80x24", 40, &live, "key /\ntype read\nkey Enter Enter\ndump-roles"},
    {"operation-first-peak", 40, &live, "key /\ntype read\nkey Enter Enter 1 E\ndump-roles"},
    {"operation-after-a-jump", 75, &live, "key /\ntype read\nkey Enter Enter Tab\ndump-roles"},
    {"operation-bursts", 40, &live, "key /\ntype process\nkey Enter Enter\ndump-roles"},
    {"operation-open-calls", 40, &live, "key /\ntype futex\nkey Enter Enter Tab Tab j\ndump-roles"},
    {"operation-no-calls", 0, &live, "tick\nkey G Enter\ndump"},
    {"operation-200x50", 130, &live, "size 200 50\nkey /\ntype read\nkey Enter Enter E\ndump"},
    {"operation-60x16", 40, &live, "size 60 16\nkey Enter\ndump-roles"},
    {"operation-40x12", 40, &live, "size 40 12\nkey Enter\ndump-roles"},
    {"operation-20x5", 40, &live, "size 20 5\nkey Enter\ndump-roles"},
    {"operation-ascii", 40, &ascii, "key /\ntype read\nkey Enter Enter\ndump-roles"},
    {"layers", 40, &live, "key L j\ndump-roles"},
    {"watch", 40, &live, "key f\ntype pro\ndump-roles"},
    {"replay", 40, &replay, "dump-roles"},
    {"picker", 0, &picker, "key Down\ndump-roles\ntype redis\ndump-roles\nsize 40 8\ndump"},
    {"help-operations", 3, &live, "key ?\nview"},
    {"help-operation", 3, &live, "key Enter ?\nview"},
    {"help-picker", 0, &picker, "key ?\nview"},
    {"information", 3, &live, "key i\nview\ndump-roles"},
    {"threads-80x24", 40, &live, "key H\ndump-roles"},
    {"threads-processes", 40, &live, "size 100 12\nkey H j j /\ntype fsy\nkey Enter\ndump-roles"},
    {"threads-20x5", 40, &live, "size 20 5\nkey H\ndump-roles"},
    {"threads-none", 3, &replay, "key H\ndump"},
    {"slow-none", 40, &live, "key S\ndump-roles"},
    {"slow-some-80x24", 40, &live, "key j\ndump-roles"},
    {"slow-some-200x50", 40, &live, "size 200 50\nkey /\ntype pipe\nkey Enter\ndump-roles"},
    {"slow-some-20x5", 40, &live, "size 20 5\ndump-roles"},
    {"events-80x24", 40, &live, "key v\ndump-roles"},
    {"events-40x12", 40, &live, "size 40 12\nkey v j\ntick 40\ndump-roles"},
    {"events-20x5", 40, &live, "size 20 5\nkey v\ndump-roles"},
    {"events-find", 40, &live, "size 100 16\nkey v /\ntype fdata\nkey Enter n\ndump-roles"},
};
enum { NR_GOLDENS = sizeof(goldens) / sizeof(goldens[0]) };

static const struct picker_process processes[] = {
    {1, "root", 0.1, 'S', 1, "systemd", "/sbin/init", false, false},
    {1234, "redis", 62.4, 'S', 5, "redis-server", "/usr/bin/redis-server 127.0.0.1:6379", true,
     false},
    {4321, "postgres", 103.0, 'R', 1, "postgres", "postgres: checkpointer", true, false},
    {40001, "a-user-with-a-long-name", -1, 'D', 912, "java",
     "/usr/lib/jvm/bin/java -Xmx4g -cp /srv/app.jar com.example.Main --port 8080", true, false},
    {99, "root", 0, 'I', 1, "kworker/0:1", "", false, true},
};

static const struct function_candidate candidates[] = {
    {"processCommand", "redis-server", "processCommand@redis-server"},
    {"processInputBuffer", "redis-server", "processInputBuffer@redis-server"},
    {"std::vector<std::pair<int, int> >::_M_realloc_insert(std::pair<int, int>&&)", "libapp.so.1",
     "_ZNSt6vector@libapp.so.1"},
};

static const struct screen_slow_call slow_calls[] = {
    {9, "03:12:07", "serve_request(int)", "waiting for I/O on /var/log/x (fsync)", 412000000, 81000,
     false},
    {7, "03:11:59", "write", "waiting in pipe_write for log\x1b[2Jger", 12300000, 2100, true},
    {3, "", "a::function::with<a, long>::name(std::string const&)", "partly explained", 900, 0,
     false},
};

/* A thread that spent so many thousandths of a second on a CPU, and waiting for one. */
static void provide_thread(struct harness *h, uint32_t pid, uint32_t tid, const char *comm,
			   uint64_t cpu, uint64_t runqueue, const char *call)
{
	synth_feed(h->model, (struct record){.type = REC_THREAD,
					     .thread = {.pid = pid,
							.tid = tid,
							.comm = comm,
							.wall_ns = SYNTH_SECOND,
							.cpu_ns = cpu * 1000000,
							.runqueue_ns = runqueue * 1000000}});
	synth_feed(h->model,
		   (struct record){.type = REC_THREAD_SNAPSHOT,
				   .snapshot = {.pid = pid,
						.tid = tid,
						.comm = comm,
						.kind = call[0] ? WITNESS_SLEEP : WITNESS_RUN,
						.sleep = {.call = call}}});
	synth_feed(h->model,
		   (struct record){.type = REC_SAMPLE,
				   .sample = {.op = tid % 5 + 1, .tid = tid, .latency_ns = 1000}});
}

static void provide(struct harness *h, const char *name)
{
	if (!strncmp(name, "threads-", 8) && strcmp(name, "threads-none")) {
		provide_thread(h, 1234, 1234, "redis-server", 700, 20, "");
		provide_thread(h, 1234, 1240, "bio_lazy_free", 0, 0, "futex");
		provide_thread(h, 1234, 1241, "io\x1b[2Jthread", 10, 350, "fsync");
	}
	if (!strcmp(name, "threads-processes")) {
		provide_thread(h, 77, 77, "helper", 999, 1, "");
		provide_thread(h, 77, 78, "helper", 0, 0, "epoll_wait");
	}
	if (!strcmp(name, "picker"))
		screen_set_processes(h->screen, processes, 5);
	if (!strcmp(name, "replay"))
		screen_set_replay(h->screen, 40 * SYNTH_SECOND, 3725 * SYNTH_SECOND);
	if (!strcmp(name, "information")) {
		synth_feed(
		    h->model,
		    (struct record){.type = REC_NOTE,
				    .note = {.level = NOTE_WARNING,
					     .text = "block requests are not measured: no block "
						     "tracepoints on this kernel"}});
		synth_feed(h->model, (struct record){.type = REC_CONSTANT,
						     .constant = {.name = "timer tick",
								  .low_ns = 3900000,
								  .high_ns = 4100000,
								  .measured = 1}});
		synth_feed(h->model, (struct record){.type = REC_CHECK,
						     .check = {.name = "BTF",
							       .ok = 1,
							       .needed_for = "all of it",
							       .remedy = ""}});
		synth_feed(h->model,
			   (struct record){.type = REC_CHECK,
					   .check = {.name = "kernel probes",
						     .ok = 0,
						     .needed_for = "kernel functions",
						     .remedy = "a kernel with CONFIG_KPROBES"}});
	}
}

static char *golden_path(const char *name, char *out, size_t size)
{
	snprintf(out, size, "tests/unit/golden/%s.txt", name);
	return out;
}

/* The golden, or "" when there is none. */
static char *read_golden(const char *name)
{
	char path[256], *data = calloc(1, 1 << 20);
	FILE *f = fopen(golden_path(name, path, sizeof(path)), "r");

	assert_non_null(data);
	if (f) {
		size_t n = fread(data, 1, (1 << 20) - 1, f);

		data[n] = '\0';
		fclose(f);
	}
	return data;
}

static void write_golden(const char *name, const char *text)
{
	char path[256];
	FILE *f = fopen(golden_path(name, path, sizeof(path)), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Say where they part, and show what was drawn. */
static void differ(const char *name, const char *want, const char *got)
{
	int line = 1;

	while (*want && *want == *got) {
		line += *want == '\n';
		want++;
		got++;
	}
	print_error("golden %s differs in line %d:\n- %.*s\n+ %.*s\n", name, line,
		    (int)strcspn(want, "\n"), want, (int)strcspn(got, "\n"), got);
}

static void test_golden(void **state)
{
	const struct golden *golden = *state;
	struct harness *h = harness_new(golden->slices, golden->options);
	char *want = read_golden(golden->name);

	provide(h, golden->name);
	if (!strcmp(golden->name, "watch")) {
		harness_run(h, "key f\ntype pro");
		screen_set_candidates(h->screen, "pro", candidates, 3);
		harness_run(h, "key Down\ndump-roles");
	} else if (!strncmp(golden->name, "slow-some", 9)) {
		harness_run(h, "key S");
		screen_set_slow_calls(h->screen, slow_calls, 3, "2 waits for work not shown");
		harness_run(h, golden->script);
	} else {
		harness_run(h, golden->script);
	}
	if (getenv("UPDATE_GOLDEN")) {
		write_golden(golden->name, harness_out(h));
	} else if (strcmp(want, harness_out(h))) {
		differ(golden->name, want, harness_out(h));
		fail_msg("%s", "UPDATE_GOLDEN=1 writes it anew");
	}
	free(want);
	harness_free(h);
}

int main(void)
{
	struct CMUnitTest tests[NR_GOLDENS];
	unsigned int i;

	for (i = 0; i < NR_GOLDENS; i++)
		tests[i] = (struct CMUnitTest){.name = goldens[i].name,
					       .test_func = test_golden,
					       .initial_state = (void *)&goldens[i]};
	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
