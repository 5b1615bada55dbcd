"""Runs in folders: killed, gone on with from Python and by the command, refused, looked at meanwhile."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import same_draws

import smidgen as sm

TEXT = """[assume mu (normal 0 {sd})]
[assume s (gamma 2 1)]
[assume g (mem (lambda (i) (normal mu s)))]
[for i in (range 0 8) [observe (normal (g i) 1) (* 0.7 i)]]
[predict mu]
[predict s]
"""
OVER_ROWS = """[table t]
[assume a (normal 0 2)] [assume b (normal 0 2)]
[for row in t [observe (normal (+ a (* b row.x)) 1) row.y]]
"""
REQUEST = dict(draws=300, tune=100, chains=2, seed=3, checkpoint_every=20, kernel="(mh default one 40)", progress=False)


def rows():
    rng = np.random.default_rng(5)
    x = rng.normal(size=200)
    return {"x": x, "y": 0.5 * x + rng.normal(size=200)}


def small():
    return sm.program(TEXT, sd=10.0)


def command():
    own = shutil.which("smidgen", path=str(pathlib.Path(sys.executable).parent))
    if own is None:
        pytest.skip("the command is not installed")
    return own


KILLED = """
import sys
import smidgen as sm
model = sm.program(open("model.smg").read(), sd=10.0)
model.sample(draws=3000, tune=100, chains=2, seed=3, checkpoint_every=20, kernel="(mh default one 40)",
             checkpoint=sys.argv[1], record={"double": "2 * mu"}, progress=False)
