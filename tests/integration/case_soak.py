# SPDX-License-Identifier: GPL-2.0-or-later
"""Attached and detached again and again, to and from hostile programs: the part of `make soak` that each check does."""
from soak import soak
from harness import *


@case("300 times attached and detached, half of them ended by kill -9 at a random moment: no target is harmed, nothing is left")
def short_soak():
    with NothingLeft():
        tally = soak(os.environ.get("PEAKTOP_SEED", "20061108"), 300)
    for line in tally.lines():
        print("# " + line, flush=True)
    unharmed(not tally.harms, "; ".join(tally.harms))


main()
