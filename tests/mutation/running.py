"""Tests against mutants: one process that has imported and collected everything, forked for each mutant.

A mutant's function gets other code in place, so everybody who has imported it sees the fault; a constant is replaced in
every module that has it. Only tests that reach the changed line run, those that noticed most so far for their time
first, until one of them fails.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import pickle
import re
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
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

WALL: Final = 20
"""A test may take so many times the time on the clock, and of a second more: a busy machine is no endless wait."""

CHUNK: Final = 4
"""Tests that a process takes at once."""


class Runner:
    """The plugin that runs, in place of pytest's loop, what is to be done with the collected tests.

    Tests run in forks alone: what one of them leaves behind, no other one sees.
    """

    def __init__(self, files: list[Path], work: Callable[[Runner], None], jobs: int = 1) -> None:
        self.files = {str(path): path for path in files}
        self.jobs = jobs
        self.items: dict[str, pytest.Item] = {}
        self.seconds: dict[str, float] = {}
        self.left_out: dict[str, str] = {}
        self.reaching: dict[tuple[str, int], list[str]] = {}
        self.failed = False
        self.noticed: Counter[str] = Counter()
        self._walls: dict[str, float] = {}
        self._work = work
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = {}
        self._caches: list[functools._lru_cache_wrapper[Any]] = []

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

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what cannot be collected: its tests notice nothing."""
        if report.failed:
            self.left_out[report.nodeid] = "cannot be imported"

    def _look(self) -> None:
        """Run every test once, in as many processes as there are jobs, and gather what they saw."""
        names = list(self.items)
        queue, feed = os.pipe()
        for first in range(0, len(names), CHUNK):
            os.write(feed, struct.pack("=i", first))
        os.close(feed)
        children = [_fork(functools.partial(self._look_at, names, queue)) for _ in range(self.jobs)]
        os.close(queue)
        reached: set[str] = set()
        modules: set[str] = set()
        for child, reader in children:
            with os.fdopen(reader, "rb") as file:
                seen: _Seen = pickle.load(file)
            _end(child)
            self.seconds |= seen.seconds
            self._walls |= seen.walls
            self.left_out |= seen.left_out
            modules |= seen.modules
            for place, numbers in seen.reaching.items():
                self.reaching.setdefault(place, []).extend(names[number] for number in numbers)
                reached.update(names[number] for number in numbers)
        for name in self.left_out:
            self.items.pop(name, None)
        for place, known in self.reaching.items():
            self.reaching[place] = sorted((n for n in known if n in self.items), key=self.seconds.__getitem__)
        for file in self.files:  # tests that run none of these lines may look at the constants
            self.reaching[file, 0] = [name for name in self.items if name not in reached]
        for module in sorted(modules - set(sys.modules)):  # once, and not in each fork
            with contextlib.suppress(Exception):
                importlib.import_module(module)

    def _look_at(self, names: list[str], queue: int, writer: int) -> None:
        """Run tests, as long as there are any, and write what was seen."""
        before = set(sys.modules)
        seen = _Seen()
        cov = coverage.Coverage(data_file=None, config_file=False, include=list(self.files))
        signal.signal(signal.SIGPROF, _too_slow)
        cov.start()
        tracer = sys.gettrace()
        parent = os.getppid()
        while os.getppid() == parent and (first := os.read(queue, 4)):
            start = struct.unpack("=i", first)[0]
            for number, name in enumerate(names[start : start + CHUNK], start):
                cov.switch_context(str(number))
                known = len(sys.modules)
                reason = self._time(name, seen)
                if reason and len(sys.modules) > known:  # imports make it slow once
                    reason = self._time(name, seen)
                if reason:
                    seen.left_out[name] = reason
                if sys.gettrace() is not tracer:  # this test took it away
                    sys.settrace(tracer)
        cov.stop()
        data = cov.get_data()
        for file in self.files:
            for line, contexts in data.contexts_by_lineno(file).items():
                seen.reaching[file, line] = [int(context) for context in contexts if context]
        seen.modules = set(sys.modules) - before
        with os.fdopen(writer, "wb") as file:
            pickle.dump(seen, file)

    def _time(self, name: str, seen: _Seen) -> str:
        """Run a test and note how long it takes; return why it is to be left out, if it is."""
        self.failed = False
        wall, total, own = time.monotonic(), _all_seconds(), time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SLOW_SECONDS)
        self._protocol(self.items[name], None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        own = time.process_time() - own
        seen.seconds[name] = _all_seconds() - total
        seen.walls[name] = time.monotonic() - wall
        return "too slow" if own > SLOW_SECONDS else "fails" if self.failed else ""

    def _index(self) -> None:
        gc.unfreeze()  # what an earlier module's runner froze
        gc.collect()
        for found in gc.get_objects():
            if isinstance(found, functools._lru_cache_wrapper) and _file_of(found) in self.files:
                self._caches.append(found)
            elif isinstance(found, FunctionType) and found.__code__.co_filename in self.files:
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

    def judge(self, drawn: Iterable[Mutant], root: Path) -> Iterator[tuple[Mutant, str]]:
        """Try mutants, as many at once as there are jobs.

        Yields
        ------
        mutant, verdict
            As they come: ``killed``, ``timeout``, ``survived``, ``unreached``, or ``invalid``.
        """
        running: dict[int, tuple[int, Mutant]] = {}
        waiting = iter(drawn)
        is_open = True
        try:
            while is_open or running:
                while is_open and len(running) < self.jobs:
                    mutant = next(waiting, None)
                    if mutant is None:
                        is_open = False
                        break
                    file = str(root / mutant.path)
                    names = self.tests_of(file, _lines(mutant, self.reaching, file))
                    if not names:
                        yield mutant, "unreached"
                        continue
                    child, reader = _fork(functools.partial(self._in_child, mutant, file, names))
                    running[reader] = child, mutant
                for reader in select.select(list(running), [], [])[0] if running else ():
                    child, mutant = running.pop(reader)
                    yield mutant, self._verdict(child, reader)
        finally:
            for reader, (child, _) in running.items():
                os.kill(child, signal.SIGKILL)
                _end(child)
                os.close(reader)

    def _verdict(self, child: int, reader: int) -> str:
        """Read how it went, once a child has told it or ended."""
        verdict, _, noticing = os.read(reader, 4096).decode().partition(" ")
        os.close(reader)
        status = _end(child)
        if noticing:
            self.noticed[_function(noticing)] += 1
        is_endless = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM)
        return verdict or ("timeout" if is_endless else "killed")

    def _in_child(self, mutant: Mutant, file: str, names: list[str], writer: int) -> None:
        """Run the tests and tell how it went."""
        verdict = "killed"
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for number in (signal.SIGPROF, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)  # it ends the process, also in the middle of the kernel
            if not self._apply(mutant, file):
                verdict = "invalid"
            else:
                self.failed = False
                tried = [self.items[name] for name in names]
                following: list[pytest.Item | None] = [*tried[1:], None]
                noticed = ""
                for item, then in zip(tried, following, strict=True):
                    signal.setitimer(signal.ITIMER_PROF, 1 + GRACE * self.seconds[item.nodeid])
                    signal.setitimer(signal.ITIMER_REAL, WALL * (1 + self._walls[item.nodeid]))
                    self._protocol(item, then)
                    if self.failed:
                        noticed = item.nodeid
                        break
                verdict = f"killed {noticed}" if self.failed else "survived"
        except BaseException:  # noqa: BLE001  (whatever it is, the fault was noticed)
            verdict = "killed"
        os.write(writer, verdict.encode()[:4096])

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
        for cached in self._caches:
            if _file_of(cached) == file:
                cached.cache_clear()
        return done


