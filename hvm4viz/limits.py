"""Every bound of the package, with its unit and its reason."""

from __future__ import annotations

from typing import Final

FIELDS_MAX: Final = 16
"""Fields of a constructor: tags C00 to C16 are all there are."""

EXT_END: Final = 1 << 24
"""First number that no longer fits EXT: labels, name ids, definition ids, switch literals."""

STATIC_CELLS_MAX: Final = 1 << 24
"""Cells of a book: an ALO word holds its static cell in EXT."""

LEVELS_MAX: Final = 0x7FFFFF
"""Binders around a static term: a LAM's EXT holds its level beside LAM_ERA."""

AUTO_LABEL_START: Final = 0x800000
"""First automatic label (prints ``F___``); there are as many above it."""

NESTING_MAX: Final = 1 << 22
"""Forms that may be open inside each other: some 100 bytes each while the parser waits for their ends."""

PROGRAM_BYTES_MAX: Final = 64 << 20
"""Bytes of one source file, and characters of one source text: what a trace stores whole."""

FILES_MAX: Final = 10_000
"""Files of one program: stops a generated chain of includes, far above any real one."""

FRAMES_MAX: Final = 2_000
"""Frames of an animation unless ``stride`` says how many passes to skip: some minutes of drawing, and of watching."""

FRAME_PIXELS_MAX: Final = 4096
"""Pixels of a side of an animation: what players and encoders of MP4 take."""
