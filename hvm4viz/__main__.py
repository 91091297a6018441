"""``python -m hvm4viz`` is the command line."""

from hvm4viz.cli import console

console()
