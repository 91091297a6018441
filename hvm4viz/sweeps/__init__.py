"""Many runs as one table: programs by machines by devices, carried out anywhere, kept as they finish."""

from hvm4viz.sweeps.summary import medians, provenance
from hvm4viz.sweeps.sweep import sweep

__all__ = ["medians", "provenance", "sweep"]
