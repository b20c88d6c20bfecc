/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fuzz targets share. Each fuzz_NAME.c defines LLVMFuzzerTestOneInput
 * for libFuzzer; its seeds are in tests/fuzz/corpus/NAME.
 */
#ifndef PEAKTOP_FUZZ_H
#define PEAKTOP_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold, whatever the input. */
#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

/* The input as numbers; zeros when it is used up. */
struct input {
	const uint8_t *data;
	size_t left;
};

static inline uint64_t input_number(struct input *in, size_t bytes)
{
	uint64_t v = 0;

	if (bytes > in->left)
		bytes = in->left;
	memcpy(&v, in->data, bytes);
	in->data += bytes;
	in->left -= bytes;
	return v;
}

/* Up to n bytes of the input; *n is how many there are. */
static inline const uint8_t *input_bytes(struct input *in, size_t *n)
{
	const uint8_t *bytes = in->data;

	if (*n > in->left)
		*n = in->left;
	in->data += *n;
	in->left -= *n;
	return bytes;
}

/* A file with these bytes; close() it. */
static inline int memory_file(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

#endif
