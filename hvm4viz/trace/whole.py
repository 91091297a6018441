"""Files that are there completely or not at all: written beside their place first, then given their name.

Whatever writes a file that people keep goes through here.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hvm4viz.errors import TraceError, TraceExists
from hvm4viz.trace.parts import part_of

_NO_ROOM: Final = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


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
        example = path / f"run{path.suffix or '.hvt'}"
        raise TraceError(f"{path}: this is a folder; name a file in it, such as {example}")
    return path


@contextmanager
def whole_file(path: str | Path, *, overwrite: bool = False, what: str = "file") -> Generator[Path]:
    """Let a file be written under another name; give it its own once it is whole and on the disk.

    A link stays a link: it is the file that it leads to which is written.

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
    place = Path(os.path.realpath(path)) if path.is_symlink() else path
    if not overwrite and place.exists():
        raise _exists(path)
    with part_of(place) as part:
        try:
            yield part
            _sync(part)
        except OSError as error:
            raise TraceError(f"{path}: the {what} cannot be written here: {unwritable(part, error)}") from error
        try:
            _rename(part, place, overwrite=overwrite)
        except FileExistsError:
            raise _exists(path) from None
        except OSError as error:
            raise TraceError(f"{path}: the {what} cannot be given this name: {unwritable(part, error)}") from error


def _exists(path: Path) -> TraceExists:
    return TraceExists(
        f"{path}: a file of that name is already there; choose another name, or add overwrite=True to replace it"
    )


def write_whole(path: str | Path, content: str | bytes, *, overwrite: bool = False, what: str = "file") -> Path:
    """Write a file, completely or not at all; see ``whole_file``. Text is written in UTF-8, its line ends as they are.

    Returns
    -------
    path : Path
    """
    data = content.encode() if isinstance(content, str) else content
    with whole_file(path, overwrite=overwrite, what=what) as part:
        try:
            part.write_bytes(data)
        except OSError as error:
            if error.errno in _NO_ROOM:
                error.strerror = f"{error.strerror} (it takes {len(data):,} bytes)"
            raise
    return Path(path)


def copy_whole(folders: dict[Path, str], path: Path, *, what: str) -> Path:
    """Make a folder of copies of folders, completely or not at all.

    Parameters
    ----------
    folders : dict of Path to str
        What to copy, and under which name in the new folder; ``.`` is that folder itself.
    path : Path
        The new folder; nothing may be there but an empty folder.
    what : str
        What messages call it.

    Raises
    ------
    TraceError
        If it cannot be written.
    """
    with part_of(path) as part:
        try:
            for source, name in folders.items():
                _copy(source, part / name)
            part.rename(path)
        except OSError as error:
            raise TraceError(f"{path}: the {what} cannot be copied here: {unwritable(part, error)}") from error
    return path


def _copy(source: Path, target: Path) -> None:
    """Copy the files of a folder, but not who may change them: what is copied is to be worked with."""
    for each in source.rglob("*"):
        if each.is_file():
            file = target / each.relative_to(source)
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(each, file)
            _sync(file)


def _sync(part: Path) -> None:
    file = os.open(part, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _rename(part: Path, path: Path, *, overwrite: bool) -> None:
    if not overwrite:
        _link(part, path)
        return
    with suppress(OSError):
        shutil.copymode(path, part)  # who may read a file may read its next state, nobody else
    part.replace(path)


def _link(part: Path, path: Path) -> None:
    """Give the file its name; unlike a rename, this fails if the name was taken meanwhile."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists():
            raise FileExistsError(path) from None
        part.rename(path)  # a file system without links


def unwritable(path: Path, error: OSError) -> str:
    """Say why a file cannot be written, or could not be to its end, and what to do about it."""
    why = error.strerror or str(error)
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r}; make it, or name a file in another one"
    if error.errno not in (*_NO_ROOM, None):
        return f"{why}; save elsewhere"
    with suppress(OSError):
        why += f"; {shutil.disk_usage(folder).free:,} bytes are free there"
        why += f", and {path.stat().st_size:,} were written"
    return f"{why}; free some space or save elsewhere"
