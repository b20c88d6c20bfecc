/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logarithmic latency buckets (OSprof, OSDI 2006, section 3), shared by the
 * kernel side and user space.
 *
 * Bucket i at resolution r (buckets per doubling: 1, 2, 4 or 8) holds the
 * latencies ns with 2^(i/r) <= ns < 2^((i+1)/r); a latency of 0 goes to
 * bucket 0. Profiles are always collected and stored at the finest resolution,
 * 8; a coarser bucket is exactly the union of 8/r finer ones. Latencies of
 * 2^PT_DOUBLINGS ns (4.9 hours) and more go to the last bucket.
 */
#pragma once

#define PT_RESOLUTION 8 /* buckets per doubling as collected */
#define PT_DOUBLINGS 44
#define PT_BUCKETS (PT_RESOLUTION * PT_DOUBLINGS)

/* The smallest integers not below 2^(63 + k/8). */
#define PT_FRAC_1 10058158527438640871ULL
#define PT_FRAC_2 10968499650544839024ULL
#define PT_FRAC_3 11961233684655323371ULL
#define PT_FRAC_4 13043817825332782213ULL
#define PT_FRAC_5 14224384202002324190ULL
#define PT_FRAC_6 15511800964685064949ULL
#define PT_FRAC_7 16915738899553466671ULL

/*
 * The bucket of `ns` at resolution 8, without floating point and exact: `ns`
 * is normalised so that its top bit is bit 63 and compared with the constants.
 */
static inline __attribute__((always_inline)) unsigned int pt_bucket(unsigned long long ns)
{
	unsigned int msb = 0, sub, i;
	unsigned long long m;

	if (!ns)
		return 0;
	m = ns;
	if (!(m >> 32))
		m <<= 32;
	else
		msb += 32;
	if (!(m >> 48))
		m <<= 16;
	else
		msb += 16;
	if (!(m >> 56))
		m <<= 8;
	else
		msb += 8;
	if (!(m >> 60))
		m <<= 4;
	else
		msb += 4;
	if (!(m >> 62))
		m <<= 2;
	else
		msb += 2;
	if (!(m >> 63))
		m <<= 1;
	else
		msb += 1;
	if (m >= PT_FRAC_4)
		sub = m >= PT_FRAC_6 ? (m >= PT_FRAC_7 ? 7 : 6) : (m >= PT_FRAC_5 ? 5 : 4);
	else
		sub = m >= PT_FRAC_2 ? (m >= PT_FRAC_3 ? 3 : 2) : (m >= PT_FRAC_1 ? 1 : 0);
	i = msb * PT_RESOLUTION + sub;
	return i < PT_BUCKETS ? i : PT_BUCKETS - 1;
}
