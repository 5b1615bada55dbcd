"""Runs on several processes: the draws of one machine, whoever computes them and whoever dies."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from conftest import same_draws
from test_durable import OVER_ROWS, REQUEST, rows, small

import five
import smidgen as sm
from smidgen import _crew, _tasks, _walkers

SPREAD = {key: value for key, value in REQUEST.items() if key != "progress"}


@pytest.fixture(scope="module")
def cluster():
    """Two workers in processes of their own, on this machine alone."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: runs on its workers are not tested")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.fixture
def local(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return small().sample(checkpoint="local.run", **REQUEST)


@pytest.mark.parametrize("rounds", [1, 37, 10_000])
def test_processes_of_our_own_give_the_draws_of_one_machine(local, rounds):
    spread = sm.distributed.sample(small(), 2, round=rounds, **SPREAD)
    same_draws(spread, local)
    assert spread.kernels == local.kernels and spread.warnings == local.warnings
    for name, numbers in local.stats.items():
        assert np.array_equal(spread.stats[name], numbers, equal_nan=True), name


def test_re_bases_by_work_are_those_of_one_machine(tmp_path, monkeypatch, data):
    """Without a count of draws the chain's own work says when it is written down."""
    monkeypatch.chdir(tmp_path)
    request = dict(draws=400, tune=50, chains=2, seed=5, kernel="(mh default one 400)", keep_tune=True)
    whole = small().sample(checkpoint="whole.run", progress=False, **request)
    spread = sm.distributed.sample(small(), 1, round=1, **request)
    same_draws(spread, whole)
    for name, numbers in whole.tuning.items():
        assert np.array_equal(spread.tuning[name], numbers)
    model = five.radon(data["radon"])
    request = dict(draws=60, tune=60, chains=2, seed=5, checkpoint_every=15)
    whole = model.sample(checkpoint="radon.run", progress=False, **request)
    same_draws(sm.distributed.sample(model, 2, round=1, **request), whole)


def test_an_executor_of_the_standard_library(local):
    from multiprocessing import get_context

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        same_draws(sm.distributed.sample(small(), pool, round=60, **SPREAD), local)


def test_workers_of_dask(local, cluster):
    same_draws(sm.distributed.sample(small(), cluster, round=60, **SPREAD), local)
    same_draws(sm.distributed.sample(small(), cluster.get_executor(), round=60, **SPREAD), local)


def test_large_data_are_sent_once_and_files_are_compared(tmp_path, monkeypatch, cluster):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    x = rng.normal(size=80_000)
    data = {"x": x, "y": 0.3 * x + rng.normal(size=x.size)}
    request = dict(draws=200, tune=100, chains=2, seed=2, checkpoint_every=100)
    whole = sm.program(OVER_ROWS, t=data).sample(checkpoint="whole.run", progress=False, **request)
    same_draws(sm.distributed.sample(sm.program(OVER_ROWS, t=data), cluster, round=1, **request), whole)
    np.savez("t.npz", **data)
    model = sm.program(OVER_ROWS, t="t.npz")
    same_draws(sm.distributed.sample(model, cluster, **request), whole)
    order = model._order(
        draws=9, tune=0, chains=1, cores=1, seed=1, kernel=None, thin=1, record=None, init=None, approximate=False,
        exact=False, audit=None, max_seconds=None, keep_states=False, keep_tune=False, stats=None,
    )  # fmt: skip
    tables = sm._jobs.wait_for(model._core.tables(order), model)
    data["y"][70_000] += 1
    np.savez("t.npz", **data)
    job = model._core.walk(order, {"chain": 0, "checkpoint": None, "until": 0, "every": None, "tables": tables})
    with pytest.raises(sm.ModelError, match="`t` is not what it was, in rows 65536 to 79999"):
        sm._jobs.wait_for(job, model)


LONG = {**SPREAD, "draws": 3000, "checkpoint_every": 50, "kernel": "(mh default one 400)"}


def alive(client):
    """Addresses and processes of all workers, once there are two."""
    client.wait_for_workers(2)
    found = client.run(os.getpid, on_error="return")
    while not all(isinstance(pid, int) for pid in found.values()) or len(found) < 2:
        time.sleep(0.1)
        found = client.run(os.getpid, on_error="return")
    return found


def test_a_worker_of_dask_that_dies_costs_a_round(tmp_path, monkeypatch, cluster):
    monkeypatch.chdir(tmp_path)
    whole = small().sample(checkpoint="long.run", progress=False, **LONG)
    workers = alive(cluster)
    submit, begun, held = _crew.Crew.submit, [], []

    def kill():
        for address, pid in workers.items():
            if not held and cluster.processing()[address]:
                held.extend(cluster.processing()[address])
                os.kill(pid, signal.SIGKILL)

    def submitted(self, task, done):
        submit(self, task, done)
        begun.append(task)
        if len(begun) == 3:
            threading.Timer(0.1, kill).start()

    monkeypatch.setattr(_crew.Crew, "submit", submitted)
    spread = sm.distributed.sample(small(), cluster, round=1000, **LONG)
    same_draws(spread, whole)
    assert len(held) >= 1 and set(alive(cluster).values()) != set(workers.values())


def test_processes_that_die_are_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = small().sample(checkpoint="long.run", progress=False, **LONG)
    asked, begun = _crew.Processes._ask, []

    def ask(self, head, data):
        process = self._process()
        begun.append(process.pid)
        if len(begun) in (3, 5, 6):
            threading.Timer(0.1, process.kill).start()
        return asked(self, head, data)

    monkeypatch.setattr(_crew.Processes, "_ask", ask)
    same_draws(sm.distributed.sample(small(), 2, round=1000, **LONG), whole)
    assert len(set(begun)) > 2


class Mortal:
    """An executor whose tasks of one chain lose their worker."""

    def __init__(self, chain, times):
        self.chain, self.times, self.lost, self.together = chain, times, 0, []
        self.pool = ThreadPoolExecutor(2)

    def submit(self, work, head, data):
        import pickle

        def call():
            if pickle.loads(head)["leg"]["chain"] == self.chain and self.lost < self.times:
                self.lost += 1
                raise _crew.LostProcess("gone")
            return work(head, data)

        return self.pool.submit(call)


def test_only_a_task_that_kills_whoever_has_it_alone_is_an_error(local):
    survived = Mortal(1, 3)
    same_draws(sm.distributed.sample(small(), survived, round=100, **SPREAD), local)
    assert survived.lost == 3
    with pytest.raises(sm.SmidgenError, match="chain 1 after 0 draws: whoever computes this dies of it"):
        sm.distributed.sample(small(), Mortal(1, 10**9), round=100, **SPREAD)


def test_a_broken_executor_is_named(monkeypatch):
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        submit = pool.submit
        monkeypatch.setattr(pool, "submit", lambda work, head, data: submit(os._exit, 1))
        with pytest.raises(sm.SmidgenError, match="the executor has lost a process"):
            sm.distributed.sample(small(), pool, **SPREAD)


def other_versions():
    from smidgen import _tasks

    _tasks.versions = lambda: (1, 2, 3)


def same_versions_again():
    import importlib

    from smidgen import _tasks

    importlib.reload(_tasks)


def test_a_worker_that_computes_other_numbers_is_refused_by_name(cluster):
    odd = list(cluster.scheduler_info()["workers"])[0]
    cluster.run(other_versions, workers=[odd])
    try:
        with pytest.raises(sm.SmidgenError, match=f"worker {odd} has another smidgen.*arithmetic is 2, here it is 1"):
            sm.distributed.sample(small(), cluster, **SPREAD)
    finally:
        cluster.run(same_versions_again, workers=[odd])
    # Whoever comes later is asked with its first task.
    answer = {"refused": (1, 2, 3), "worker": "late"}
    with pytest.raises(sm.SmidgenError, match="worker late has another smidgen"):
        _crew._opened(answer)


def test_mistakes_of_the_model_are_not_tried_again(cluster):
    model = sm.program("[assume mu (normal 0 1)] [observe (normal mu -1) 0.5]")
    for client in (2, cluster):
        with pytest.raises(sm.ModelError, match="expected a positive standard deviation"):
            sm.distributed.sample(model, client, **{**SPREAD, "kernel": None})
    with pytest.raises(TypeError, match="computes nothing"):
        sm.distributed.sample(small(), object(), **SPREAD)
    with pytest.raises(ValueError, match="round=0"):
        sm.distributed.sample(small(), 1, round=0, **SPREAD)


LONG_AGO = """
import smidgen as sm
from smidgen import _crew
begin = _crew.Processes._process

def told(self):
    process = begin(self)
    print(process.pid, flush=True)
    return process

_crew.Processes._process = told
model = sm.program("[assume mu (normal 0 10)] [observe (normal mu 1) 0.5] [predict mu]")
sm.distributed.sample(model, 1, draws=10**9, tune=10, chains=1, seed=1, round=10**9)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_whoever_asked(how):
    child = subprocess.Popen([sys.executable, "-c", LONG_AGO], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    worker = [int(child.stdout.readline()) for _ in range(2)][1]
    time.sleep(0.5)
    child.send_signal(how)
    _, said = child.communicate(timeout=20)
    assert child.returncode != 0 and (how != signal.SIGINT or "KeyboardInterrupt" in said)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("the worker works on for nobody")


def test_rounds_that_go_on_from_the_wrong_place_are_noticed(local, monkeypatch):
    """A broken twin: a round that begins where the one before it began."""
    come_home = _walkers.Walker.come_home

    def forgetful(self, answer, seconds):
        before = self._leg["checkpoint"]
        tasks = come_home(self, answer, seconds)
        if before is not None and answer[0] < 200:
            self._leg["checkpoint"] = before
        return tasks

    monkeypatch.setattr(_walkers.Walker, "come_home", forgetful)
    wrong = sm.distributed.sample(small(), 1, round=60, **SPREAD)
    assert wrong["mu"].shape != local["mu"].shape or not np.array_equal(wrong["mu"], local["mu"])


def test_calibration_and_comparison_are_those_of_one_machine(cluster):
    model = sm.program("[assume p (beta 1 1)] [assume k (poisson 2)] [observe (binomial (+ 3 k) p) 2]")
    request = dict(simulations=23, draws=15, tune=50, seed=4)
    here = model.calibrate(progress=False, **request)
    for client in (2, cluster):
        there = sm.distributed.calibrate(model, client, **request)
        assert there.data == here.data and repr(there) == repr(here)
    given = sm.distributed.calibrate(model, 1, thin=3, together=5, **request)
    assert given.data == model.calibrate(thin=3, progress=False, **request).data
    logistic = sm.program(
        "[table t] [assume a (normal 0 2)] [for row in t [observe (bernoulli (logistic (* a row.x))) row.y]]",
        t={"x": rows()["x"], "y": (rows()["y"] > 0).astype(float)},
    )
    request = dict(kernel="(subsampled_mh default all 20 0.1 1)", draws=30, tune=30, seed=4)
    here, there = logistic.compare(progress=False, **request), sm.distributed.compare(logistic, cluster, **request)
    assert [q["name"] for q in there.data["quantities"]] == [q["name"] for q in here.data["quantities"]]
    assert there.verdict == here.verdict


def test_the_bytes_of_a_task_are_its_answer():
    """A task is a pure function of its bytes, with nothing left behind by another."""
    import pickle

    model = sm.program(OVER_ROWS, t=rows())
    data = pickle.dumps(model._anywhere())
    assert data == pickle.dumps(pickle.loads(data))
    crew = _crew.Crew(1, data)
    try:
        walker = _walkers.Walker(0, model._order(
            draws=50, tune=20, chains=1, cores=1, seed=1, kernel=None, thin=1, record=None, init=None, approximate=False,
            exact=False, audit=None, max_seconds=None, keep_states=False, keep_tune=False, stats=None,
        ), 10, 10, None, None)  # fmt: skip
        head = walker.next().head(crew.digest)
        here, there = pickle.loads(_tasks.work(head, data)), crew.answer(crew._client.submit(None, head, data))
        assert here["answer"][2] == there["answer"][2] and here["worker"] != there["worker"]
    finally:
        crew.close()
