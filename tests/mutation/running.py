"""Tests against mutants: one process that has imported and collected everything, forked for each mutant.

A mutant's function gets other code in place, so everybody who has imported it sees the fault; a constant is replaced in
every module that has it. Only tests that reach the changed line run, those that noticed most so far for their time
first, until one of them fails.
"""

from __future__ import annotations

import functools
import gc
import os
import re
import resource
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import coverage
import numpy as np
import pytest

from tests.mutation.mutants import Mutant

TESTS_SECONDS: Final = 15.0
"""Time of the tests that a mutant is tried with, at most, as they take with their lines counted."""

SLOW_SECONDS: Final = 1.0
"""A test that takes longer is left out."""

GRACE: Final = 4
"""A test may take so many times the processor time that it takes without a mutant, and a second more."""

WALL: Final = 40
"""Seconds on the clock for each of processor time: a busy machine is no endless loop."""


class Runner:
    """The plugin that runs, in place of pytest's loop, what is to be done with the collected tests."""

    def __init__(self, files: list[Path], work: Callable[[Runner], None]) -> None:
        self.files = {str(path): path for path in files}
        self.items: dict[str, pytest.Item] = {}
        self.seconds: dict[str, float] = {}
        self.reaching: dict[tuple[str, int], list[str]] = {}
        self.failed = False
        self.noticed: Counter[str] = Counter()
        self._work = work
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Look which tests reach which lines, then do the work."""
        self.items = {item.nodeid: item for item in session.items}
        self._look()
        self._index()
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a failure."""
        self.failed |= report.failed

    def _look(self) -> None:
        cov = coverage.Coverage(data_file=None, config_file=False, include=list(self.files))
        signal.signal(signal.SIGPROF, _too_slow)
        cov.start()
        for name, item in list(self.items.items()):
            cov.switch_context(name)
            begun = time.process_time()
            self.failed = False
            signal.setitimer(signal.ITIMER_PROF, SLOW_SECONDS)
            self._protocol(item, None)
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.seconds[name] = time.process_time() - begun
            if self.failed or self.seconds[name] > SLOW_SECONDS:
                del self.items[name]
        cov.stop()
        data = cov.get_data()
        for file in self.files:
            for line, names in data.contexts_by_lineno(file).items():
                known = sorted((name for name in names if name in self.items), key=self.seconds.__getitem__)
                self.reaching[file, line] = known
        reached = {name for names in self.reaching.values() for name in names}
        for file in self.files:  # tests that run none of these lines may look at the constants
            self.reaching[file, 0] = [name for name in self.items if name not in reached]

    def _index(self) -> None:
        gc.collect()
        for found in gc.get_objects():
            if isinstance(found, FunctionType) and found.__code__.co_filename in self.files:
                code = found.__code__
                key = code.co_filename, code.co_qualname, code.co_firstlineno
                self._functions.setdefault(key, []).append(found)
        gc.freeze()

    def _protocol(self, item: pytest.Item, following: pytest.Item | None) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def tests_of(self, file: str, lines: Iterable[int]) -> list[str]:
        """Return the tests that reach any of some lines, as many as there is time for.

        Tests of the file itself come first. Of the others each function is taken once before any is taken with other
        arguments: these see much the same.
        """
        own = f"test_{Path(file).name}::"
        names = {name for line in lines for name in self.reaching.get((file, line), ())}
        turns: Counter[str] = Counter()
        ranked: list[tuple[int, float, str]] = []
        for name in sorted(names, key=lambda name: (self.seconds[name], name)):
            ranked.append((0 if own in name else 1 + turns[_function(name)], self.seconds[name], name))
            turns[_function(name)] += 1
        chosen: list[str] = []
        total = 0.0
        for _, seconds, name in sorted(ranked):
            total += seconds
            if chosen and total > TESTS_SECONDS:
                break
            chosen.append(name)
        return sorted(chosen, key=self._cost)

    def _cost(self, name: str) -> float:
        """Return the time that a test takes, over how often it should notice anything."""
        return self.seconds[name] / (1 + self.noticed[_function(name)])

    def judge(self, mutant: Mutant, root: Path) -> str:
        """Try one mutant: ``killed``, ``timeout``, ``survived``, ``unreached``, or ``invalid``."""
        file = str(root / mutant.path)
        names = self.tests_of(file, _lines(mutant, self.reaching, file))
        if not names:
            return "unreached"
        limit = len(names) + int(GRACE * sum(self.seconds[name] for name in names))
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._in_child(mutant, file, names, writer)
        os.close(writer)
        try:
            ready, _, _ = select.select([reader], [], [], WALL * limit)
            verdict, _, noticing = (os.read(reader, 4096).decode() if ready else "").partition(" ")
        finally:
            os.close(reader)
        if not ready:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if noticing:
            self.noticed[_function(noticing)] += 1
        is_endless = not ready or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF)
        return verdict or ("timeout" if is_endless else "killed")

    def _in_child(self, mutant: Mutant, file: str, names: list[str], writer: int) -> None:
        """Run the tests, tell how it went, and end this process without a word."""
        verdict = "killed"
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGPROF, signal.SIG_DFL)  # it ends the process, also in the middle of the kernel
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            if not self._apply(mutant, file):
                verdict = "invalid"
            else:
                self.failed = False
                tried = [self.items[name] for name in names]
                following: list[pytest.Item | None] = [*tried[1:], None]
                noticed = ""
                for item, then in zip(tried, following, strict=True):
                    signal.setitimer(signal.ITIMER_PROF, 1 + GRACE * self.seconds[item.nodeid])
                    self._protocol(item, then)
                    if self.failed:
                        noticed = item.nodeid
                        break
                verdict = f"killed {noticed}" if self.failed else "survived"
        except BaseException:  # noqa: BLE001  (whatever it is, the fault was noticed)
            verdict = "killed"
        os.write(writer, verdict.encode()[:4096])
        os._exit(0)

    def _apply(self, mutant: Mutant, file: str) -> bool:
        code = compile(mutant.tree(), file, "exec", dont_inherit=True)
        if mutant.is_constant or not self.tests_of(file, [mutant.line]):
            return _run_again(code, file)
        known = {(part.co_qualname, part.co_firstlineno): part for part in _inner(code)}
        done = False
        for (name, qualified, first), functions in self._functions.items():
            new = known.get((qualified, first))
            if name != file or new is None or not qualified.startswith(mutant.scope):
                continue
            for function in functions:
                if new.co_freevars == function.__code__.co_freevars:
                    function.__code__ = new
                    done = True
        _forget(file)
        return done


