"""One exact chain above many files that survives: reels on their way, checkpoints, and files that change meanwhile."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import same_draws
from test_durable import command
from test_sharded import BLOCK, TEXT, made, parts, rare, tall  # noqa: F401 (fixtures)

import smidgen as sm
from smidgen import _crew, _sharded

REQUEST = dict(draws=4000, tune=50, seed=5, reel=1024, chains=2, checkpoint_every=300)


class Gone(Exception):
    """Stands for the end of whoever runs the chain."""


def spied(monkeypatch, then=None):
    """Questions in their order; ``then`` sees each before it is asked."""
    asked, ask = [], _sharded.Parts.ask

    def spy(self, question):
        asked.append(question[0])
        if then is not None and (failed := then(question, asked)) is not None:
            self.failed.append(failed)
            return None
        return ask(self, question)

    monkeypatch.setattr(_sharded.Parts, "ask", spy)
    return asked, lambda: monkeypatch.setattr(_sharded.Parts, "ask", ask)


@pytest.fixture
def often(rare, tmp_path, monkeypatch):  # noqa: F811
    """A model whose rows object often, in files, and its draws."""
    monkeypatch.chdir(tmp_path)
    x, y = rare
    model, files = sm.program(TEXT, t={"x": x, "y": y}), parts(tmp_path, x, y, 250)
    return model, files, sm.distributed.exact(model, 2, files, **{k: v for k, v in REQUEST.items() if k != "checkpoint_every"})


def test_the_next_reel_is_asked_for_at_half_of_one(often, monkeypatch):
    model, files, _ = often
    asked, mend = spied(monkeypatch)
    for draws in (150, 400, 4000):
        asked.clear()
        fit = sm.distributed.exact(model, 1, files, draws=draws, tune=0, seed=5, reel=1024)
        used = fit.kernels[0]["sections_used"]
        # Nothing is passed over here, so what was used came from reels.
        brought = fit._later["sharded"]["reels"]
        assert brought == -(-used // 1024)
        assert asked.count("reel") == 1 + (used + 512) // 1024, used
    mend()


def test_who_waits_for_a_reel_is_not_the_chain(often, monkeypatch):
    """Reels are waited for by threads of their own, so that moves are made in the meantime; that one comes late changes no draw."""
    model, files, _ = often
    threads, ask = {}, _sharded.Parts.ask

    def tardy(self, question):
        threads.setdefault(question[0], []).append(threading.get_ident())
        if question[0] == "reel":
            time.sleep(0.2)
        return ask(self, question)

    monkeypatch.setattr(_sharded.Parts, "ask", tardy)
    request = dict(draws=500, tune=0, seed=5, reel=1024)
    fit = sm.distributed.exact(model, 1, files, **request)
    monkeypatch.setattr(_sharded.Parts, "ask", ask)
    same_draws(fit, sm.distributed.exact(model, 1, files, **request))
    (chain,) = set(threads["bounds"])
    assert len(threads["reel"]) > 1 and chain not in threads["reel"]


def test_in_a_folder_the_draws_are_the_same(often):
    model, files, whole = often
    fit = sm.distributed.exact(model, 2, files, checkpoint="spread.run", **REQUEST)
    same_draws(fit, whole)
    same_draws(sm.load("spread.run"), whole)
    same_draws(sm.distributed.resume("spread.run", 1), whole)
    longer = {**REQUEST, "draws": 5000}
    same_draws(
        sm.distributed.resume("spread.run", 1, draws=5000),
        sm.distributed.exact(model, 1, files, **{k: v for k, v in longer.items() if k != "checkpoint_every"}),
    )
    with pytest.raises(sm.SmidgenError, match="a run that is finished is there"):
        sm.distributed.exact(model, 2, files, checkpoint="spread.run", **REQUEST)


@pytest.mark.parametrize("end", [1, 4, 9, 14])
def test_whenever_it_ends_it_goes_on_with_the_same_draws(often, monkeypatch, end):
    model, files, whole = often
    _, mend = spied(monkeypatch, lambda question, asked: Gone() if question[0] == "reel" and asked.count("reel") > end else None)
    with pytest.raises(Gone):
        sm.distributed.exact(model, 2, files, checkpoint="spread.run", **REQUEST)
    mend()
    with pytest.raises(sm.SmidgenError, match=r"smidgen\.distributed\.resume\(\"spread\.run\", client\) goes on"):
        sm.resume("spread.run")
    asked, mend = spied(monkeypatch)
    same_draws(sm.distributed.resume("spread.run", 1), whole)
    # What was prepared is not made again.
    assert "sums" not in asked and "bounds" not in asked
    mend()


def test_expressions_that_draw_go_on_with_their_own_stream(often, monkeypatch):
    model, files, _ = often
    request = {**REQUEST, "draws": 3000, "chains": 1, "record": {"seen": "(normal a 1)", "a": "a"}}
    whole = sm.distributed.exact(model, 1, files, **{k: v for k, v in request.items() if k != "checkpoint_every"})
    noise = (whole["seen"] - whole["a"]).ravel()
    # Standard normal, and none of them drawn twice. Mean within 5 standard errors: false alarms 6e-7.
    assert abs(noise.mean()) < 5 / noise.size**0.5 and len(set(noise)) == noise.size
    _, mend = spied(monkeypatch, lambda question, asked: Gone() if asked.count("reel") > 6 else None)
    with pytest.raises(Gone):
        sm.distributed.exact(model, 1, files, checkpoint="spread.run", **request)
    mend()
    same_draws(sm.distributed.resume("spread.run", 2), whole)


DRIVEN = """
import glob, sys
import smidgen as sm
from test_sharded import TEXT
what = sys.argv[1]
if what == "begin":
    model = sm.program(TEXT, t={"x": [0.0, 1.0], "y": [0.0, 1.0]})
    files = sorted(glob.glob("part-*.parquet"), key=lambda name: int(name.split("-")[1]))
    sm.distributed.exact(model, 1, files, draws=60000, tune=50, seed=5, reel=1024, checkpoint="killed.run", checkpoint_every=500)
