// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/values.h"

#include <math.h>

#include "analysis/base/parameters.h"
#include "analysis/latency/syscall_args.h"
#include "analysis/latency/values_impl.h"
#include "analysis/latency/values_text.h"

/* In shares of calls that are told apart. */
#define WORTH_OF_NAME 0.1
static const unsigned int min_known = 4 * RULE_MIN_CALLS;

unsigned int value_known_bit(unsigned int f)
{
	if (f >= F_ARG0 && f < F_ARG0 + SAMPLE_ARGS)
		return SAMPLE_ARG0 << (f - F_ARG0);
	if (f >= F_MEMBER0 && f < F_MEMBER0 + SAMPLE_MEMBERS)
		return SAMPLE_MEMBER0 << (f - F_MEMBER0);
	switch (f) {
	case F_RET:
		return SAMPLE_RET;
	case F_TEXT:
		return SAMPLE_TEXT;
	case F_MAJOR_FAULTS:
	case F_MINOR_FAULTS:
		return SAMPLE_FAULTS;
	case F_MIGRATIONS:
		return SAMPLE_MIGRATIONS;
	case F_PREEMPTED:
	case F_SLEEPS:
		return SAMPLE_SWITCHES;
	case F_RUNQUEUE:
		return SAMPLE_RUNQUEUE;
	case F_ONCPU:
		return SAMPLE_ONCPU;
	default:
		return 0;
	}
}

int64_t value_key(const struct value_table *t, unsigned int f, const struct call_sample *c)
{
	if (f >= F_ARG0 && f < F_ARG0 + SAMPLE_ARGS)
		return parameter_value(c->args[f - F_ARG0], t->feature[f].size,
				       t->feature[f].traits.is_signed);
	if (f >= F_MEMBER0 && f < F_MEMBER0 + SAMPLE_MEMBERS)
		return parameter_value(c->members[f - F_MEMBER0], t->feature[f].size,
				       t->feature[f].traits.is_signed);
	switch (f) {
	case F_RET:
		return parameter_value((uint64_t)c->ret, t->feature[F_RET].size,
				       t->feature[F_RET].traits.is_signed);
	case F_TEXT:
		return string_key(c->text);
	case F_MAJOR_FAULTS:
		return c->major_faults;
	case F_MINOR_FAULTS:
		return c->minor_faults;
	case F_MIGRATIONS:
		return c->migrations;
	case F_PREEMPTED:
		return call_preemptions(c);
	case F_SLEEPS:
		return c->sleeps;
	case F_RUNQUEUE:
		return (int64_t)c->runqueue_ns;
	case F_ONCPU:
		return (int64_t)c->oncpu_ns;
	default:
		return c->tid;
	}
}

static void describe(struct value_table *t, unsigned int f, const char *name,
		     enum value_format format, bool exact, bool threshold)
{
	struct feature *to = &t->feature[f];

	snprintf(to->name, sizeof(to->name), "%s", name);
	to->traits.format = format;
	to->traits.exact = exact;
	to->traits.threshold = threshold;
}

static void describe_argument(struct value_table *t, unsigned int i, enum layer layer,
			      const char *syscall)
{
	struct syscall_arg arg = syscall ? syscall_arg(syscall, i) : layer_arg(layer, i);
	struct feature *to = &t->feature[F_ARG0 + i];

	if (arg.name[0] && !syscall)
		snprintf(to->name, sizeof(to->name), "%s", arg.name);
	else if (arg.name[0])
		snprintf(to->name, sizeof(to->name), "argument %u (%s%s)", i, arg.name,
			 arg.kind == ARG_UNKNOWN ? ", assumed" : "");
	else
		snprintf(to->name, sizeof(to->name), "argument %u (assumed integer)", i);
	to->traits = value_traits_of(arg.kind);
	to->size = to->traits.is_signed ? sizeof(int) : 0;
}

/* Describe a value as debug information does. */
static void describe_parameter(struct feature *to, const struct parameter *p, const char *name)
{
	static const struct value_traits traits[] = {
	    [PARAMETER_NONE] = TRAITS(HEX, false, false, false),
	    [PARAMETER_SIGNED] = TRAITS(NUMBER, true, true, true),
	    [PARAMETER_UNSIGNED] = TRAITS(NUMBER, true, true, false),
	    [PARAMETER_BOOL] = TRAITS(BOOL, true, false, false),
	    [PARAMETER_ENUM] = TRAITS(WORD, true, false, true),
	    [PARAMETER_POINTER] = TRAITS(HEX, true, false, false),
	    [PARAMETER_STRING] = TRAITS(STRING, true, false, false),
	};

	if (p->kind == PARAMETER_UNKNOWN)
		return;
	snprintf(to->name, sizeof(to->name), "%s", name);
	to->traits = traits[p->kind];
	to->traits.words = p->words;
	to->size = p->size;
}

