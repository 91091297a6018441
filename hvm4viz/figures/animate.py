"""A run as a moving picture: a frame a pass, as GIF, MP4 or one HTML page."""

from __future__ import annotations

import base64
import html
import io
import json
import subprocess
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any, Final, Literal

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray
from PIL import Image

from hvm4viz.errors import TraceError
from hvm4viz.figures.captions import alt_text, provenance
from hvm4viz.figures.frames import Frames
from hvm4viz.figures.style import DEFERRED, ERROR, FRONTIER, IDLE, PUBLISHED, REDUCED
from hvm4viz.limits import FRAME_PIXELS_MAX, FRAMES_MAX
from hvm4viz.progress import Line, show_for
from hvm4viz.trace.sparse import check_pass
from hvm4viz.trace.trace import Trace
from hvm4viz.trace.whole import whole_file

FORMATS: Final = (".gif", ".mp4", ".html")

SHADES: Final = 16
"""Steps between the page and each colour of a role: for the edges of lines, and for what is drawn pale."""

PAGE: Final = Path(__file__).with_name("animation.html")

_Picture = NDArray[np.uint8]


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
    write = {".gif": _write_gif, ".mp4": _write_mp4, ".html": _write_page}[kind]
    with whole_file(path, overwrite=True, what="animation") as part:
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
            f"stride={-(-len(chosen) // FRAMES_MAX)} (--stride on the command line), or name the passes"
        )
    return chosen


def _warn_of_gif(path: Path) -> None:
    warnings.warn(
        f"{path.name}: MP4 needs ffmpeg, and there is none on the PATH; wrote {path.with_suffix('.gif').name} instead",
        stacklevel=3,
    )


def _shown(frames: Frames, wish: bool | Literal["auto"]) -> Iterator[_Picture]:  # noqa: FBT001  (as given)
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


@cache
def _palette(page: tuple[float, float, float]) -> Image.Image:
    """Return colours that are the same in all frames: those of all roles, and the steps from the page to them."""
    looks = (IDLE, FRONTIER, REDUCED, DEFERRED, PUBLISHED, ERROR)
    inks = [to_rgb(color) for look in looks for color in (look.color, look.text)]
    steps = np.linspace(0, 1, SHADES)[:, None]
    shades = [(1 - steps) * page + steps * np.array(ink) for ink in inks]
    greys = np.linspace(0, 1, 24)[:, None]  # no finer: Pillow looks for the nearest in steps of 8
    shades.append((1 - greys) * page + greys * (1 - np.round(page)))
    colors = np.round(np.concatenate(shades) * 255).astype(np.uint8)
    found = Image.new("P", (1, 1))
    found.putpalette(colors.tobytes())
    return found


def _few_colors(picture: _Picture, page: tuple[float, float, float]) -> Image.Image:
    return Image.fromarray(picture).quantize(palette=_palette(page), dither=Image.Dither.NONE)


def _write_gif(part: Path, pictures: Iterable[_Picture], frames: Frames, fps: float) -> None:
    """Write an endless GIF, frame by frame: what has been written needs no memory."""
    few = (_few_colors(picture, frames.page) for picture in pictures)
    first = next(few)
    with part.open("wb") as sink:  # Pillow does not close a file of its own when it is interrupted
        first.save(
            sink, format="GIF", save_all=True, append_images=few, duration=max(round(1000 / fps), 10), loop=0,
            comment=provenance(frames.trace).encode("ascii", "replace")[:255],
        )  # fmt: skip


def _write_mp4(part: Path, pictures: Iterable[_Picture], frames: Frames, fps: float) -> None:
    """Hand the frames to ffmpeg as they are drawn."""
    width, height = frames.size
    command = [
        str(which("ffmpeg")), "-loglevel", "error", "-nostdin", "-y",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "pipe:0",
        "-an", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-fflags", "+bitexact", "-flags:v", "+bitexact",
        "-metadata", f"comment={provenance(frames.trace)}", "-f", "mp4", str(part.resolve()),
    ]  # fmt: skip
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as ffmpeg:
            assert ffmpeg.stdin
            try:
                for picture in pictures:
                    ffmpeg.stdin.write(picture.tobytes())
            except BrokenPipeError:
                pass  # it says why below
            except BaseException:
                ffmpeg.kill()
                raise
            finally:
                _close(ffmpeg.stdin)
        if ffmpeg.returncode:
            said.seek(0)
            words = said.read().decode("utf-8", "replace").strip().splitlines()
            raise TraceError(
                f"ffmpeg could not write the animation: {words[-1] if words else ffmpeg.returncode}; try .gif"
            )


def _close(pipe: Any) -> None:
    with suppress(BrokenPipeError):
        pipe.close()


def _write_page(part: Path, pictures: Iterable[_Picture], frames: Frames, fps: float) -> None:
    """Write a page that holds the frames as PNG pictures, and the buttons to play them."""
    template = PAGE.read_text(encoding="utf-8")
    shown = f"Animation of {len(frames):,} passes"
    facts = {"passes": list(frames.passes), "fps": fps}
    head, tail = template.split("FRAMES", 1)
    head = head.replace("ALT", html.escape(alt_text(frames.trace, shown))).replace("FACTS", json.dumps(facts))
    head = head.replace("ORIGIN", html.escape(provenance(frames.trace)))
    with part.open("w", encoding="utf-8") as page:
        page.write(head)
        for at, picture in enumerate(pictures):
            sink = io.BytesIO()
            _few_colors(picture, frames.page).save(sink, format="PNG", optimize=True)
            page.write(f'{"," if at else ""}"{base64.b64encode(sink.getvalue()).decode()}"\n')
        page.write(tail)
