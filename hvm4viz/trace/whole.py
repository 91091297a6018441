"""Files that are there completely or not at all: written beside their place first, then given their name."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from hvm4viz.errors import TraceError, TraceExists


def file_path(path: str | Path, *, what: str = "file") -> Path:
    """Return a path as given, if it can name a file.

    Raises
    ------
    TraceError
        If it is empty, has a null character, or is a folder.
    """
    if path == "":
        raise TraceError(f"the name of the {what} is empty; write one, such as run.hvt")
    if "\0" in str(path):
        raise TraceError(f"{str(path)!r}: the name of a {what} cannot have a null character")
    path = Path(path)
    if path.is_dir():
        raise TraceError(f"{path}: this is a folder; name a file in it, such as {path / 'run.hvt'}")
    return path


@contextmanager
def whole_file(path: str | Path, *, overwrite: bool = False, what: str = "file") -> Generator[Path]:
    """Let a file be written under another name; give it its own once it is whole and on the disk.

    Parameters
    ----------
    path : path-like
        The file.
    overwrite : bool
        Whether it may replace one that is there.
    what : str
        What messages call it.

    Yields
    ------
    part : Path
        Where to write it.

    Raises
    ------
    TraceExists
        If the file is there already and ``overwrite`` was not asked for.
    TraceError
        If it cannot be written, or the path names no file.
    """
    path = file_path(path, what=what)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    if not overwrite and path.exists():
        raise TraceExists(f"{path}: a file of that name is already there; choose another name, or overwrite=True")
    try:
        yield part
        _sync(part)
        _rename(part, path, overwrite=overwrite)
    except TraceError:
        raise
    except OSError as error:
        raise TraceError(f"{path}: the file cannot be written here: {unwritable(path, error)}") from error
    finally:
        part.unlink(missing_ok=True)


def unwritable(path: Path, error: OSError) -> str:
    """Say why a file cannot be written, and what to do where that is known."""
    if not path.parent.is_dir():
        return f"there is no folder {str(path.parent)!r}; make it, or name a file in another one"
    return error.strerror or str(error)


def _sync(part: Path) -> None:
    file = os.open(part, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _rename(part: Path, path: Path, *, overwrite: bool) -> None:
    try:
        if overwrite:
            part.replace(path)
        else:
            _link(part, path)
    except FileExistsError:
        raise TraceExists(f"{path}: a file of that name is already there; choose another name") from None
    except OSError as error:
        raise TraceError(f"{path}: the file cannot be given this name: {error.strerror or error}") from error


def _link(part: Path, path: Path) -> None:
    """Give the file its name; unlike a rename, this fails if the name was taken meanwhile."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        part.rename(path)  # a file system without links
