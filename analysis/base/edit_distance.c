// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/edit_distance.h"

#include <ctype.h>

static unsigned int smaller(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

unsigned int edit_distance(const char *a, size_t na, const char *b, size_t nb, unsigned int limit)
{
	unsigned int rows[3][EDIT_MAX_TEXT + 1], *before = rows[0], *above = rows[1],
						 *row = rows[2];
	int last_a = 0;

	na = na < EDIT_MAX_TEXT ? na : EDIT_MAX_TEXT;
	nb = nb < EDIT_MAX_TEXT ? nb : EDIT_MAX_TEXT;
	if ((na > nb ? na - nb : nb - na) > limit)
		return limit + 1;
	for (size_t j = 0; j <= nb; j++)
		above[j] = (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		int ca = tolower((unsigned char)a[i - 1]), last_b = 0;
		unsigned int *oldest = before, least = row[0] = (unsigned int)i;

		for (size_t j = 1; j <= nb; j++) {
			int cb = tolower((unsigned char)b[j - 1]);

			row[j] =
			    smaller(above[j - 1] + (ca != cb), smaller(above[j], row[j - 1]) + 1);
			if (i > 1 && ca == last_b && last_a == cb)
				row[j] = smaller(row[j], before[j - 2] + 1);
			least = smaller(least, row[j]);
			last_b = cb;
		}
		if (least > limit)
			return limit + 1;
		before = above;
		above = row;
		row = oldest;
		last_a = ca;
	}
	return smaller(above[nb], limit + 1);
}