"""


def begin_and_kill(folder, name):
    """A run in a process of its own that is killed when it has a checkpoint and before it is over."""
    child = subprocess.Popen([sys.executable, "-c", KILLED, name], cwd=folder)
    checkpoint = folder / name / "chain-0.ckpt.prev"
    deadline = time.monotonic() + 30
    while not checkpoint.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert sm.load(folder / name).is_complete is False


def test_killed_it_goes_on_from_python_and_by_the_command_with_the_same_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.smg").write_text(TEXT)
    request = {**REQUEST, "draws": 3000, "record": {"double": "2 * mu"}}
    whole = small().sample(checkpoint="whole.run", **request)
    assert whole.is_complete and whole["mu"].shape == (2, 3000)
    assert np.array_equal(whole["double"], 2 * whole["mu"])
    begin_and_kill(tmp_path, "cut.run")
    shutil.copytree("cut.run", "again.run")
    (tmp_path / "again.run" / "lock").unlink()
    resumed = sm.resume("cut.run", progress=False)
    same_draws(resumed, whole)
    assert resumed.kernels == whole.kernels and resumed.warnings == whole.warnings
    for name, numbers in whole.stats.items():
        assert np.array_equal(resumed.stats[name], numbers, equal_nan=True), name
    done = subprocess.run([command(), "sample", "--resume", "again.run", "--out", "again.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    draws = json.loads((tmp_path / "again.json").read_text())["draws"]
    for label, text in (("mu", "mu"), ("s", "s"), ("double", "(* 2 mu)")):
        assert np.array_equal(np.array(draws[text], dtype=float), whole[label]), label
    # Read again, the names that were given are there.
    same_draws(sm.load("cut.run"), whole)
    same_draws(sm.load("again.run"), whole)


def test_a_run_of_the_command_goes_on_from_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.smg").write_text(TEXT)
    arguments = [command(), "sample", "model.smg", "--param", "sd=1e1", "--seed", "3", "--chains", "2", "--warmup", "100"]
    arguments += ["--checkpoint-every", "20", "--kernel", "(mh default one 40)", "--draws", "150", "--out", "fit.run"]
    subprocess.run(arguments, check=True, capture_output=True)
    longer = sm.resume("fit.run", 300, progress=False)
    same_draws(longer, small().sample(checkpoint="whole.run", stats=False, **REQUEST))
    # The same with the model at hand, whose parameter is written in another way.
    same_draws(small().resume("fit.run", 301, progress=False), sm.resume("whole.run", 301, progress=False))


def test_data_from_memory_are_asked_for_and_compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = rows()
    request = {**REQUEST, "kernel": None}
    whole = sm.program(OVER_ROWS, t=data).sample(checkpoint="whole.run", **{**request, "draws": 400})
    model = sm.program(OVER_ROWS, t=data)
    model.sample(checkpoint="fit.run", **request)
    with pytest.raises(sm.SmidgenError, match=r"made with `t` from memory.*m\.resume\(\"fit\.run\"\)"):
        sm.resume("fit.run", 400)
    changed = {"x": data["x"], "y": data["y"].copy()}
    changed["y"][17] += 1e-12
    with pytest.raises(sm.ModelError, match=r"fit\.run cannot be resumed: the table `t` is not what it was, in rows 0 to 199") as caught:
        sm.program(OVER_ROWS, t=changed).resume("fit.run", 400, progress=False)
    assert "--" not in str(caught.value) and 'restart_from="fit.run"' in str(caught.value)
    same_draws(sm.resume("fit.run", 400, model=model, progress=False), whole)
    # The command takes the same table from a file.
    np.savez("t.npz", **data)
    arguments = [command(), "sample", "--resume", "fit.run", "--draws", "450", "--data", "t=t.npz", "--out", "fit.json"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    same_draws(sm.load("fit.run"), model.resume("whole.run", 450, progress=False))


def test_text_files_are_read_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = rows()
    lines = ["x,y", *(f"{x!r},{y!r}" for x, y in zip(data["x"].tolist(), data["y"].tolist()))]
    pathlib.Path("t.csv").write_text("\n".join(lines))
    request = {**REQUEST, "kernel": None}
    sm.program(OVER_ROWS, t="t.csv").sample(checkpoint="fit.run", **request)
    longer = sm.resume("fit.run", 350, progress=False)
    same_draws(longer, sm.program(OVER_ROWS, t=data).sample(checkpoint="whole.run", **{**request, "draws": 350}))
    lines[3] = "7,7"
    pathlib.Path("t.csv").write_text("\n".join(lines))
    with pytest.raises(sm.ModelError, match="the table `t` is not what it was"):
        sm.resume("fit.run", 400, progress=False)


def test_what_is_there_is_not_lost_without_a_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = small()
    first = model.sample(checkpoint="fit.run", **REQUEST)
    with pytest.raises(sm.SmidgenError, match=r'a run that is finished is there: resume\("fit\.run", draws=\.\.\.\).*discard=True'):
        model.sample(checkpoint="fit.run", **REQUEST)
    with pytest.raises(ValueError, match="a run can only grow"):
        sm.resume("fit.run", 10)
    with pytest.raises(sm.ModelError, match="the program is not what it was, line 1"):
        sm.program(TEXT.replace("normal 0", "normal 1"), sd=10.0).resume("fit.run", 400)
    with pytest.raises(sm.ModelError, match="was .*10.*now"):
        sm.program(TEXT, sd=11.0).resume("fit.run", 400)
    with pytest.raises(ValueError, match='ends in ".run"'):
        model.sample(checkpoint="fit", **REQUEST)
    pathlib.Path("other.run").mkdir()
    with pytest.raises(sm.SmidgenError, match="something else than a run folder"):
        model.sample(checkpoint="other.run", discard=True, **REQUEST)
    for word, value in (("max_seconds", 1.0), ("keep_states", True), ("init", first)):
        with pytest.raises(ValueError, match=word):
            model.sample(checkpoint="new.run", **{**REQUEST, word: value})
    with pytest.raises(sm.SmidgenError, match="no such run folder"):
        sm.resume("nothing.run")
    assert not pathlib.Path("new.run").exists()
    same_draws(model.sample(checkpoint="fit.run", discard=True, **REQUEST), first)
    same_draws(sm.resume("fit.run"), first)


def test_looked_at_stopped_and_gone_on_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = {**REQUEST, "draws": 10**8}
    run = small().sample(checkpoint="fit.run", wait=False, **request)
    deadline = time.monotonic() + 30
    seen = 0
    while seen < 100 and time.monotonic() < deadline:
        time.sleep(0.05)
        try:
            seen = min(run.inspect()._outcome.lengths)
        except sm.SmidgenError:
            continue
    assert seen >= 100 and run.progress["chains"][0]["draws"] > 0
    with pytest.raises(sm.ModelError, match="process .* is running it"):
        sm.resume("fit.run", progress=False)
    stopped = run.cancel()
    assert not stopped.is_complete and not sm.load("fit.run").is_complete
    made = min(stopped._outcome.lengths)
    assert any(text.startswith("unfinished") and 'resume("fit.run")' in text for text in sm.load("fit.run").warnings)
    again = sm.resume("fit.run", wait=False)
    deadline = time.monotonic() + 30
    while min((chain["draws"] for chain in again.progress["chains"]), default=0) < made + 10 and time.monotonic() < deadline:
        time.sleep(0.05)
    longer = again.cancel()
    assert min(longer._outcome.lengths) >= made
    for name in ("mu", "s"):
        n = min(made, longer[name].shape[1])
        assert np.array_equal(longer[name][:, :n], stopped[name][:, :n])


def test_starting_values_and_the_ends_of_an_older_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, request = small(), {**REQUEST, "tune": 0, "draws": 60}
    start = {"mu": 3.25, "s": 0.5}
    same_draws(
        model.sample(checkpoint="a.run", init=start, **request), model.sample(checkpoint="b.run", init=start, cores=1, **request)
    )
    for k in range(2):
        for name in (f"chain-{k}.ckpt", f"chain-{k}.ckpt.prev", f"chain-{k}.arrows"):
            pathlib.Path("a.run", name).unlink(missing_ok=True)
    same_draws(sm.resume("a.run", 61, progress=False), sm.resume("b.run", 61, progress=False))
    other = model.sample(checkpoint="c.run", restart_from="b.run", **request)
    assert not np.array_equal(other["mu"], sm.load("b.run")["mu"][:, :60])
    assert json.loads(pathlib.Path("c.run/run.json").read_text())["restart_from"].endswith("b.run")


CTRL_C = """
import sys
import smidgen as sm
model = sm.program(open("model.smg").read(), sd=10.0)
print("begun", flush=True)
model.sample(draws=10**8, tune=10, chains=2, seed=3, checkpoint="fit.run", progress=False)
"""


def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.smg").write_text(TEXT)
    child = subprocess.Popen([sys.executable, "-c", CTRL_C], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    while not (tmp_path / "fit.run" / "chain-1.ckpt").exists() and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=20)
    assert 'resume("fit.run") goes on' in said
    assert not sm.load("fit.run").is_complete


def test_the_folder_is_no_longer_held_when_the_run_is_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small().sample(checkpoint="fit.run", **REQUEST)
    assert sm.resume("fit.run", 310, progress=False)["mu"].shape == (2, 310)
