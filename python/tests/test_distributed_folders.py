"""Whoever hands out the rounds may be lost as well: what came home is in a run folder, from which anybody goes on."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import same_draws
from test_durable import OVER_ROWS, REQUEST, command, rows, small

import smidgen as sm
from smidgen import _crew, _walkers

SPREAD = {key: value for key, value in REQUEST.items() if key != "progress"}


class Gone(Exception):
    """Stands for the end of whoever hands out the rounds."""


def lost_after(monkeypatch, commits, before):
    """The end comes after so many commits, or just before the next one."""
    keep, made = _walkers.Book.keep, []

    def kept(self, *what):
        if before and len(made) == commits:
            raise Gone
        keep(self, *what)
        made.append(what)
        if not before and len(made) % commits == 0:
            raise Gone

    monkeypatch.setattr(_walkers.Book, "keep", kept)
    return lambda: monkeypatch.setattr(_walkers.Book, "keep", keep)


@pytest.fixture
def local(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return small().sample(checkpoint="local.run", **REQUEST)


def test_the_folder_is_that_of_one_machine(local):
    spread = sm.distributed.sample(small(), 2, round=60, checkpoint="spread.run", keep_tune=True, **SPREAD)
    same_draws(spread, local)
    assert spread.kernels == local.kernels and spread.tuning["mu"].shape == (2, 100)
    for name, numbers in local.stats.items():
        assert np.array_equal(spread.stats[name], numbers, equal_nan=True), name
    loaded = sm.load("spread.run")
    same_draws(loaded, local)
    assert loaded.is_complete
    same_draws(sm.distributed.resume("spread.run", 2), local)
    with pytest.raises(sm.SmidgenError, match=r"spread\.run: a run that is finished is there"):
        sm.distributed.sample(small(), 2, checkpoint="spread.run", **SPREAD)
    again = sm.distributed.sample(small(), 2, round=60, checkpoint="spread.run", discard=True, **SPREAD)
    same_draws(again, local)
    with pytest.raises(ValueError, match="discard= goes with checkpoint="):
        sm.distributed.sample(small(), 2, discard=True, **SPREAD)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("commits", [0, 1, 3, 7])
def test_whenever_it_ends_anybody_goes_on_with_the_same_draws(local, monkeypatch, commits, before):
    if commits == 0 and not before:
        return
    mend = lost_after(monkeypatch, commits, before)
    with pytest.raises(Gone):
        sm.distributed.sample(small(), 2, round=60, checkpoint="spread.run", **SPREAD)
    mend()
    # The first rounds of both chains end with the warm-up.
    loaded = None if commits < 3 else sm.load("spread.run")
    assert loaded is None or not loaded.is_complete
    if commits % 2:
        same_draws(sm.distributed.resume("spread.run", 1, round=45), local)
    else:
        same_draws(sm.resume("spread.run", progress=False), local)
    same_draws(sm.load("spread.run"), local)


def test_it_goes_on_with_a_run_of_one_machine_and_makes_it_longer(local):
    whole = small().sample(checkpoint="longer.run", **{**REQUEST, "draws": 450})
    same_draws(sm.distributed.resume("local.run", 2, draws=450, round=50), whole)
    with pytest.raises(ValueError, match="a run can only grow"):
        sm.distributed.resume("local.run", 2, draws=10)


def test_rounds_that_are_committed_twice_are_compared(local, monkeypatch):
    """A broken twin: a worker that draws something else the second time."""
    mend = lost_after(monkeypatch, 4, False)
    with pytest.raises(Gone):
        sm.distributed.sample(small(), 1, round=60, checkpoint="spread.run", **SPREAD)
    mend()
    # What lies beyond the checkpoint is drawn again and compared: without the last checkpoints, all of it does.
    for chain in (0, 1):
        for name in (f"chain-{chain}.ckpt", f"chain-{chain}.ckpt.prev"):
            pathlib.Path("spread.run", name).unlink(missing_ok=True)
    next_task = _walkers.Walker.next

    def other(self):
        self._order = {**self._order, "kernel": "(mh default one 41)"}
        return next_task(self)

    monkeypatch.setattr(_walkers.Walker, "next", other)
    with pytest.raises(sm.ModelError, match="is not what it was when the run was interrupted"):
        sm.distributed.resume("spread.run", 1, round=60)


def test_data_have_to_be_those_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = dict(draws=200, tune=100, chains=2, seed=2, checkpoint_every=50)
    np.savez("t.npz", **rows())
    model = sm.program(OVER_ROWS, t="t.npz")
    whole = model.sample(checkpoint="whole.run", progress=False, **request)
    mend = lost_after(monkeypatch, 2, False)
    with pytest.raises(Gone):
        sm.distributed.sample(model, 1, round=1, checkpoint="files.run", **request)
    with pytest.raises(Gone):
        sm.distributed.sample(sm.program(OVER_ROWS, t=rows()), 1, round=1, checkpoint="frames.run", **request)
    mend()
    with pytest.raises(sm.SmidgenError, match="made with `t` from memory"):
        sm.distributed.resume("frames.run", 1)
    other = {**rows(), "y": rows()["y"] + 1}
    with pytest.raises(sm.ModelError, match="`t` is not what it was"):
        sm.distributed.resume("frames.run", 1, model=sm.program(OVER_ROWS, t=other))
    same_draws(sm.distributed.resume("frames.run", 1, model=sm.program(OVER_ROWS, t=rows())), whole)
    np.savez("t.npz", **other)
    with pytest.raises(sm.ModelError, match="`t` is not what it was"):
        sm.distributed.resume("files.run", 1)
    np.savez("t.npz", **rows())
    same_draws(sm.distributed.resume("files.run", 1), whole)


def test_the_command_reads_it_while_it_goes_on_and_resumes_it(local, monkeypatch):
    mend = lost_after(monkeypatch, 3, False)
    with pytest.raises(Gone):
        sm.distributed.sample(small(), 1, round=60, checkpoint="spread.run", **SPREAD)
    mend()

    def call(*args):
        return subprocess.run([command(), *args], capture_output=True, text=True)

    said = call("report", "spread.run", "--out", "page.html")
    assert said.returncode == 0 and "unfinished" in open("page.html").read(), said.stderr
    said = call("sample", "--resume", "spread.run")
    assert said.returncode == 0, said.stderr
    same_draws(sm.load("spread.run"), local)


def test_a_second_one_is_refused(local, monkeypatch):
    keep, refused = _walkers.Book.keep, []

    def kept(self, *what):
        keep(self, *what)
        if not refused:
            with pytest.raises(sm.ModelError, match="is running it") as error:
                sm.distributed.resume("spread.run", 1)
            refused.append(error)

    monkeypatch.setattr(_walkers.Book, "keep", kept)
    same_draws(sm.distributed.sample(small(), 1, round=60, checkpoint="spread.run", **SPREAD), local)
    assert len(refused) == 1


DRIVEN = """
import sys
import smidgen as sm
from test_durable import small
what, name = sys.argv[1:3]
request = dict(tune=100, chains=2, seed=3, checkpoint_every=20, kernel="(mh default one 40)")
if what == "begin":
    sm.distributed.sample(small(), 2, round=100, draws=3000, checkpoint=name, **request)
