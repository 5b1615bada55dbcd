"""Rounds by the workers of Ray: the draws of one machine, and a worker that dies is replaced."""

import os
import signal
import threading
import time

import pytest
from conftest import same_draws
from test_durable import REQUEST, small

import smidgen as sm

ray = pytest.importorskip("ray", reason="Ray is not installed: runs on its workers are not tested")


@pytest.fixture(scope="module")
def workers():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


def children():
    """Processes of Ray that compute something."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline") as file:
                name = file.read()
        except OSError:
            continue
        if name.startswith("ray::work"):
            found.append(int(process))
    return found


def test_the_draws_of_one_machine(tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    whole = small().sample(checkpoint="whole.run", **REQUEST)
    spread = {key: value for key, value in REQUEST.items() if key != "progress"}
    same_draws(sm.distributed.sample(small(), workers, round=60, **spread), whole)


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are not to be found here")
def test_a_worker_that_dies_is_replaced(tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    request = {**REQUEST, "draws": 4000, "kernel": "(mh default one 400)"}
    whole = small().sample(checkpoint="whole.run", **request)
    del request["progress"]
    killed = []

    def kill():
        end = time.monotonic() + 60
        while not killed and time.monotonic() < end:
            for process in children():
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    same_draws(sm.distributed.sample(small(), workers, round=1000, **request), whole)
    killer.join()
    assert killed
