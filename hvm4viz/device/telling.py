"""What CuPy raises where a GPU or its driver fails, told of with an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from hvm4viz.errors import DeviceFailed


def failures(cupy: Any) -> tuple[type[Exception], ...]:
    """Return what CuPy raises where a GPU or its driver fails."""
    return cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError


class Failing:
    """A device that may be lost.

    Parameters
    ----------
    cupy : module

    Attributes
    ----------
    name : str
    failures : tuple of type
        What is raised then.
    """

    name: str

    def __init__(self, cupy: Any) -> None:
        self.cupy, self.failures = cupy, failures(cupy)


D = TypeVar("D", bound=Failing)
P = ParamSpec("P")
R = TypeVar("R")


def told(method: Callable[Concatenate[D, P], R]) -> Callable[Concatenate[D, P], R]:
    """Let a method raise ``DeviceFailed`` where its device fails."""

    @wraps(method)
    def telling(self: D, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except self.failures as error:
            raise DeviceFailed(f"{self.name} failed: {error}", text=str(error)) from None

    return telling
