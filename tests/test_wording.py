"""Messages of Python, in the options of the other doors."""

from __future__ import annotations

import pytest

from hvm4viz.errors import HvmSyntaxError
from hvm4viz.program import parse
from hvm4viz.wording import flags_of, in_options, problem_in


@pytest.mark.parametrize(
    ("text", "told"),
    {
        "re-run with heap='2 MiB'": "re-run with --heap '2 MiB'",
        "use device='cpu', or fuel=100": "use --device cpu, or --fuel 100",
        "Machine(blocks=0): must be 1": "--blocks 0: must be 1",
        "Machine(owner_unit='block', dup='claim'): leave out": "--owner-unit block --dup claim: leave out",
        "a smaller Machine(fuel=...), or record='events'": "a smaller --fuel, or --record events",
        "smaller regions with region_size=": "smaller regions with --region-size",
        "stopped; raise max_passes to go on, unless it": "stopped; raise --max-passes to go on, unless it",
        "max_passes=-1: must be 0 or more": "--max-passes -1: must be 0 or more",
        "leave it out of by=; heap='1 GiB' or": "leave it out of by=; --heap '1 GiB' or",
        "a wider one with root='DIR'": "a wider one with --include-root DIR",
        # what is no option, and what is a call, a path or a part of something longer
        "frames=3: must be above 0": "frames=3: must be above 0",
        "in Python, open_trace(..., limit=3) accepts it": "in Python, open_trace(..., limit=3) accepts it",
        "a/heap=3.hvt: damaged": "a/heap=3.hvt: damaged",
        "write pass_diagram,seed=3=run.pdf": "write pass_diagram,seed=3=run.pdf",
        "'limit=3' is not understood": "'limit=3' is not understood",
        "the heap is full; raise the roof to go on": "the heap is full; raise the roof to go on",
    }.items(),
)
def test_settings_are_told_as_options(text: str, told: str) -> None:
    assert in_options(text, flags_of("shell")) == told
    assert in_options(text, {}) == text


def test_options_of_a_command_are_told_as_it_takes_them() -> None:
    flags = {"overwrite": "--overwrite", "size": "--size", "root": "--root"}

    assert (
        in_options("choose another name, or add overwrite=True to replace it", flags)
        == "choose another name, or add --overwrite to replace it"
    )
    assert in_options("size=(300, 401): must be even", flags) == "--size 300x401: must be even"
    assert in_options("root=-1: the heap has cells", flags) == "--root -1: the heap has cells"


def test_what_is_quoted_of_a_program_stays_as_it_is() -> None:
    with pytest.raises(HvmSyntaxError) as caught:
        parse("@main = ! heap=1; heep")

    told = problem_in(caught.value, lambda text: in_options(text, flags_of("shell")))

    assert told == str(caught.value)
    assert "! heap=1; heep" in told
