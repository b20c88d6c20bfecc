// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a fuzz target without libFuzzer, so that any compiler with sanitizers
 * will do: every file of a corpus, then N mutations of them from a fixed seed,
 * the same in every run.
 *
 *	fuzz_NAME [-n MUTATIONS] [-s SEED] [-o FILE] FILE|FOLDER...
 *
 * The input at work is kept in FILE (-o), so that it is there after a crash.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum { MAX_FILES = 4096, MAX_SIZE = 1 << 20 };

struct seed {
	uint8_t *data;
	size_t size;
};

static struct seed seeds[MAX_FILES];
static size_t nr_seeds;
static uint64_t state = 1;
static const char *keep;

static uint64_t next_random(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t below(size_t n)
{
	return n ? (size_t)(next_random() % n) : 0;
}

static void load_file(const char *path)
{
	FILE *f = fopen(path, "re");
	struct seed *s = &seeds[nr_seeds];

	if (!f || nr_seeds == MAX_FILES) {
		perror(path);
		exit(2);
	}
	s->data = malloc(MAX_SIZE);
	s->size = fread(s->data, 1, MAX_SIZE, f);
	nr_seeds++;
	fclose(f);
}

static void load(const char *path)
{
	struct dirent **names;
	char inside[4096];
	struct stat st;
	int i, n;

	if (stat(path, &st)) {
		perror(path);
		exit(2);
	}
	if (!S_ISDIR(st.st_mode)) {
		load_file(path);
		return;
	}
	n = scandir(path, &names, NULL, alphasort);
	for (i = 0; i < n; i++) {
		snprintf(inside, sizeof(inside), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			load(inside);
		free(names[i]);
	}
	free(names);
}

static void run(const uint8_t *data, size_t size)
{
	/* Exactly as large as the input, so that a sanitizer sees what is read beyond. */
	uint8_t *copy = malloc(size ? size : 1);
	FILE *f = keep ? fopen(keep, "we") : NULL;

	if (f) {
		fwrite(data, 1, size, f);
		fclose(f);
	}
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static size_t mutate_bytes(uint8_t *data, size_t size)
{
	static const uint64_t edges[] = {0,
					 1,
					 0x7f,
					 0x80,
					 0xff,
					 0x7fff,
					 0xffff,
					 0x7fffffff,
					 0xffffffff,
					 0x7fffffffffffffff,
					 0xffffffffffffffff};
	size_t at = below(size), width = (size_t)1 << below(4), n, from;
	uint64_t v;

	switch (below(6)) {
	case 0:
		data[at] ^= (uint8_t)(1 << below(8));
		break;
	case 1:
		data[at] = (uint8_t)next_random();
		break;
	case 2:
		v = edges[below(sizeof(edges) / sizeof(edges[0]))];
		memcpy(data + at, &v, width < size - at ? width : size - at);
		break;
	case 3:
		memcpy(&v, data + at, n = width < size - at ? width : size - at);
		v += below(33) - 16;
		memcpy(data + at, &v, n);
		break;
	case 4: /* copy a piece over another */
		from = below(size);
		n = below(size - (at > from ? at : from));
		memmove(data + at, data + from, n);
		break;
	default:
		size = below(16) ? size : 1 + below(size); /* cut it off, sometimes */
		break;
	}
	return size;
}

static void mutate_and_run(uint8_t *scratch)
{
	const struct seed *s = &seeds[below(nr_seeds)], *other = &seeds[below(nr_seeds)];
	size_t size = s->size, cut, changes = 1 + below(8);

	memcpy(scratch, s->data, size);
	if (!below(8) && other->size && size) { /* two halves */
		cut = below(size < other->size ? size : other->size);
		memcpy(scratch + cut, other->data + cut, other->size - cut);
		size = other->size;
	}
	while (size && changes--)
		size = mutate_bytes(scratch, size);
	run(scratch, size);
}

int main(int argc, char **argv)
{
	unsigned long mutations = 10000, i;
	uint8_t *scratch = malloc(MAX_SIZE);
	int option;

	while ((option = getopt(argc, argv, "n:s:o:")) != -1) {
		if (option == 'n')
			mutations = strtoul(optarg, NULL, 0);
		else if (option == 's')
			state = strtoull(optarg, NULL, 0);
		else if (option == 'o')
			keep = optarg;
		else
			return 2;
	}
	for (; optind < argc; optind++)
		load(argv[optind]);
	if (!nr_seeds || !scratch) {
		fprintf(stderr, "no seeds\n");
		return 2;
	}
	for (i = 0; i < nr_seeds; i++)
		run(seeds[i].data, seeds[i].size);
	for (i = 0; i < mutations; i++)
		mutate_and_run(scratch);
	printf("%zu seeds and %lu mutations\n", nr_seeds, mutations);
	for (i = 0; i < nr_seeds; i++)
		free(seeds[i].data);
	free(scratch);
	return 0;
}
