"""Traces as other tools read them, one format a file."""

from __future__ import annotations