static void describe_parameters(struct value_table *t, const char *text)
{
	struct parameter p;

	if (parameters_entry(text, PARAMETER_RESULT, &p)) {
		describe_parameter(&t->feature[F_RET], &p, "return value");
		if (p.kind == PARAMETER_SIGNED)
			t->feature[F_RET].traits.format = FORMAT_STATUS;
		t->unverified &= p.kind == PARAMETER_UNKNOWN;
	}
	for (unsigned int i = 0; i < SAMPLE_ARGS; i++) {
		if (!parameters_entry(text, PARAMETER_FIRST + i, &p))
			continue;
		describe_parameter(&t->feature[F_ARG0 + i], &p, p.name);
		t->feature[F_ARG0 + i].in_program = p.name[0];
	}
	for (unsigned int f = F_MEMBER0; f <= F_TEXT; f++) {
		struct feature *to = &t->feature[f];

		if (!parameters_entry(text, PARAMETER_MEMBER + f - F_MEMBER0, &p) ||
		    (p.kind == PARAMETER_STRING) != (f == F_TEXT))
			continue;
		describe_parameter(to, &p, p.name);
		to->in_program = true;
		to->traits.strings = &t->strings;
	}
}

/* Describe what is known of the objects of the kernel that a call worked on. */
static void describe_objects(struct value_table *t, enum layer layer)
{
	for (unsigned int i = 0; i <= SAMPLE_MEMBERS; i++) {
		struct syscall_arg arg = layer_member(layer, i);
		struct feature *to = &t->feature[F_MEMBER0 + i];

		if (arg.kind == ARG_NONE)
			continue;
		snprintf(to->name, sizeof(to->name), "%s", arg.name);
		to->traits = value_traits_of(arg.kind);
		to->traits.strings = &t->strings;
		to->of_kernel = true;
	}
}

static void describe_result(struct value_table *t, enum layer layer)
{
	switch (layer) {
	case LAYER_SYSCALL:
	case LAYER_LOCK:
	case LAYER_URING:
	case LAYER_NET:
		describe(t, F_RET, "return value", FORMAT_RESULT, true, true);
		break;
	case LAYER_BLOCK:
		describe(t, F_RET, "completion status", FORMAT_NUMBER, true, false);
		break;
	default:
		describe(t, F_RET, "return value (assumed integer)", FORMAT_STATUS, true, true);
		/* only errors are said of it, which an int and a long have in the lower half */
		t->feature[F_RET].size = sizeof(int);
		break;
	}
	t->feature[F_RET].traits.is_signed = true;
}

static void describe_all(struct value_table *t, enum layer layer, const char *name)
{
	static const char prefix[] = "syscall:";
	const char *syscall = NULL;

	if (layer == LAYER_SYSCALL)
		syscall =
		    strncmp(name, prefix, sizeof(prefix) - 1) ? name : name + sizeof(prefix) - 1;
	describe_result(t, layer);
	for (unsigned int i = 0; i < SAMPLE_ARGS; i++)
		describe_argument(t, i, layer, syscall);
	describe(t, F_MAJOR_FAULTS, "major page faults", FORMAT_COUNT, false, true);
	describe(t, F_MINOR_FAULTS, "minor page faults", FORMAT_COUNT, false, true);
	describe(t, F_MIGRATIONS, "migrations", FORMAT_COUNT, false, true);
	describe(t, F_PREEMPTED, "preemptions", FORMAT_COUNT, false, true);
	describe(t, F_RUNQUEUE, "run-queue delay", FORMAT_TIME, false, true);
	describe(t, F_SLEEPS, "sleeps", FORMAT_COUNT, false, true);
	describe(t, F_ONCPU, "on-CPU time", FORMAT_TIME, false, true);
	describe(t, F_THREAD, "thread", FORMAT_NUMBER, true, false);
}

struct keyed_call {
	uint64_t key; /* unsigned, ascending in the order of the feature */
	uint16_t call;
};

/* Sorts by key; calls of equal keys keep their order. A radix sort from the lowest byte up that
 * skips bytes without differences. `room` is as long as `list`. */