elif what == "go on":
    sm.distributed.resume(name, 2, round=100)
else:
    sm.resume(name, progress=False)
"""


def test_killed_at_any_moment_the_draws_are_the_same_to_the_bit(tmp_path, monkeypatch):
    """Here a few times; ``scripts/soak cluster N`` does it more often."""
    monkeypatch.chdir(tmp_path)
    whole = small().sample(checkpoint="whole.run", **{**REQUEST, "draws": 3000})
    kills = int(os.environ.get("SMIDGEN_DRIVER_KILLS", "4"))
    seed = int(os.environ.get("SMIDGEN_KILL_SEED", "1"))
    clock = random.Random(seed)
    print(f"seed {seed}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    done = runs = 0
    while done < kills:
        name, what = f"killed-{runs}.run", "begin"
        runs += 1
        while not pathlib.Path(name, "report.json").exists():
            child = subprocess.Popen([sys.executable, "-c", DRIVEN, what, name], env=environment)
            if done < kills:
                # It takes about half a second to come to the first commit.
                end = time.monotonic() + clock.uniform(0.3, 2.0)
                while child.poll() is None and time.monotonic() < end:
                    time.sleep(0.005)
            else:
                child.wait(120)
            if child.poll() is None:
                child.send_signal(signal.SIGKILL)
                done += 1
            child.wait()
            if pathlib.Path(name, "run.json").exists():
                what = clock.choice(["go on", "go on", "here"])
            else:
                shutil.rmtree(name, ignore_errors=True)
        same_draws(sm.load(name), whole)
    print(f"{done} kills over {runs} runs: 0 differ")


def test_ctrl_c_leaves_what_was_committed(local, monkeypatch):
    keep, made = _walkers.Book.keep, []

    def kept(self, *what):
        keep(self, *what)
        made.append(what)
        if len(made) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_walkers.Book, "keep", kept)
    assert threading.current_thread() is threading.main_thread()
    # Whoever runs the tests in the background may have had the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            sm.distributed.sample(small(), 2, round=60, checkpoint="spread.run", **SPREAD)
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.setattr(_walkers.Book, "keep", keep)
    same_draws(sm.distributed.resume("spread.run", 2), local)


def test_a_crew_that_is_over_takes_nothing_more():
    crew = _crew.Crew(1, b"")
    crew.close()
    with pytest.raises(sm.SmidgenError, match="it is over"):
        crew.submit(_crew.Task("walk", None), lambda future: None)