def _function(name: str) -> str:
    """Return a test's name without its arguments."""
    return name.partition("[")[0]


def _too_slow(number: int, frame: object) -> None:
    del number, frame
    raise TimeoutError("this test takes too long to be tried on mutants")


def _lines(mutant: Mutant, reaching: dict[tuple[str, int], list[str]], file: str) -> Iterable[int]:
    """Lines whose tests may see a mutant: its own; of what runs at the import, all of the file."""
    if mutant.is_constant or not reaching.get((file, mutant.line)):
        return [line for name, line in reaching if name == file]
    return [mutant.line]


def _inner(code: CodeType) -> Iterable[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _inner(part)


_PLAIN: Final = (int, float, str, bytes, tuple, list, dict, set, frozenset, range, re.Pattern, np.ndarray, np.dtype)


def _run_again(code: CodeType, file: str) -> bool:
    """Run a module once more, with a fault, and give its constants the values that they get now, wherever they are."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) != file:
            continue
        again = {key: value for key, value in vars(module).items() if key.startswith("__")}
        exec(code, again)
        package = [part for key, part in sys.modules.items() if key.split(".")[0] == name.split(".")[0]]
        for key, new in again.items():
            old = vars(module).get(key)
            if key.startswith("__") or not isinstance(old, _PLAIN) or not isinstance(new, _PLAIN):
                continue
            for other in package:
                if other is module or getattr(other, key, None) is old:
                    setattr(other, key, new)
        return True
    return False


def _forget(file: str) -> None:
    """Clear what functions of a file remember of earlier calls."""
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and _file_of(found) == file:
            found.cache_clear()


def _file_of(found: Any) -> str:
    code = getattr(getattr(found, "__wrapped__", None), "__code__", None)
    return code.co_filename if code is not None else ""