@dataclass
class _Seen:
    """What one process saw: seconds of each test, on all processors and on the clock, which lines it reached."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    walls: dict[str, float] = field(default_factory=dict[str, float])
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    reaching: dict[tuple[str, int], list[int]] = field(default_factory=dict[tuple[str, int], list[int]])
    modules: set[str] = field(default_factory=set[str])


def _fork(work: Callable[[int], None]) -> tuple[int, int]:
    """Do some work in a process of its own, without a word; return its id, and a pipe from what it is given."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    try:
        os.setpgid(0, 0)  # with all that it starts, it ends at once
        os.environ["TMPDIR"] = tempfile.tempdir = _folder(os.getpid())
        Path(tempfile.tempdir).mkdir()
        os.close(reader)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        work(writer)
    finally:
        os._exit(0)


def _end(child: int) -> int:
    """Wait for the end of a child that has nothing more to say, with all that it started; return its status."""
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    shutil.rmtree(_folder(child), ignore_errors=True)
    return status


def _folder(child: int) -> str:
    """Return a child's own folder for temporary files."""
    return f"{tempfile.gettempdir()}/mutant-{child}"


def _all_seconds() -> float:
    """Return the processor time of this process and of those that it waited for."""
    return sum(os.times()[:4])


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
_GONE: Final = object()


def _run_again(code: CodeType, file: str) -> bool:
    """Run a module once more, with a fault, and give its constants the values that they get now, wherever they are."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) != file:
            continue
        again = {key: value for key, value in vars(module).items() if key.startswith("__")}
        exec(code, again)
        package = [part for key, part in sys.modules.items() if key.split(".")[0] == name.split(".")[0]]
        for key, old in list(vars(module).items()):
            new = again.get(key, _GONE)
            if key.startswith("__") or not isinstance(old, _PLAIN) or not (new is _GONE or isinstance(new, _PLAIN)):
                continue
            for other in package:
                if other is not module and getattr(other, key, None) is not old:
                    continue
                if new is _GONE:
                    delattr(other, key)
                else:
                    setattr(other, key, new)
        return True
    return False


def _file_of(found: Any) -> str:
    code = getattr(getattr(found, "__wrapped__", None), "__code__", None)
    return code.co_filename if code is not None else ""
