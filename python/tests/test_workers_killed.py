"""Workers of Dask that are killed all the time: the draws are those of one machine, and it does not take much longer.

Here a few rounds; ``scripts/soak workers N SEED`` kills for so many. Times are printed, not judged: other processes take theirs.
"""

import os
import random
import signal
import threading
import time

import pytest
from conftest import same_draws
from test_durable import REQUEST, small

import smidgen as sm
from smidgen import _crew

distributed = pytest.importorskip("distributed", reason="Dask is not installed: runs on its workers are not tested")

ROUNDS = int(os.environ.get("SMIDGEN_ROUNDS", "2"))
SEED = int(os.environ.get("SMIDGEN_KILL_SEED", "1"))
#: Draws of a round; a thousand take about a second.
ROUND = int(os.environ.get("SMIDGEN_ROUND", "1000"))


def cluster_of(workers, deaths):
    """Workers in processes of their own; a task may lose so many of them."""
    import dask

    with dask.config.set({"distributed.scheduler.allowed-failures": deaths}):
        return distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None, silence_logs=50
        )


class Killer:
    """Kills a worker that has something to do, some time after every round has begun."""

    def __init__(self, client, monkeypatch, seconds, every, most):
        self.client, self.seconds, self.most, self.kills = client, seconds, most, 0
        self.clock, self.begun, self.timers = random.Random(SEED), 0, []
        submit = _crew.Crew.submit

        def submitted(crew, task, done):
            submit(crew, task, done)
            self.begun += 1
            if self.begun % every == 0 and len(self.timers) < self.most:
                self.timers.append(threading.Timer(self.clock.uniform(0.1, 0.9) * self.seconds, self.kill))
                self.timers[-1].start()

        monkeypatch.setattr(_crew.Crew, "submit", submitted)

    def kill(self):
        busy = [address for address, keys in self.client.processing().items() if keys]
        if not busy:
            return
        victim = self.clock.choice(sorted(busy))
        pid = self.client.run(os.getpid, workers=[victim], on_error="return").get(victim)
        if isinstance(pid, int):
            os.kill(pid, signal.SIGKILL)
            self.kills += 1

    def end(self):
        for timer in self.timers:
            timer.join()


def test_one_worker_is_killed_in_every_round(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = {**REQUEST, "draws": ROUNDS * ROUND, "checkpoint_every": 100, "kernel": "(mh default one 300)"}
    begun = time.monotonic()
    whole = small().sample(checkpoint="whole.run", **request)
    del request["progress"]
    here = time.monotonic() - begun
    with cluster_of(2, 3) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        begun = time.monotonic()
        same_draws(sm.distributed.sample(small(), client, round=ROUND, **request), whole)
        calm = time.monotonic() - begun
        # A round of both chains: each has a task of its own.
        killer = Killer(client, monkeypatch, calm / (ROUNDS + 1), 2, ROUNDS)
        begun = time.monotonic()
        spread = sm.distributed.sample(small(), client, round=ROUND, checkpoint="spread.run", **request)
        killed = time.monotonic() - begun
        killer.end()
    same_draws(spread, whole)
    same_draws(sm.load("spread.run"), whole)
    assert killer.kills >= 1
    a_round = calm / (ROUNDS + 1)
    allowed = 1.5 * calm + killer.kills * a_round
    print(
        f"seed {SEED}: {killer.kills} kills in {ROUNDS} rounds: 0 draws differ; one machine {here:.1f} s, two workers {calm:.1f} s, "
        f"killed {killed:.1f} s, of {allowed:.1f} allowed"
    )


def test_what_dask_gives_up_is_given_out_again(tmp_path, monkeypatch):
    """A scheduler that gives a task up with the first worker that it loses says KilledWorker."""
    monkeypatch.chdir(tmp_path)
    request = {**REQUEST, "draws": 2000, "kernel": "(mh default one 300)"}
    whole = small().sample(checkpoint="whole.run", **request)
    del request["progress"]
    losses, after = [], _crew.Crew.after_a_loss

    def noted(self, error):
        losses.append(type(error).__name__)
        after(self, error)

    monkeypatch.setattr(_crew.Crew, "after_a_loss", noted)
    with cluster_of(2, 0) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        killer = Killer(client, monkeypatch, 0.3, 2, 1)
        same_draws(sm.distributed.sample(small(), client, round=2000, **request), whole)
        killer.end()
    assert killer.kills == 0 or "KilledWorker" in losses
