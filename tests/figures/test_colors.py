"""Colours that are told apart on a grey print and with the three common deficiencies of colour vision, simulated.

The matrices are those of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
Deficiency", IEEE TVCG 15(6), 2009, at severity 1.0; they are for linear RGB.
"""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from hvm4viz import figures
from hvm4viz.events import OUTCOMES
from hvm4viz.figures.interaction_mix import LOOKS as RULE_LOOKS
from hvm4viz.figures.outcomes import LOOKS as OUTCOME_LOOKS
from hvm4viz.figures.scaling import LOOKS as CURVE_LOOKS

look: Any = importlib.import_module("hvm4viz.figures.style")  # the package has a function of that name too

VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
    "grey": np.tile([0.2126, 0.7152, 0.0722], (3, 1)),
}
SEEN: Any = pytest.mark.parametrize("vision", VISION)


def linear(colors: Any) -> np.ndarray:
    rgb = np.asarray(colors, float)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(colors: Any, vision: str) -> np.ndarray:
    """Return CIE L*a*b* (D65) of colours as somebody sees them."""
    seen = np.clip(linear(colors) @ VISION[vision].T, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = seen @ to_xyz.T / [0.9505, 1.0, 1.089]
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def apart(one: Any, other: Any, vision: str) -> float:
    """Return how far apart two colours are: 2.3 is just seen side by side, 10 at a glance."""
    return float(np.linalg.norm(lab(to_rgb(one), vision) - lab(to_rgb(other), vision)))


def test_the_simulation_confuses_what_it_must() -> None:
    red, green = "#c04040", "#6f7a20"
    assert apart(red, green, "normal") > 50
    assert apart(red, green, "deuteranopia") < 25
    assert apart("#ff0000", "#00ff00", "normal") > 150
    assert apart("white", "#fefefe", "grey") < 1


@SEEN
def test_curves_differ_in_marker_and_line_and_neighbours_in_colour(vision: str) -> None:
    assert len({(marker, line) for _, marker, line in CURVE_LOOKS}) == len(CURVE_LOOKS)
    assert len({marker for _, marker, _ in CURVE_LOOKS}) == len(CURVE_LOOKS)
    for (one, *_), (other, *_) in itertools.pairwise(CURVE_LOOKS[:6]):
        assert apart(one, other, vision) > (5 if vision == "grey" else 10)


@SEEN
def test_bands_that_touch_differ_in_colour_or_hatch(vision: str) -> None:
    for (one, hatch), (other, another) in itertools.combinations(RULE_LOOKS, 2):
        assert hatch != another or apart(one, other, vision) > 10, (one, other)
    assert len({hatch for _, hatch in RULE_LOOKS}) >= len(RULE_LOOKS) - 1


@SEEN
def test_outcomes_differ_in_colour_or_hatch(vision: str) -> None:
    for (a, one), (b, other) in itertools.combinations(zip(OUTCOMES, OUTCOME_LOOKS, strict=True), 2):
        if "unrun" in (a, b):  # never recorded
            continue
        assert one.hatch != other.hatch or apart(one.color, other.color, vision) > 10, (a, b)


@SEEN
@pytest.mark.parametrize("dark", [False, True])
def test_more_counts_look_like_more(vision: str, dark: bool) -> None:  # noqa: FBT001
    with figures.style("acm", dark=dark), look.drawing():
        colors, zero = look.color_map(), look.zero_color()
    lightness = lab(colors(np.linspace(0, 1, 64))[:, :3], vision)[:, 0]
    assert (np.diff(lightness) > 0).all()
    assert lightness[-1] - lightness[0] > 45
    all_apart = [apart(color, zero, vision) for color in colors(np.linspace(0, 1, 64))[:, :3]]
    limit = 6 if vision == "grey" else 10
    # Light grey crosses the lightness of the map once, far above the counts that must not be missed.
    assert min(all_apart[:40]) > limit, "a low count looks like none"
    assert all_apart[0] > 20, "the least count looks like none"


@SEEN
@pytest.mark.parametrize("dark", [False, True])
def test_the_least_difference_is_seen_and_its_sign_too(vision: str, dark: bool) -> None:  # noqa: FBT001
    with figures.style("acm", dark=dark), look.drawing():
        colors, zero = look.diverging_map(), look.zero_color()
    less, more = colors(0.44)[:3], colors(0.56)[:3]
    for least in (less, more):
        assert apart(least, zero, vision) > 9
    if vision != "grey":  # there the strip above the map tells the direction
        assert apart(less, more, vision) > 20
    assert apart(colors(0.0), colors(1.0), vision) > 15
    assert apart(colors(0.5), zero, vision) < 8


@pytest.mark.parametrize("role", ["IDLE", "FRONTIER", "REDUCED", "DEFERRED", "PUBLISHED", "ERROR"])
def test_lines_and_words_are_seen_on_both_pages(role: str) -> None:
    for dark in (False, True):
        with figures.style("acm", dark=dark), look.drawing():
            page, ink = mpl.rcParams["figure.facecolor"], look.ink(getattr(look, role))
        high, low = sorted((float(linear(to_rgb(c)) @ [0.2126, 0.7152, 0.0722]) for c in (page, ink)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 3.2
