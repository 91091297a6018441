"""The gallery: README.md beside this file, with a picture of each figure and the five lines that made it.

``python -m hvm4viz.figures.gallery``, in a checkout, writes it anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from hvm4viz.trace.whole import write_whole

FOLDER: Final = Path(__file__).parent
IMAGES: Final = "images"

_RUN: Final = 'run = hv.run(program, device="cpu")'

ENTRIES: Final[dict[str, tuple[str, str, str, str]]] = {
    "overview": ("How did the run go, at one glance?", "queens", _RUN, "overview(run.trace)"),
    "frontier_profile": (
        "How wide was each pass, and how much of it had to wait?",
        "cheapest_change",
        _RUN,
        "frontier_profile(run.trace)",
    ),
    "deferral_heatmap": (
        "Where and when did tasks have to wait?",
        "cheapest_change",
        _RUN,
        "deferral_heatmap(run.trace)",
    ),
    "deferral_age": (
        "How long did they wait?",
        "queens",
        'run = hv.run(program, device="cpu", machine=hv.Machine(defer="return"))',
        "deferral_age(run.trace)",
    ),
    "region_occupancy": (
        "How full was each region at the end of a pass?",
        "queens",
        'run = hv.run(program, device="cpu", machine=hv.Machine(region_size=1024))',
        "region_occupancy(run.trace, 40)",
    ),
    "ownership_map": (
        "Which block owned each region?",
        "wide_map",
        'run = hv.run(program, device="cpu", machine=hv.Machine(region_size=256))',
        "ownership_map(run.trace)",
    ),
    "interaction_mix": ("Which interactions was the run made of?", "queens", _RUN, "interaction_mix(run.trace)"),
    "pass_diagram": (
        "What did each thread do in a pass, and to whom did it have to defer?",
        "words",
        'run = hv.run(program, device="cpu", machine=hv.Machine(blocks=4, threads_per_block=2))',
        "pass_diagram(run.trace)",
    ),
    "filmstrip": (
        "Where did tasks go that were not done?",
        "words",
        'run = hv.run(program, device="cpu", machine=hv.Machine(blocks=4, threads_per_block=2))',
        "filmstrip(run.trace, range(8, 14))",
    ),
    "net_diagram": (
        "What did the term look like in the middle of the run?",
        "queens",
        'run = hv.run(program, device="cpu", record="full")',
        "net_diagram(run.trace, 3, max_nodes=24)",
    ),
    "thread_map": ("How evenly was the work spread over the threads?", "queens", _RUN, "thread_map(run.trace)"),
    "compare_heatmap": (
        "What becomes of the waiting with other settings?",
        "queens",
        'a, b = (hv.run(program, device="cpu", machine=hv.Machine(blocks=n)).trace for n in (8, 16))',
        "compare_heatmap(a, b)",
    ),
    "scaling": (
        "How does it scale? Here in passes, the same wherever it runs; `ips` and `speedup` need a quiet machine.",
        "queens",
        'runs = [hv.run(program, device="cpu", machine=hv.Machine(fuel=n)) for n in (4, 16, 64, 256, 1024)]',
        'scaling(runs, x="fuel", y="passes")',
    ),
}
"""Of each figure: the question that it answers, the program, how it is run, and how the figure is drawn."""

_HEAD: Final = """\
# Figures

What each figure shows, and the five lines that made it, run in a checkout of the project. Every figure takes `ax=`,
returns a Matplotlib figure and touches nothing else; `figures.style(venue, width)` sets the width and the type sizes of
ACM, IEEE, Nature or LNCS, and `figures.save` writes PDF, PNG and SVG, the same bytes for the same run. A description in
words and the digest of the run are written into the files. `hvm4viz figure RUN.hvt KIND OUT` draws the same from the
command line.

This page is written by `python -m hvm4viz.figures.gallery`.
"""


def lines(name: str) -> str:
    """Return the five lines that draw a figure and write it to a file of its name."""
    _, program, run, draw = ENTRIES[name]
    return "\n".join(
        (
            "import hvm4viz as hv",
            "from hvm4viz import figures",
            "",  # as formatters have it
            f'program = hv.load("notebooks/programs/{program}.hvm4")',
            run,
            f'figures.save(figures.{draw}, "{name}", formats=("png",))',
        )
    )


def page() -> str:
    """Return the text of the gallery."""
    parts = [_HEAD]
    for name, (question, *_) in ENTRIES.items():
        parts.append(f"## {name}\n\n{question}\n\n![{name}]({IMAGES}/{name}.png)\n\n```python\n{lines(name)}\n```\n")
    return "\n".join(parts)


def draw(name: str, folder: Path) -> Path:
    """Run the five lines of a figure; the picture is written into a folder.

    The working directory must be a checkout of the project.
    """
    code = lines(name).replace(f'"{name}", formats', f"{str(folder / name)!r}, formats")
    exec(compile(code, f"the five lines of {name}", "exec"), {})  # noqa: S102  (lines of ours, from above)
    return folder / f"{name}.png"


def write(names: tuple[str, ...] = tuple(ENTRIES)) -> None:
    """Write the page, and the pictures of some figures or of all."""
    for name in names:
        draw(name, FOLDER / IMAGES)
    write_whole(FOLDER / "README.md", page(), overwrite=True)


if __name__ == "__main__":
    write(tuple(sys.argv[1:]) or tuple(ENTRIES))
