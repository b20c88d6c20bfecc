/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow up to a maximum, and binary search in sorted arrays. */
#pragma once

/* Make room for `nr` elements in `array`, which has room for `cap` (a variable of any integer
 * type), at most `max`. Returns 0, -E2BIG if `nr` is larger, or -ENOMEM. After an error the array
 * is unchanged. */
#define array_fit(array, nr, cap, max)                                                             \
	({                                                                                         \
		size_t cap_ = (cap);                                                               \
		void *array_ = (array);                                                            \
		int err_ = array_reserve(&array_, nr, &cap_, sizeof(*(array)), max);               \
		(array) = array_;                                                                  \
		(cap) = (__typeof__(cap))cap_;                                                     \
		err_;                                                                              \
	})
/* The same for one more element than the `nr` that the array has. */
#define array_grow(array, nr, cap, max) array_fit(array, (size_t)(nr) + 1, cap, max)

/* Append a value. Returns as array_fit(). */
#define array_append(array, nr, cap, max, ...)                                                     \
	({                                                                                         \
		int grown_ = array_grow(array, nr, cap, max);                                      \
		if (!grown_)                                                                       \
			(array)[(nr)++] = (__VA_ARGS__);                                           \
		grown_;                                                                            \
	})
/* Insert a value before that with index `at`. Returns as array_fit(). */
#define array_insert(array, at, nr, cap, max, ...)                                                 \
	({                                                                                         \
		size_t at_ = (at);                                                                 \
		int grown_ = array_grow(array, nr, cap, max);                                      \
		if (!grown_) {                                                                     \
			memmove((array) + at_ + 1, (array) + at_,                                  \
				((nr)++ - at_) * sizeof(*(array)));                                \
			(array)[at_] = (__VA_ARGS__);                                              \
		}                                                                                  \
		grown_;                                                                            \
	})

/* The same as array_fit(), where the elements of new room are zero. */
#define array_fit_zeroed(array, nr, cap, max)                                                      \
	({                                                                                         \
		size_t had_ = (cap);                                                               \
		int fit_ = array_fit(array, nr, cap, max);                                         \
		if (!fit_)                                                                         \
			memset((array) + had_, 0, ((cap)-had_) * sizeof(*(array)));                \
		fit_;                                                                              \
	})

/* Make room for `nr` elements of `size` bytes, at most `max` elements; doubles the room. Returns as
 * array_fit(). */
int array_reserve(void **array, size_t nr, size_t *cap, size_t size, size_t max);

/* The number of elements of an array whose size the compiler knows. */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* How two numbers compare, for the functions that qsort() takes: by one key ?: by the next. */
#define ascending(a, b) (((a) > (b)) - ((a) < (b)))
#define descending(a, b) ascending(b, a)

/* Compare two uint64_t, for qsort() and bsearch(): ascending. */
int compare_u64(const void *a, const void *b);

/* True if `is`, an expression of the index `i`, is true for an index below `nr`. */
#define any_of(i, nr, is)                                                                          \
	({                                                                                         \
		bool any_ = false;                                                                 \
		for (size_t i = 0, nr_ = (nr); i < nr_ && !any_; i++)                              \
			any_ = (is);                                                               \
		any_;                                                                              \
	})
/* The first of the `nr` elements of `array` for whose index `i` the expression `is` is true; NULL
 * if there is none. */
#define find_first(i, array, nr, is)                                                               \
	({                                                                                         \
		__typeof__((array) + 0) first_ = NULL;                                             \
		for (size_t i = 0, nr_ = (nr); i < nr_ && !first_; i++)                            \
			first_ = (is) ? &(array)[i] : NULL;                                        \
		first_;                                                                            \
	})

/* The first index below `nr` at which `is_below`, an expression of the index `i`, is false; `nr` if
 * there is none. It must be true up to some index and false from there on. */
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