else:
    sm.distributed.resume("killed.run", 1)
"""


def test_killed_it_goes_on_and_is_read_by_the_command(often, tmp_path):
    model, files, _ = often
    whole = sm.distributed.exact(model, 1, files, draws=60000, tune=50, seed=5, reel=1024)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    what, kills = "begin", 0
    while not pathlib.Path("killed.run", "report.json").exists():
        child = subprocess.Popen([sys.executable, "-c", DRIVEN, what], env=environment)
        checkpoint = pathlib.Path("killed.run", "chain-0.ckpt.prev")
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while child.poll() is None and kills < 2:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns > before:
                child.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.002)
        assert child.wait(120) in (0, -signal.SIGKILL)
        what = "go on"
        if kills == 1 and not pathlib.Path("killed.run", "report.json").exists():
            said = subprocess.run([command(), "report", "killed.run", "--out", "page.html"], capture_output=True, text=True)
            assert said.returncode == 0, said.stderr
            assert "smidgen.distributed.resume" in open("page.html").read()
            said = subprocess.run([command(), "sample", "--resume", "killed.run"], capture_output=True, text=True)
            assert said.returncode == 1 and "smidgen.distributed.resume" in said.stderr, said.stderr
    assert kills > 0
    same_draws(sm.load("killed.run"), whole)


def test_a_file_that_changed_or_is_gone_stops_the_run_and_restored_it_goes_on(tall, tmp_path, monkeypatch):  # noqa: F811
    model, x, y, _ = tall
    monkeypatch.chdir(tmp_path)
    files = parts(tmp_path, x, y, BLOCK)
    request = dict(draws=60_000, tune=20, seed=3, reel=1024)
    whole = sm.distributed.exact(model, 1, files, **request)
    asked, begun = _crew.Processes._ask, []
    was = pathlib.Path(files[1]).read_bytes()
    changed = y.copy()
    changed[BLOCK + 17] = 1 - changed[BLOCK + 17]

    def dies(then):
        """At the first reel whoever has the rows dies, and something has happened to a file."""

        def ask(self, head, data):
            import pickle

            if pickle.loads(head).get("what") == "rows_at" and not begun:
                begun.append(self._process())
                then()
                os.kill(begun[-1].pid, signal.SIGKILL)
            return asked(self, head, data)

        begun.clear()
        monkeypatch.setattr(_crew.Processes, "_ask", ask)

    dies(lambda: parts(tmp_path, x, changed, BLOCK))
    named = r"part-1-65536\.parquet: the table `t` is not what it was, in rows 0 to 65535"
    with pytest.raises(sm.ModelError, match=named):
        sm.distributed.exact(model, 1, files, checkpoint="spread.run", **request)
    monkeypatch.setattr(_crew.Processes, "_ask", asked)
    with pytest.raises(sm.ModelError, match=named):
        sm.distributed.resume("spread.run", 1)
    pathlib.Path(files[1]).write_bytes(was)
    dies(pathlib.Path(files[1]).unlink)
    with pytest.raises(sm.ModelError, match=r"part-1-65536\.parquet"):
        sm.distributed.resume("spread.run", 1)
    monkeypatch.setattr(_crew.Processes, "_ask", asked)
    pathlib.Path(files[1]).write_bytes(was)
    same_draws(sm.distributed.resume("spread.run", 2), whole)


def test_bounds_that_come_out_otherwise_are_named(often, monkeypatch):
    """A broken twin: who serves the rows finds other bounds than those that the clock goes by."""
    model, files, _ = often
    ask = _sharded.Parts.ask

    def off(self, question):
        answer = ask(self, question)
        if question[0] == "bounds":
            return [c * (1 + 1e-12) if k == 3 else c for k, c in enumerate(answer)]
        return answer

    monkeypatch.setattr(_sharded.Parts, "ask", off)
    with pytest.raises(sm.ModelError, match=r"part-3-250\.parquet: the bounds of rows 0 to 65535 do not add up to what they did"):
        sm.distributed.exact(model, 1, files, draws=4000, seed=5)
