"""What a worker does: bytes in, bytes out, nothing kept that matters. The same bytes give the same answer anywhere.

A task is a *head* (what to do) and *data* (the model with its inputs, which many tasks share). Started as
``python -m smidgen._tasks`` this is a worker of its own, which reads tasks from its input.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import time
from typing import IO, TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from ._model import BoundModel

#: Models that a worker remembers, by the digest of their bytes.
_known: dict[str, "BoundModel"] = {}
_MOST_KNOWN = 2

#: Files that a worker has read, by model, path and sums of their rows.
_shards: dict[tuple[str, str, str], _core.Shard] = {}
_MOST_SHARDS = 256


def versions() -> tuple[int, int, int]:
    """What has to be equal wherever parts of one run are computed."""
    return _core.versions()


def worker_name() -> str:
    """As Dask knows this worker, else by process and machine."""
    import platform

    distributed = sys.modules.get("distributed")
    try:
        if distributed is not None:
            return str(distributed.get_worker().address)
    except ValueError:  # not a thread of a worker
        pass
    return f"process {os.getpid()} on {platform.node()}"


def work(head: bytes, data: bytes) -> bytes:
    """One task."""
    task = pickle.loads(head)
    begun = time.monotonic()
    answer: dict[str, Any]
    if tuple(task["versions"]) != versions():
        answer = {"refused": versions()}
    else:
        try:
            model = _model(task["digest"], data)
            answer = {"answer": _KINDS[task["kind"]](model, task)}
        except _core.Failure as failure:
            answer = {"failure": failure.args}
    answer["worker"], answer["seconds"] = worker_name(), time.monotonic() - begun
    return pickle.dumps(answer)


def _model(digest: str, data: bytes) -> "BoundModel":
    if digest not in _known:
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[digest] = pickle.loads(data)
    return _known[digest]


def _result(job: _core.Job) -> Any:
    while not job.wait(1.0):
        pass
    return job.result()


def _walk(model: "BoundModel", task: dict[str, Any]) -> Any:
    return _result(model._core.walk(task["order"], task["leg"]))


def _part(model: "BoundModel", task: dict[str, Any]) -> Any:
    return _result(model._core.part_of_calibration(task["order"], task["first"], task["end"]))


def _compare(model: "BoundModel", task: dict[str, Any]) -> Any:
    return _result(model._core.compare(**task["order"]))


def _shard(model: "BoundModel", task: dict[str, Any]) -> Any:
    """An answer about the rows of a file, which is read when somebody asks for the first time."""
    key = (task["digest"], task["path"], task["contents"])
    if key not in _shards:
        shard = _opened_shard(model, task)
        while len(_shards) >= _MOST_SHARDS:
            del _shards[next(iter(_shards))]
        # Whoever asks again knows what the file holds.
        _shards[(task["digest"], task["path"], shard.about()[3])] = shard
        key = (task["digest"], task["path"], shard.about()[3])
    try:
        return getattr(_shards[key], task["what"])(*task["args"])
    except _core.Failure as failure:
        for problem in failure.args[0]:
            problem["message"] = f"{task['path']}: {problem['message']}"
        raise


def _opened_shard(model: "BoundModel", task: dict[str, Any]) -> _core.Shard:
    from ._model import BoundModel

    m, path = model, task["path"]
    made = BoundModel(
        m.name, m._written, m._text, m._params, m._tables, {task["table"]: path}, m._dims, m._renamed, m._folder,
        m._arrays, m._lengths,
    )  # fmt: skip
    shard = made._core.shard(task["order"], task["table"])
    then = task["contents"]
    what = None if then is None else _core.tables_differ(then, shard.about()[3])
    if what is not None:
        raise _core.Failure([{"is_error": True, "message": f"{path}: {what}", "label": "", "place": None, "path": [], "hints": []}])
    return shard


_KINDS = {"walk": _walk, "part of a calibration": _part, "compare": _compare, "shard": _shard}


# ---------------------------------------------------------------- a worker of our own


def put(pipe: IO[bytes], *parts: bytes) -> None:
    for part in parts:
        pipe.write(struct.pack("<Q", len(part)))
        pipe.write(part)
    pipe.flush()


def take(pipe: IO[bytes]) -> bytes | None:
    """None at the end of the pipe."""
    head = pipe.read(8)
    if len(head) < 8:
        return None
    (length,) = struct.unpack("<Q", head)
    part = pipe.read(length)
    return part if len(part) == length else None


def serve() -> None:
    import signal
    import threading

    parent = os.getppid()

    def watch() -> None:
        """Nobody waits for an answer whose asker is gone."""
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    # Ctrl-C is for whoever waits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    # What a library prints must not come between answers.
    sys.stdout = sys.stderr
    while (head := take(source)) is not None and (data := take(source)) is not None:
        try:
            answer = work(head, data)
        except Exception as error:
            answer = pickle.dumps({"raised": f"{type(error).__name__}: {error}", "worker": worker_name(), "seconds": 0.0})
        try:
            put(sink, answer)
        except OSError:  # whoever asked has gone meanwhile
            os._exit(1)


if __name__ == "__main__":
    serve()
