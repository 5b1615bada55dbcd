"""Whoever computes tasks, and what happens when one of them is lost.

A task is a pure function of its bytes, so a task that was lost is given to somebody else, and nobody needs to know
what had become of it. Whoever dies takes down all that it held; a task is at fault for certain only if it was the only
one there.
"""

from __future__ import annotations

import hashlib
import pickle
import queue
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Iterable

from . import _core, _tasks
from ._errors import SmidgenError

if TYPE_CHECKING:
    from ._model import BoundModel

#: Deaths after which a task is tried alone.
PATIENCE = 3

#: Data of more bytes are sent to Dask's workers once, and not with every task.
SCATTERED = 1 << 20

#: Errors that say that a worker was lost, not that the task is wrong; by name, as most of these packages need not be there.
_LOSSES = {"KilledWorker", "BrokenProcessPool", "BrokenThreadPool", "BrokenExecutor", "LostProcess", "WorkerCrashedError", "NodeDiedError", "CancelledError", "FutureCancelledError", "CommClosedError"}


class LostProcess(Exception):
    """A process of our own ended before it answered."""


class Task:
    """What is to be computed; ``about`` is for whoever asked."""

    def __init__(self, kind: str, about: Any, **parts: Any) -> None:
        self.about = about
        self.deaths = 0
        self._parts = {"kind": kind, "versions": _tasks.versions(), **parts}

    def head(self, digest: str) -> bytes:
        return pickle.dumps({**self._parts, "digest": digest})


