"""A run as a moving picture: a frame a pass, as GIF, MP4 or one HTML page."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import which
from typing import Final, Literal

from hvm4viz.figures.animation_files import Picture, write_gif, write_mp4, write_page
from hvm4viz.figures.frames import Frames
from hvm4viz.interrupt import kept_interrupts
from hvm4viz.limits import FRAME_PIXELS_MAX, FRAMES_MAX
from hvm4viz.progress import Line, show_for
from hvm4viz.trace.sparse import check_pass
from hvm4viz.trace.trace import Trace
from hvm4viz.trace.whole import whole_file

FORMATS: Final = (".gif", ".mp4", ".html")


def animate(
    trace: Trace,
    path: str | Path,
    *,
    passes: Sequence[int] | None = None,
    fps: float = 12,
    size: tuple[int, int] = (960, 540),
    progress: bool | Literal["auto"] = True,
    stride: int | None = None,
) -> Path:
    """Write a moving picture of a run: the entries of one pass after the other, below the profile of the run.

    The file is there completely or not at all: whatever ends this early, such as an interrupt, leaves what was there.

    Parameters
    ----------
    trace : Trace
        Below level ``events``, frames show the cells in use of each region.
    path : path-like
        Ends in .gif, .mp4 or .html; a file that is there is replaced. HTML is one page that needs no network.
    passes : sequence of int, optional
        Which passes, in this order, -1 is the last; all if left out.
    fps : float
        Frames a second.
    size : (int, int)
        Width and height in pixels, at least 320 x 240; for MP4 even numbers.
    progress : bool or "auto"
        Show one updating line if it takes long.
    stride : int, optional
        Take every so-manieth of these passes.

    Returns
    -------
    path : Path
        The file; ends in .gif if MP4 was asked for and there is no ffmpeg, which is said as a warning.

    Raises
    ------
    ValueError
        If an option is out of range, or there are more than 2,000 frames and no ``stride``.
    IndexError
        If there is no such pass.
    TraceError
        If the file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower()
    _check(kind, fps, size, stride)
    chosen = _chosen(trace, passes, stride)
    if kind == ".mp4" and which("ffmpeg") is None:
        _warn_of_gif(path)
        path, kind = path.with_suffix(".gif"), ".gif"
    frames = Frames(trace, chosen, size)
    write = {".gif": write_gif, ".mp4": write_mp4, ".html": write_page}[kind]
    with kept_interrupts(), whole_file(path, overwrite=True, what="animation") as part:
        write(part, _shown(frames, progress), frames, fps)
    return path


def _check(kind: str, fps: float, size: tuple[int, int], stride: int | None) -> None:
    if kind not in FORMATS:
        raise ValueError(f"animation file ends in {kind!r}: must end in one of {', '.join(FORMATS)}")
    if not 0 < fps <= 100:
        raise ValueError(f"fps={fps}: must be above 0, and at most 100")
    width, height = size
    if not (320 <= width <= FRAME_PIXELS_MAX and 240 <= height <= FRAME_PIXELS_MAX):
        raise ValueError(f"size={size}: must be 320 x 240 to {FRAME_PIXELS_MAX} x {FRAME_PIXELS_MAX} pixels")
    if kind == ".mp4" and (width % 2 or height % 2):
        raise ValueError(f"size={size}: MP4 needs even numbers, such as {(width + width % 2, height + height % 2)}")
    if stride is not None and stride < 1:
        raise ValueError(f"stride={stride}: must be 1 or more")


def _chosen(trace: Trace, passes: Sequence[int] | None, stride: int | None) -> list[int]:
    """Choose the passes, and refuse too many of them."""
    every = range(trace.n_passes) if passes is None else [check_pass(p, trace.n_passes) for p in passes]
    chosen = list(every[:: stride or 1])
    if not chosen:
        raise ValueError("no pass to show: the trace is empty, or passes is")
    if stride is None and len(chosen) > FRAMES_MAX:
        raise ValueError(
            f"{len(chosen):,} frames, but at most {FRAMES_MAX:,} are drawn unless you say how many passes to skip: use "
            f"stride={-(-len(chosen) // FRAMES_MAX)}, or name the passes"
        )
    return chosen


def _warn_of_gif(path: Path) -> None:
    warnings.warn(
        f"{path.name}: MP4 needs ffmpeg, and there is none on the PATH; wrote {path.with_suffix('.gif').name} instead",
        stacklevel=3,
    )


def _shown(frames: Frames, wish: bool | Literal["auto"]) -> Iterator[Picture]:  # noqa: FBT001  (as given)
    """Pass the frames on, and show how far they are."""
    show = show_for(wish)
    line = Line(show) if show else None
    done, how = 0, "stopped"
    try:
        for p, picture in frames:
            yield picture
            done += 1
            seconds = line.due() if line else None
            if line and seconds is not None:
                left = (len(frames) - done) * seconds / done
                line.tell(
                    f"frame {done:,} of {len(frames):,} | pass {p:,} | {done / seconds:.1f} frames/s | "
                    f"{left:.0f} s left"
                )
        how = "done"
    finally:
        if line:
            line.end(how, text=f"frame {done:,} of {len(frames):,}")
