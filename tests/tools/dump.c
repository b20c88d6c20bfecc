// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dump FILE: modules, operations, sites, profiles and samples of a session file, one line of JSON
 * each, as the integration cases and tests/unit/corpus/record.py read them. Test files only: it
 * trusts the header and prints names as they are.
 */
#include "analysis/session/frame.h"

#include <inttypes.h>

enum { HEADER = 24 };

static void text(const char *key, const char *value)
{
	printf(",\"%s\":\"", key);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			putchar('\\');
		if ((unsigned char)*value >= ' ')
			putchar(*value);
	}
	putchar('"');
}

static void buckets(const struct rec_profile *p)
{
	printf(",\"buckets\":[");
	for (uint32_t i = 0; i < p->nr_buckets; i++)
		printf("%s[%" PRIu32 ",%" PRIu64 "]", i ? "," : "", p->bucket[i], p->count[i]);
	putchar(']');
}

static void show(const struct record *r)
{
	switch (r->type) {
	case REC_MODULE:
		printf("{\"record\":\"module\",\"module\":%" PRIu32, r->module.module);
		text("path", r->module.path);
		break;
	case REC_OP:
		printf("{\"record\":\"op\",\"op\":%" PRIu32 ",\"offset\":%" PRIu64, r->op.op,
		       r->op.offset);
		text("name", r->op.name);
		text("placement", r->op.placement);
		break;
	case REC_SITE:
		printf("{\"record\":\"site\",\"op\":%" PRIu32 ",\"module\":%" PRIu32
		       ",\"offset\":%" PRIu64 ",\"role\":%" PRIu32 ",\"class\":%" PRIu32
		       ",\"state\":%" PRIu32 ",\"hits\":%" PRIu64,
		       r->site.op, r->site.module, r->site.offset, r->site.role, r->site.class,
		       r->site.state, r->site.hits);
		break;
	case REC_PROFILE:
		printf("{\"record\":\"profile\",\"op\":%" PRIu32 ",\"start\":%" PRIu64
		       ",\"end\":%" PRIu64 ",\"armed\":%" PRIu64 ",\"sum\":%" PRIu64
		       ",\"min\":%" PRIu64 ",\"max\":%" PRIu64,
		       r->profile.op, r->profile.start_ns, r->profile.end_ns, r->profile.armed_ns,
		       r->profile.sum_ns, r->profile.min_ns, r->profile.max_ns);
		buckets(&r->profile);
		break;
	case REC_SAMPLE:
		printf("{\"record\":\"sample\",\"op\":%" PRIu32 ",\"latency\":%" PRIu64
		       ",\"known\":%" PRIu32 ",\"oncpu\":%" PRIu64 ",\"runqueue\":%" PRIu64
		       ",\"interrupt\":%" PRIu64 ",\"preempted\":%" PRIu64 ",\"sleeps\":%" PRIu64
		       ",\"faults\":%" PRIu64 ",\"chance\":%" PRIu64,
		       r->sample.op, r->sample.latency_ns, r->sample.known, r->sample.oncpu_ns,
		       r->sample.runqueue_ns, r->sample.interrupt_ns, r->sample.preempted,
		       r->sample.sleeps, r->sample.minor_faults, r->sample.chance_ppm);
		break;
	default:
		return;
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
	struct frame_decoder *decoder = frame_decoder_new();
	struct frame frame;
	struct buf data;
	char block[65536];
	size_t n;
	int got;

	if (!f || !decoder) {
		fprintf(stderr, "dump: FILE\n");
		return 2;
	}
	buf_init(&data, 1u << 30);
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		buf_append(&data, block, n);
	fclose(f);
	if (data.err || data.len < HEADER)
		return 1;
	buf_consume(&data, HEADER);
	while (data.len && (got = frame_decode(decoder, data.data, data.len, &frame)) == 1) {
		if (frame.known)
			show(&frame.rec);
		buf_consume(&data, frame.size);
	}
	frame_decoder_free(decoder);
	buf_release(&data);
	return 0;
}