static void sort_keys(struct keyed_call *list, struct keyed_call *room, unsigned int n)
{
	uint64_t differ = 0;

	for (unsigned int i = 1; i < n; i++)
		differ |= list[i].key ^ list[0].key;
	for (unsigned int shift = 0; shift < 64; shift += 8) {
		unsigned int start[257] = {0};

		if (!(differ >> shift & 0xff))
			continue;
		for (unsigned int i = 0; i < n; i++)
			start[(list[i].key >> shift & 0xff) + 1]++;
		for (unsigned int b = 0; b < 256; b++)
			start[b + 1] += start[b];
		for (unsigned int i = 0; i < n; i++)
			room[start[list[i].key >> shift & 0xff]++] = list[i];
		memcpy(list, room, n * sizeof(*list));
	}
}

/* `room` holds two times the number of calls. */
static void sort_feature(struct value_table *t, unsigned int f, struct keyed_call *room)
{
	struct feature *to = &t->feature[f];
	uint64_t sign = to->traits.is_signed ? 1ULL << 63 : 0;
	unsigned int bit = value_known_bit(f), nr = 0;

	if (!to->traits.exact && !to->traits.threshold)
		return;
	for (unsigned int i = 0; i < t->n; i++) {
		if (bit && !(t->call[i]->known & bit))
			continue;
		room[nr].key = (uint64_t)value_key(t, f, t->call[i]) ^ sign;
		room[nr++].call = (uint16_t)i;
	}
	/* Skip values that are the same in every call. */
	for (unsigned int i = 1; i < nr && room[i].key == room[0].key; i++)
		if (i == nr - 1)
			return;
	sort_keys(room, room + t->n, nr);
	for (unsigned int i = 0; i < nr; i++)
		to->order[i] = room[i].call;
	to->nr = nr;
	/* Values that look like addresses have no meaningful order. */
	if (nr && !sign && to->traits.format == FORMAT_NUMBER && room[nr - 1].key >= 1ULL << 40)
		to->traits.threshold = false;
}

/* Do not compare the address of a string that is compared itself. */
static void drop_address(struct value_table *t, const char *parameters)
{
	struct parameter p;

	if (t->feature[F_TEXT].nr && parameters_entry(parameters, PARAMETER_TEXT, &p) &&
	    !p.place.is_pointer && !p.place.offset)
		t->feature[F_ARG0 + p.place.argument].nr = 0;
}

struct value_table *value_table_new(const struct call_sample *const *call, const double *weight,
				    unsigned int n, const struct op *op)
{
	struct value_table *t = calloc(1, sizeof(*t));
	struct keyed_call *room;

	if (!t)
		return NULL;
	if (n > UINT16_MAX)
		n = UINT16_MAX;
	t->call = call;
	t->weight = weight;
	t->n = n;
	t->strings = (struct value_strings){call, n};
	t->orders = calloc((size_t)n * F_COUNT + 1, sizeof(*t->orders));
	t->group = calloc(n + 1, sizeof(*t->group));
	t->in = calloc(n + 1, sizeof(*t->in));
	room = calloc(2 * (size_t)n + 1, sizeof(*room));
	if (!t->orders || !t->group || !t->in || !room) {
		free(room);
		value_table_free(t);
		return NULL;
	}
	t->unverified = op->layer == LAYER_FUNCTION || op->layer == LAYER_KERNEL;
	describe_all(t, op->layer, op->name);
	describe_objects(t, op->layer);
	describe_parameters(t, op->parameters);
	for (unsigned int f = 0; f < F_COUNT; f++) {
		t->feature[f].order = t->orders + (size_t)f * n;
		sort_feature(t, f, room);
	}
	drop_address(t, op->parameters);
	free(room);
	return t;
}

void value_table_free(struct value_table *t)
{
	if (!t)
		return;
	free(t->orders);
	free(t->group);
	free(t->in);
	free(t);
}

/* Fills t->group with the values of a feature. Returns their number. */
static unsigned int make_groups(const struct value_table *t, unsigned int f,
				struct value_sums *sums)
{
	const struct feature *from = &t->feature[f];
	unsigned int n = 0;

	memset(sums, 0, sizeof(*sums));
	for (unsigned int i = 0; i < from->nr; i++) {
		unsigned int c = from->order[i], half = t->call[c]->held_out, in = t->in[c];
		int64_t key = value_key(t, f, t->call[c]);

		if (!n || t->group[n - 1].key != key)
			t->group[n++] = (struct value_group){.key = key};
		t->group[n - 1].weight[half][in] += t->weight[c];
		t->group[n - 1].nr[half][in]++;
		sums->weight[half][in] += t->weight[c];
		sums->squares[half][in] += t->weight[c] * t->weight[c];
		sums->nr[half][in]++;
	}
	return n;
}

struct value_verdict {
	unsigned int feature;
	struct rule rule;
	double share[2]; /* share of the held-out calls that match: OUT of the peak, IN it */
};

