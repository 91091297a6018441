"""Golden runs: what a device must do, pass by pass, kept in ``golden.json`` and written by ``hvm4viz.golden.make``.

A digest of the heap is kept for every pass, so a difference is found in the pass in which it arose. The kernel's text
is not part of what is compared: goldens outlive a rewrite that does the same.
"""

from hvm4viz.golden.runs import Expected, Golden, goldens

__all__ = ["Expected", "Golden", "goldens"]
