"""A process that works for this one and is killed where it takes too long.

Compiled code and exact arithmetic do not listen to alarms, and an engine may swallow an exception raised by
one: only the end of a process is certain. A task is a function that yields one dictionary per stage, and
every stage has a limit of its own in seconds of wall time.
"""

import multiprocessing
import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

# Seconds for the end of a task after its last stage.
LAST = 10.0
Task = Callable[..., Iterator[dict[str, Any]]]


class Worker:
    """A forked process which keeps what it has compiled from one task to the next."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None

    def run(self, task: Task, arguments: Sequence[Any], limits: Sequence[float]) -> list[dict[str, Any]]:
        """Return what the stages of a task yield; in trouble, the last says `killed` or `error`."""
        if self._process is None:
            self._start()
        self._pipe.send((task, arguments))
        found: list[dict[str, Any]] = []
        for limit in chain(limits, repeat(LAST)):
            try:
                answer = self._pipe.recv() if self._pipe.poll(limit) else {"killed": limit}
            except EOFError:
                answer = {"error": f"the process died in stage {len(found)}"}
                self.stop()
            if "killed" in answer:
                self.stop()
            if answer:
                found.append(answer)
            if not answer or self._process is None:
                break
        return found

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()


def _serve(pipe: Any) -> None:
    """Do one task after the other; an empty answer is the end of one."""
    while True:
        try:
            task, arguments = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            for answer in task(*arguments):
                pipe.send(answer)
        except BaseException as error:  # whatever an engine raises is an answer too
            pipe.send({"error": "".join(traceback.format_exception_only(error)).strip()})
        pipe.send({})
