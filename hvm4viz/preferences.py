"""What this session prefers where a call does not say: ``set_options``, for good or for a block."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, cast

from hvm4viz.settings import parse_size

CHOICES: Final[dict[str, tuple[object, ...]]] = {
    "palette": ("okabe_ito", "grey"),
    "view": ("auto", "widget", "static", "table", "text", "none"),
    "theme": ("auto", "light", "dark"),
    "progress": ("auto", True, False),
}
"""Allowed values of each closed preference."""

DEFAULTS: Final[dict[str, object]] = {
    "device": "auto",
    "palette": "okabe_ito",
    "view": "auto",
    "theme": "auto",
    "progress": "auto",
    "trace_limit": "512 MiB",
}

_CURRENT: ContextVar[dict[str, object]] = ContextVar("preferences", default=DEFAULTS)
_WORDS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def set_options(**options: Any) -> None:
    """Choose what calls of this session do when they do not say.

    Parameters
    ----------
    **options
        ``device``: a kind of ``devices()`` or "auto"; ``palette``: "okabe_ito" or "grey"; ``view``: what a cell shows,
        "auto", "widget", "static", "table", "text" or "none"; ``theme``: "auto", "light" or "dark"; ``progress``:
        "auto", True or False; ``trace_limit``: bytes, or text such as "512 MiB".

    Raises
    ------
    ValueError
        If there is no such option, or it has no such value; nothing is changed then.
    """
    _CURRENT.set({**_CURRENT.get(), **_checked(options)})


@contextmanager
def option_context(**options: Any) -> Generator[None]:
    """Choose options as ``set_options`` does, inside a ``with`` block."""
    token = _CURRENT.set({**_CURRENT.get(), **_checked(options)})
    try:
        yield
    finally:
        _CURRENT.reset(token)


def preference(name: str) -> Any:
    """Return what is preferred now."""
    return _CURRENT.get()[name]


def preferences() -> dict[str, object]:
    """Return every preference by name."""
    return dict(_CURRENT.get())


def read_option(text: str) -> dict[str, object]:
    """Read ``NAME=VALUE`` as a line of a notebook says it.

    Raises
    ------
    ValueError
        If it is no such text.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r}: write NAME=VALUE, such as view=static")
    return {name: _WORDS.get(value.lower(), value) if name == "progress" else value}


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    for name, value in options.items():
        if name not in DEFAULTS:
            raise ValueError(f"no option {name!r}; there are: {', '.join(DEFAULTS)}")
        if name in CHOICES and not any(value == each and type(value) is type(each) for each in CHOICES[name]):
            raise ValueError(f"{name}={value!r}: must be one of {', '.join(map(repr, CHOICES[name]))}")
        if name == "device" and (not isinstance(value, str) or not value):
            raise ValueError(f"device={value!r}: must be the name of a kind of device, or 'auto'")
        if name == "trace_limit":
            parse_size(cast("int | str", value))
    return options
