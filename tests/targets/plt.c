// SPDX-License-Identifier: GPL-2.0-or-later
/* plt [CALLS]: calls plugin_work() of a shared library through the procedure linkage table. */
#include "target.h"

uint64_t plugin_work(uint64_t i);
uint64_t plugin_done(void);

int main(int argc, char **argv)
{
	uint64_t calls, i, sum = 0;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 10000);
	target_go();
	for (i = 0; i < calls; i++)
		sum += plugin_work(i);
	KEEP(sum);
	target_truth(
	    "{\"plugin_work\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":%s}",
	    (unsigned long long)calls, (unsigned long long)plugin_done(),
	    plugin_done() == calls ? "true" : "false");
	return 0;
}
