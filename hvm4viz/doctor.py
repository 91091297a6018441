"""``doctor``: what is here, what is missing, and the one command that puts it right."""

from __future__ import annotations

from hvm4viz import health
from hvm4viz.device import devices
from hvm4viz.diagnosis import Check, Diagnosis


def doctor() -> Diagnosis:
    """Look at everything that this package needs or can use.

    Returns
    -------
    diagnosis : Diagnosis
        Each check with what was found and, where something is missing, the one command that puts it right; a table in
        a notebook, text when printed.
    """
    checks = [health.python(), *health.packages(), health.compiler(), health.cache()]
    found = devices()
    checks += [check for info in found for check in health.device(info)]
    if not any(info.usable for info in found):
        checks.append(Check("devices", "FIX", "no device can run the kernel here", "pip install ziglang"))
    return Diagnosis((*checks, health.lab(), health.widget()))
