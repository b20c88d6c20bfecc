// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/account.h"

#define SECOND_NS 1000000000ull
#define MOST_OVERDRAWN_NS (10 * SECOND_NS)

enum { BORROW_TIMES = 3, GIVEN_PERCENT = 85 };

/* Returns the allowance for `ns`. */
static uint64_t allowed(const struct account *a, uint64_t ns)
{
	return ns * a->ppm / 1000000 * (a->borrows ? BORROW_TIMES : 1);
}

int64_t account_given(const struct account *a, uint64_t ns)
{
	return (int64_t)(allowed(a, ns) * GIVEN_PERCENT / 100);
}

uint64_t account_advance(const struct account *a)
{
	return allowed(a, ACCOUNT_ADVANCE_NS);
}

static void give_advance(struct account *a)
{
	int64_t advance = account_given(a, ACCOUNT_ADVANCE_NS);

	a->advance += advance;
	a->left += advance;
}

static void keep_at_most_a_second(struct account *a)
{
	int64_t most = account_given(a, SECOND_NS);

	if (a->left > most)
		a->left = most;
}

void account_open(struct account *a, uint32_t ppm, bool borrows)
{
	*a = (struct account){.ppm = ppm, .borrows = borrows};
	give_advance(a);
	/* a descent draws from the account itself */
	a->undrawn = borrows ? 0 : a->left;
}

void account_draw(struct account *a, int64_t ns)
{
	a->undrawn = a->undrawn > ns ? a->undrawn - ns : 0;
}

void account_borrow(struct account *a, bool borrows)
{
	if (a->borrows == borrows)
		return;
	a->borrows = borrows;
	if (borrows) {
		give_advance(a);
		return;
	}
	/* drop the unused part of the advance */
	a->advance = a->undrawn = 0;
	keep_at_most_a_second(a);
}

void account_slept(struct account *a, uint64_t ns)
{
	const struct account usual = {.ppm = a->ppm};
	int64_t least = -account_given(&usual, MOST_OVERDRAWN_NS), left = a->left - (int64_t)ns;

	if (left < least)
		left = a->left < least ? a->left : least;
	a->left = left;
}

uint64_t account_charge(uint64_t *owed, uint64_t spent, uint64_t most)
{
	uint64_t all = *owed + spent, charged = all < most ? all : most;

	*owed = all - charged;
	return charged;
}

void account_turn(struct account *a, const struct account_turn *t)
{
	uint64_t base = t->ran_ns > t->ns ? t->ran_ns : t->ns;
	int64_t got = account_given(a, base), back = got < a->advance ? got : a->advance;
	int64_t late = back < a->undrawn ? back : a->undrawn;

	a->allowed_ns += allowed(a, base);
	a->advance -= back;
	a->undrawn -= late;
	a->earned = got - back + late;
	a->left += got - back;
	if (!a->advance)
		keep_at_most_a_second(a);
	a->left -= (int64_t)(account_charge(&a->owed, t->hits_ns, t->ran_ns) + t->attach_ns);
}

int64_t account_part(struct account *a, uint64_t fixed, unsigned int parts)
{
	int64_t left = a->earned + a->missing - (int64_t)fixed;

	a->missing = left < 0 ? left : 0;
	return left > 0 ? left / parts : 0;
}

uint64_t account_lasts(int64_t credit, uint64_t spent, uint64_t wall)
{
	if (credit <= 0)
		return 0;
	return spent ? (uint64_t)((double)credit / (double)spent * (double)wall) : 1000000000;
}
