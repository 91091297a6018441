"""Writing the frames of an animation to a file: GIF, MP4, or a page of HTML."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import base64
import html
import io
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from shutil import which
from typing import IO, Any, Final

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray
from PIL import Image

from hvm4viz.figures.captions import alt_text, provenance, title
from hvm4viz.figures.frames import Frames
from hvm4viz.figures.style import DEFERRED, ERROR, FRONTIER, IDLE, PUBLISHED, REDUCED

SHADES: Final = 16
"""Steps between the page and each colour of a role: for the edges of lines, and for what is drawn pale."""

PAGE: Final = Path(__file__).with_name("animation.html")

Picture = NDArray[np.uint8]
"""Red, green and blue, shape (height, width, 3)."""


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


def _few_colors(picture: Picture, page: tuple[float, float, float]) -> Image.Image:
    return Image.fromarray(picture).quantize(palette=_palette(page), dither=Image.Dither.NONE)


class _Unnumbered:
    """A file that does not tell its number: by that Pillow writes itself, and misses that a disk took only half."""

    def __init__(self, file: IO[bytes]) -> None:
        self.write = file.write
        self.flush = file.flush


def write_gif(part: Path, pictures: Iterable[Picture], frames: Frames, fps: float) -> None:
    """Write an endless GIF, frame by frame: what has been written needs no memory."""
    few = (_few_colors(picture, frames.page) for picture in pictures)
    first = next(few)
    with part.open("wb") as sink:  # Pillow does not close a file of its own when it is interrupted
        plain: Any = _Unnumbered(sink)
        first.save(
            plain, format="GIF", save_all=True, append_images=few, loop=0,
            duration=max(round(1000 / fps), 10),
            comment=provenance(frames.trace).encode("ascii", "replace")[:255],
        )  # fmt: skip


def write_mp4(part: Path, pictures: Iterable[Picture], frames: Frames, fps: float) -> None:
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
            raise OSError(0, f"ffmpeg says {words[-1] if words else ffmpeg.returncode}; try .gif")


def _close(pipe: Any) -> None:
    with suppress(BrokenPipeError):
        pipe.close()


def write_page(part: Path, pictures: Iterable[Picture], frames: Frames, fps: float) -> None:
    """Write a page that holds the frames as PNG pictures, and the buttons to play them."""
    template = PAGE.read_text(encoding="utf-8")
    shown = f"Animation of {len(frames):,} passes"
    facts = {"passes": list(frames.passes), "fps": fps}
    head, tail = template.split("FRAMES", 1)
    words = {
        "TITLE": html.escape(title(frames.trace)),
        "ALT": html.escape(alt_text(frames.trace, shown)),
        "ORIGIN": html.escape(provenance(frames.trace)),
        "FACTS": json.dumps(facts),
    }
    # All at once: a name that holds one of these words stays as it is.
    head = re.sub("|".join(words), lambda found: words[found[0]], head)
    with part.open("w", encoding="utf-8") as page:
        page.write(head)
        for at, picture in enumerate(pictures):
            sink = io.BytesIO()
            _few_colors(picture, frames.page).save(sink, format="PNG", optimize=True)
            page.write(f'{"," if at else ""}"{base64.b64encode(sink.getvalue()).decode()}"\n')
        page.write(tail)
