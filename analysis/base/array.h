/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow up to a maximum, and binary search in sorted arrays. */
#ifndef PEAKTOP_ARRAY_H
#define PEAKTOP_ARRAY_H

#include <stddef.h>

/*
 * Make room for one more element in `array`, which has `nr` elements and room for `cap` (a variable
 * of any integer type), at most `max`. Returns 0, -E2BIG if the array is full, or -ENOMEM. After an
 * error the array is unchanged.
 */
#define array_grow(array, nr, cap, max)                                                            \
	({                                                                                         \
		size_t cap_ = (cap);                                                               \
		void *array_ = (array);                                                            \
		int err_ = array_reserve(&array_, (size_t)(nr) + 1, &cap_, sizeof(*(array)), max); \
		(array) = array_;                                                                  \
		(cap) = (__typeof__(cap))cap_;                                                     \
		err_;                                                                              \
	})

/* Make room for `nr` elements of `size` bytes, at most `max` elements; doubles the room. Returns as
 * array_grow(). */
int array_reserve(void **array, size_t nr, size_t *cap, size_t size, size_t max);

/* Compare two uint64_t, for qsort() and bsearch(): ascending. */
int compare_u64(const void *a, const void *b);

/*
 * The first index below `nr` at which `is_below`, an expression of the index `i`, is false; `nr` if
 * there is none. It must be true up to some index and false from there on.
 */
#define lower_bound(i, nr, is_below)                                                               \
	({                                                                                         \
		size_t low_ = 0, high_ = (nr);                                                     \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
			if (is_below)                                                              \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
