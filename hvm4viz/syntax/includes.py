"""Files of a program: which ones may be read, and which were read already."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from hvm4viz import limits
from hvm4viz.errors import Source
from hvm4viz.syntax.tokens import decode


class Unreadable(Exception):
    """A file that is not there, is no file, is too large, or lies outside the root."""


def read_source(path: Path, *, regular: bool = True) -> str:
    """Read and decode a source file; with ``regular``, devices and pipes are refused."""
    if regular and not stat.S_ISREG(path.stat().st_mode):  # asked first: to open a pipe is to wait for its writer
        raise Unreadable("it is no regular file")
    with path.open("rb") as file:
        data = file.read(limits.PROGRAM_BYTES_MAX + 1)
    if len(data) > limits.PROGRAM_BYTES_MAX:
        raise Unreadable(f"it has more than {limits.PROGRAM_BYTES_MAX:,} bytes")
    return decode(data)


class Files:
    """The files read so far, by canonical path (D7).

    Parameters
    ----------
    known : mapping of Path to str
        Texts that need not be read again.
    """

    def __init__(self, known: Mapping[Path, str]) -> None:
        self.known = known
        self.texts: dict[Path, str] = {}
        self.seen: set[Path] = set()

    def include(self, written: str, source: Source, folder: Path, root: Path) -> tuple[Source, Path] | None:
        """Read the file that an ``#include`` names.

        Parameters
        ----------
        written : str
            The path as it stands in the source.
        source, folder : Source, Path
            The including file, and its folder.
        root : Path
            Folder that no include may leave.

        Returns
        -------
        file : (Source, Path) or None
            Text and folder of the file, or None if it was read before.

        Raises
        ------
        Unreadable
            With the reason.
        """
        try:
            path = (folder / written).resolve()
            if not path.is_relative_to(root):
                raise Unreadable(f"it lies outside the root folder {root}; allow a wider one with root='DIR'")
            if path in self.seen:
                return None
            text = self.known[path] if path in self.known else read_source(path)
        except FileNotFoundError as fault:
            where = f"there is no file {fault.filename}; a path starts from the folder of the file that it stands in"
            raise Unreadable(where if fault.filename else fault.strerror) from None
        except OSError as fault:
            raise Unreadable((fault.strerror or str(fault)).lower()) from None
        except (ValueError, RuntimeError):  # a NUL or a surrogate in the path, a loop of links
            raise Unreadable("the path is not valid") from None
        if len(self.seen) >= limits.FILES_MAX:
            raise Unreadable(f"a program has at most {limits.FILES_MAX:,} files")
        self.seen.add(path)
        self.texts[path] = text
        name = os.path.normpath(Path(source.name).parent / written)
        return Source(name, text.partition("\0")[0]), path.parent