class Ray:
    """The workers of Ray, as an executor: given is the module, once it is initialised."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        # What is lost is given out again here.
        self._work = ray.remote(max_retries=0)(_tasks.work)

    def submit(self, work: Any, head: bytes, data: bytes) -> Any:
        return self._work.remote(head, data).future()


class Crew:
    """A Dask client, the module ``ray``, any executor of ``concurrent.futures``, or a number of processes of our own."""

    def __init__(self, client: Any, data: bytes) -> None:
        self._data = data
        self.digest = hashlib.sha256(data).hexdigest()
        self._own = Processes(client) if isinstance(client, int) and not isinstance(client, bool) else None
        self._client: Any = self._own or (Ray(client) if getattr(client, "__name__", None) == "ray" else client)
        self._is_dask = hasattr(client, "scheduler_info") and hasattr(client, "submit")
        if not hasattr(self._client, "submit"):
            raise TypeError(
                f"{type(client).__name__} computes nothing: give a dask.distributed.Client, an executor of concurrent.futures, "
                "or a number of processes"
            )
        self._sent: Any = None
        self._futures: set[Any] = set()
        self._is_closed = False
        if self._is_dask:
            self._look()

    def _look(self) -> None:
        """All workers of a cluster are asked what they compute before anything begins."""
        said = self._client.run(_tasks.versions, on_error="return")
        for worker, versions in said.items():
            if type(versions).__name__ in _LOSSES:
                continue  # it has just gone; whoever takes its place is asked with its first task
            if isinstance(versions, BaseException):
                raise SmidgenError(f"worker {worker} cannot compute this: {type(versions).__name__}: {versions}")
            _same_versions(str(worker), tuple(versions))

    def submit(self, task: Task, done: Callable[[Any], None]) -> None:
        if self._is_closed:  # rows that were asked for ahead, and which nobody needs any more
            raise SmidgenError("it is over")
        head = task.head(self.digest)
        if not self._is_dask:
            future = self._client.submit(_tasks.work, head, self._data)
        else:
            # The same bytes are the same task, unless it is tried again.
            key = f"smidgen-{hashlib.sha256(head + self.digest.encode()).hexdigest()[:32]}-{task.deaths}"
            future = self._client.submit(_tasks.work, head, self._shared(), key=key, pure=True, retries=5)
        self._futures.add(future)
        future.add_done_callback(done)

    def _shared(self) -> Any:
        if len(self._data) < SCATTERED:
            return self._data
        if self._sent is None:
            self._sent = self._client.scatter(self._data, broadcast=True)
        return self._sent

    def answer(self, future: Any) -> dict[str, Any]:
        self._futures.discard(future)
        found: dict[str, Any] = pickle.loads(future.result())
        return found

    def after_a_loss(self, error: BaseException) -> None:
        """Who held the data may be gone too; an executor that is broken stays so."""
        self._sent = None
        if type(error).__name__.startswith("Broken"):
            raise SmidgenError(
                "the executor has lost a process and takes no more tasks: give a number of processes or a Dask client, "
                "where a process that is lost is replaced"
            ) from error

    def close(self) -> None:
        self._is_closed = True
        for future in list(self._futures):
            future.cancel()
        if self._own is not None:
            self._own.close()


def _same_versions(worker: str, theirs: tuple[int, ...]) -> None:
    for name, own, other in zip(("layout of checkpoints", "arithmetic", "sum of computed numbers"), _tasks.versions(), theirs):
        if own != other:
            raise SmidgenError(f"worker {worker} has another smidgen or another machine: its {name} is {other}, here it is {own}")


def compute(crew: Crew, tasks: Iterable[Task], done: Callable[[Task, Any, float], Iterable[Task]]) -> None:
    """Computes tasks, and those that ``done`` gives for an answer, until there are none."""
    waiting = list(tasks)
    suspects: list[Task] = []
    flying: set[Task] = set()
    landed: queue.SimpleQueue[tuple[Task, Any]] = queue.SimpleQueue()

    def begin(task: Task) -> None:
        flying.add(task)
        crew.submit(task, lambda future: landed.put((task, future)))

    while waiting or suspects or flying:
        while waiting:
            begin(waiting.pop(0))
        if suspects and not flying:
            begin(suspects.pop())
        try:
            # With a limit, so that Ctrl-C is seen.
            task, future = landed.get(timeout=0.2)
        except queue.Empty:
            continue
        is_alone = len(flying) == 1
        flying.discard(task)
        try:
            answer = crew.answer(future)
        except BaseException as error:
            if type(error).__name__ not in _LOSSES:
                raise
            crew.after_a_loss(error)
            task.deaths += 1
            if task.deaths > PATIENCE and is_alone:
                raise SmidgenError(f"{task.about}: whoever computes this dies of it, {task.deaths} times so far") from error
            (suspects if task.deaths >= PATIENCE else waiting).append(task)
            continue
        waiting.extend(done(task, _opened(answer), answer["seconds"]))


def with_crew(model: "BoundModel", client: Any, tasks: Iterable[Task], done: Callable[[Task, Any, float], Iterable[Task]]) -> None:
    """The same by whoever ``client`` is, for parts of a run of a model."""
    crew = Crew(client, pickle.dumps(model._anywhere()))
    try:
        compute(crew, tasks, done)
    except _core.Failure as failure:
        raise model._error(failure) from None
    finally:
        crew.close()


def _opened(answer: dict[str, Any]) -> Any:
    if "refused" in answer:
        _same_versions(answer["worker"], answer["refused"])
    if "failure" in answer:
        raise _core.Failure(*answer["failure"])
    if "raised" in answer:
        raise SmidgenError(f"worker {answer['worker']}: {answer['raised']}")
    return answer["answer"]


class Processes:
    """So many processes of our own, each replaced when it dies. They need no guard around a script's main part, since
    they do not import it."""

    def __init__(self, number: int) -> None:
        if number < 1:
            raise ValueError(f"{number} processes: one at least")
        self._threads = ThreadPoolExecutor(number, thread_name_prefix="smidgen worker")
        self._local = threading.local()
        self._lock = threading.Lock()
        self._all: list[subprocess.Popen[bytes]] = []
        self._is_closed = False

    def submit(self, work: Any, head: bytes, data: bytes) -> "Future[bytes]":
        return self._threads.submit(self._ask, head, data)

    def _process(self) -> "subprocess.Popen[bytes]":
        own: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if own is None or own.poll() is not None:
            with self._lock:
                if self._is_closed:
                    raise LostProcess("it is over")
                # Without the folder of whoever starts it on its path, as for an installed command.
                own = subprocess.Popen([sys.executable, "-P", "-m", "smidgen._tasks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self._all.append(own)
            self._local.process = own
        return own

    def _ask(self, head: bytes, data: bytes) -> bytes:
        process = self._process()
        assert process.stdin is not None and process.stdout is not None, "both were asked for"
        try:
            _tasks.put(process.stdin, head, data)
            answer = _tasks.take(process.stdout)
        except OSError:
            answer = None
        if answer is None:
            process.kill()
            process.wait()
            raise LostProcess(f"process {process.pid} ended with {process.returncode}")
        return answer

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for process in self._all:
                process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._all:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:  # what was not yet written has nobody to go to
                        pass