static bool find_rule(const struct value_table *t, unsigned int f, struct value_verdict *v)
{
	const struct value_traits *traits = &t->feature[f].traits;
	struct value_sums sums;
	unsigned int n;

	if (t->feature[f].nr < min_known)
		return false;
	n = make_groups(t, f, &sums);
	for (unsigned int half = 0; half < 2; half++)
		if (sums.nr[half][IN] < RULE_MIN_CALLS || sums.nr[half][OUT] < RULE_MIN_CALLS)
			return false;
	v->feature = f;
	return rule_choose(traits, t->group, n, &sums, &v->rule) &&
	       rule_judge(traits, t->group, n, &sums, &v->rule, v->share);
}

/* Returns true if the rule names only values that a failing call returns: -1 to -4095. */
static bool is_about_errors(const struct rule *r)
{
	if (r->kind != RULE_IN)
		return false;
	for (unsigned int i = 0; i < r->nr; i++)
		if (r->key[i] >= 0 || r->key[i] < -4095)
			return false;
	return true;
}

/* Returns true for rules without information: the on-CPU time of calls that compute, which repeats
 * the latency; times that are a small part of it in most of the peak's calls, as each call that
 * sleeps waits for a CPU for a moment; and the return value of a function that may have none. */
static bool is_idle_talk(const struct value_table *t, unsigned int f, const struct value_verdict *v)
{
	double time = 0, all = 0, calls = 0, large = 0;

	if (f == F_RET && t->unverified)
		return !is_about_errors(&v->rule);
	if (f != F_ONCPU && f != F_RUNQUEUE)
		return false;
	for (unsigned int i = 0; i < t->n; i++) {
		const struct call_sample *c = t->call[i];
		uint64_t ns = (uint64_t)value_key(t, f, c);

		if (!t->in[i] || !(c->known & value_known_bit(f)))
			continue;
		time += t->weight[i] * (double)ns;
		all += t->weight[i] * (double)c->latency_ns;
		large += ns >= c->latency_ns / 10 ? t->weight[i] : 0;
		calls += t->weight[i];
	}
	return large < 0.5 * calls || (f == F_ONCPU && time > 0.9 * all);
}

static double separation(const struct value_verdict *v)
{
	return v->share[IN] - v->share[OUT];
}

static bool is_address(const struct feature *f)
{
	return f->in_program && f->traits.format == FORMAT_HEX;
}

/* How much a verdict is worth, in steps: what the program calls by its name, and the file that a
 * call works on, explain more than what calls do, such as sleep. */
static double worth(const struct value_table *t, const struct value_verdict *v)
{
	const struct feature *f = &t->feature[v->feature];
	bool has_name = (f->in_program && !is_address(f)) || f->of_kernel;

	return round((separation(v) + (has_name ? WORTH_OF_NAME : 0)) * 20);
}

/* Orders by worth; what is worth the same, by the order of the candidates, addresses last. */
static bool better(const struct value_table *t, const struct value_verdict *a,
		   const struct value_verdict *b)
{
	double x = worth(t, a), y = worth(t, b);
	bool last = is_address(&t->feature[a->feature]);

	if (x != y)
		return x > y;
	return last != is_address(&t->feature[b->feature]) ? !last : a->feature < b->feature;
}

void values_find(const struct value_table *t, struct bucket_range range, struct values *out)
{
	struct value_verdict best[F_COUNT], v;
	unsigned int n = 0;

	out->nr = 0;
	for (unsigned int i = 0; i < t->n; i++) {
		unsigned int b = pt_bucket(t->call[i]->latency_ns);

		t->in[i] = b >= range.low && b < range.high;
	}
	for (unsigned int f = 0; f < F_COUNT; f++) {
		unsigned int at;

		if (!find_rule(t, f, &v) || is_idle_talk(t, f, &v))
			continue;
		for (at = n++; at > 0 && better(t, &v, &best[at - 1]); at--)
			best[at] = best[at - 1];
		best[at] = v;
	}
	for (unsigned int i = 0; i < n && i < VALUES_MAX; i++) {
		const struct feature *f = &t->feature[best[i].feature];

		snprintf(out->name[i], VALUES_NAME, "%s", f->name);
		rule_text(out->text[i], VALUES_TEXT, &best[i].rule, &f->traits, best[i].share[IN],
			  best[i].share[OUT]);
		out->value[i] = (struct peak_value){
		    .name = out->name[i],
		    .text = out->text[i],
		    .separation = separation(&best[i]),
		    .in_program = f->in_program,
		};
		out->nr++;
	}
}
