"""pyarrow under one untyped name: it has no type stubs, so nothing about it can be checked."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

pa: Final[Any] = import_module("pyarrow")
