"""A pool of processes in which a process that dies takes one call with it, and no more.

The standard library's process pool is broken as a whole when one of its processes dies, and asks scripts for a guard
around their main part, for each process imports the script again. These processes are plain interpreters that read
calls from their standard input: they know nothing of the script, and each is replaced when it dies.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any, Final

_LENGTH: Final = struct.Struct("<Q")
_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
    "from hvm4viz.sweeps.processes import serve; serve()"
)  # fmt: skip


class WorkerLost(RuntimeError):
    """The process that carried out a call died."""


class Processes(Executor):
    """An executor of so many processes, each started when it is first needed.

    Parameters
    ----------
    count : int
        How many calls may be carried out at the same time.

    Notes
    -----
    A call is a function that can be imported by name, and arguments and a result that can be pickled. The future of a
    call whose process died has ``WorkerLost`` as its exception; the next call gets a fresh process.
    """

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count, "hvm4viz-sweep")
        self._own = threading.local()
        self._children: set[_Child] = set()
        self._lock = threading.Lock()
        self._is_killed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a call carried out by the next process that is free."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002  (Executor's)
        """Take no more calls; end the processes once the calls begun are done."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            for child in self._children:
                child.close()

    def kill(self) -> None:
        """End everything now: calls that have begun are lost, those that wait are cancelled."""
        with self._lock:
            self._is_killed = True
            for child in self._children:
                child.kill()
        self.shutdown(cancel_futures=True)

    def _call(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        child: _Child | None = getattr(self._own, "child", None)
        if child is None:
            with self._lock:
                if self._is_killed:
                    raise WorkerLost("the processes were ended")
                child = self._own.child = _Child()
                self._children.add(child)
        try:
            return child.call(fn, args, kwargs)
        except WorkerLost:
            self._own.child = None
            with self._lock:
                self._children.discard(child)
            child.close()
            raise


class _Child:
    """One process, seen from here."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603  (this interpreter, with a text of ours)
            [sys.executable, "-c", _START, json.dumps(sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def call(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Have a call carried out; return or raise what it did.

        Raises
        ------
        WorkerLost
            If the process died first, with how.
        """
        assert self._process.stdin
        assert self._process.stdout
        message = pickle.dumps((fn, args, kwargs))
        with suppress(OSError):  # if it has died already, the answer will say so
            _write(self._process.stdin, message)
        answer = _read(self._process.stdout)
        if answer is None:
            raise WorkerLost(_ending(self._process.wait()))
        is_fine, value = pickle.loads(answer)  # noqa: S301  (from a process of ours)
        if not is_fine:
            raise value
        return value

    def close(self) -> None:
        """Let the process end, and wait for it."""
        with self._process, suppress(OSError):
            assert self._process.stdin
            self._process.stdin.close()

    def kill(self) -> None:
        """End the process now."""
        self._process.kill()


def _ending(code: int) -> str:
    """Say how a process ended."""
    if code >= 0:
        return f"the worker process ended by itself with exit code {code}, in the middle of the run"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    why = "; that is what a system does when memory runs out" if name == "SIGKILL" else ""
    return f"the worker process was ended by {name} in the middle of the run{why}"


def _write(stream: IO[bytes], message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    """Read one message; None at the end, even in the middle of one."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = stream.read(length)
    return message if len(message) == length else None


# ---- in the process


def serve() -> None:
    """Carry out the calls that come, until the other side is gone; then end, even in the middle of one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the stop key is for the other side, which ends this process
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a primitive prints must not stand among the answers
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(calls, messages), daemon=True).start()
    while True:
        _write(answers, _answer(messages.get()))


def _listen(calls: IO[bytes], messages: queue.SimpleQueue[bytes]) -> None:
    while (message := _read(calls)) is not None:
        messages.put(message)
    os._exit(0)


def _answer(message: bytes) -> bytes:
    try:
        fn, args, kwargs = pickle.loads(message)  # noqa: S301  (from the process that started this one)
        return pickle.dumps((True, fn(*args, **kwargs)))
    except BaseException as error:  # noqa: BLE001  (the other side raises it)
        try:
            return pickle.dumps((False, error))
        except Exception:  # noqa: BLE001
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
