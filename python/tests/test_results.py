"""What comes out: arrays, streams, files, summaries, ArviZ, pickles, runs."""

import gc
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import same_draws

import five
import smidgen as sm

COIN = "[assume p (beta 1 1)] [observe (binomial 10 p) 7] [predict p]"
#: Sweeps that take a while.
LONG = (
    "[assume x (mem (lambda (i) (normal 0 1)))] [for i in (range 0 800) [observe (normal (x i) 1) 1]] [predict (x 0)]"
)


@pytest.fixture(scope="module")
def fit():
    from conftest import frames

    return five.radon(frames()["radon"]).sample(draws=200, tune=200, seed=1)


def test_arrays_are_read_only_views(fit):
    levels = fit["level"]
    assert levels.shape == (4, 200, 6) and not levels.flags.writeable
    assert np.shares_memory(levels, fit.draws["level"])
    with pytest.raises(ValueError):
        levels[0] = 1
    kept = sm.program(COIN).sample(draws=50, tune=50, seed=1)
    p = kept["p"]
    mean = p.mean()
    del kept
    gc.collect()
    assert p.mean() == mean
    with pytest.raises(KeyError, match="there is mu, tau, level"):
        fit["nu"]


def test_streams_are_what_files_hold(fit, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    fit.save(tmp_path / "d.parquet")
    saved = pl.read_parquet(tmp_path / "d.parquet")
    assert pl.DataFrame(fit).equals(saved)
    assert pl.DataFrame(pa.table(fit)).equals(saved)
    assert duckdb.sql("from fit").pl().equals(saved)
    assert saved.columns[:3] == ["chain", "draw", "mu"]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "json", "nc"])
def test_files_come_back(fit, tmp_path, ending):
    if ending == "nc":
        pytest.importorskip("xarray")
    path = tmp_path / f"draws.{ending}"
    fit.save(path)
    again = sm.load(path)
    assert np.array_equal(again["mu"], fit["mu"])
    if ending != "csv":
        assert again.seed == 1 and "[table homes]" in again.program
    with pytest.raises(sm.SmidgenError):
        sm.load(tmp_path / "nothing.parquet")


def test_summary_agrees_with_arviz(fit):
    az = pytest.importorskip("arviz")
    data = fit.to_arviz()
    summary = fit.summary()
    for name in ("mu", "tau"):
        assert abs(float(az.rhat(data, var_names=[name])[name]) - summary[name]["r_hat"]) < 1e-8
        assert abs(float(az.ess(data, var_names=[name])[name]) - summary[name]["ess_bulk"]) < 1e-6
    assert list(data.posterior["level"].coords["county"].values)[0].startswith("county")
    assert "mu" in repr(summary) and "<table" in summary._repr_html_()
    assert summary.to_pandas().loc["mu", "mean"] == summary["mu"]["mean"]


def test_the_new_generation_of_arviz(fit):
    stats = pytest.importorskip("arviz_stats")
    pytest.importorskip("xarray")
    tree = fit.to_datatree()
    found = stats.summary(tree, var_names=["mu"], round_to=None, kind="diagnostics")
    assert abs(float(found.loc["mu", "r_hat"]) - fit.summary()["mu"]["r_hat"]) < 1e-8


def test_arrays_are_fast_to_hand_over():
    pytest.importorskip("xarray")
    text = "[assume w (multivariate_diag_normal (zeros 50) (ones 50))] [predict w]"
    result = sm.program(text).sample(draws=10_000, tune=0, seed=1)
    result.to_datatree()
    begun = time.perf_counter()
    result.to_datatree()
    assert time.perf_counter() - begun < 0.2
    assert result["w"].shape == (4, 10_000, 50)


def test_pickles(fit, data):
    again = pickle.loads(pickle.dumps(fit))
    same_draws(again, fit)
    assert again.summary()["mu"] == fit.summary()["mu"] and again.kernels == fit.kernels
    model = five.radon(data["radon"])
    other = pickle.loads(pickle.dumps(model))
    same_draws(other.sample(draws=200, tune=200, seed=1), fit)


SPAWN = """
import pickle, sys
model = pickle.load(open(sys.argv[1], "rb"))
fit = model.sample(draws=200, tune=200, seed=1)
pickle.dump(fit, open(sys.argv[2], "wb"))
"""


def test_a_model_goes_to_another_process(fit, data, tmp_path):
    (tmp_path / "in").write_bytes(pickle.dumps(five.radon(data["radon"])))
    subprocess.run([sys.executable, "-c", SPAWN, tmp_path / "in", tmp_path / "out"], check=True, cwd=tmp_path)
    same_draws(pickle.loads((tmp_path / "out").read_bytes()), fit)


def test_what_is_no_number_is_an_object():
    text = '[assume z (flip 0.5)] "word": [predict (if z "yes" "no")]'
    result = sm.program(text).sample(draws=20, tune=0, seed=1)
    assert result["word"].dtype == object and set(result["word"].ravel()) == {"yes", "no"}
    assert "word" in repr(result.summary())


def test_recorded_expressions_are_python():
    result = sm.program(COIN).sample(draws=50, tune=50, seed=1, record={"odds": "p / (1 - p)"})
    assert np.allclose(result["odds"], result["p"] / (1 - result["p"]))


def test_starting_values(data):
    model = sm.program("[assume mu (normal 0 1)] [observe (normal mu 1) 0.5] [predict mu]")
    result = model.sample(
        draws=1, tune=0, chains=1, seed=1, init={"mu": 7.0}, kernel="(mh default one 'drift 0.000001 1)"
    )
    assert abs(result["mu"][0, 0] - 7) < 1e-4


def test_a_bad_run_warns_once_at_the_callers_line():
    text = "[assume mu (normal 0 100)] [observe (normal mu 0.01) 3] [predict mu]"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sm.program(text).sample(draws=50, tune=0, seed=1, kernel="(mh default one 'drift 0.05 1)")
    found = [w for w in caught if issubclass(w.category, sm.ConvergenceWarning)]
    assert len(found) == 1 and found[0].filename == __file__
    assert all("--" not in str(w.message) for w in caught), [str(w.message) for w in caught]
    assert "tune=" in str(found[0].message), str(found[0].message)


# ---------------------------------------------------------------- runs


def test_a_run_in_the_background():
    run = sm.program(LONG).sample(draws=10_000, tune=0, chains=2, seed=1, wait=False)
    with pytest.raises(TimeoutError):
        run.wait(0.1)
    counted = threading.Event()

    def count():
        for _ in range(100):
            time.sleep(0.0005)
        counted.set()

    threading.Thread(target=count).start()
    begun = time.monotonic()
    while run.progress["done"] < 20 and time.monotonic() - begun < 20:
        time.sleep(0.02)
    assert not run.is_finished and counted.wait(5)
    assert "running" in repr(run) and "<table" in run._repr_html_()
    with pytest.raises(TypeError):
        pickle.dumps(run)
    first = run.inspect()
    while run.inspect()["(x 0)"].shape[1] <= first["(x 0)"].shape[1] and time.monotonic() - begun < 30:
        time.sleep(0.02)
    assert run.inspect()["(x 0)"].shape[1] > first["(x 0)"].shape[1]
    assert {chain["phase"] for chain in run.progress["chains"]} <= {"drawing", "waiting"}
    result = run.cancel()
    assert not result.is_complete and run.is_finished
    assert 0 < result["(x 0)"].shape[1] < 10_000


def test_errors_come_out_of_wait():
    run = sm.program("[assume mu (normal 0 -1)]").sample(seed=1, wait=False)
    with pytest.raises(sm.ModelError, match="standard deviation"):
        run.wait()


SCRIPT = """
import smidgen as sm, sys
print("go", flush=True)
try:
    sm.program('''{long}''').sample(draws=100000, tune=0, seed=1)
except sm.Interrupted as error:
    print(error.result["(x 0)"].shape[1], flush=True)
    raise
"""


def test_ctrl_c_in_a_script_raises_with_the_result():
    script = SCRIPT.format(long=LONG)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    time.sleep(1.5)
    begun = time.monotonic()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert time.monotonic() - begun < 5
    assert int(out) > 0 and "Interrupted" in err, err
    assert child.returncode in (130, -signal.SIGINT)


PROMPT = """
import smidgen as sm, sys, warnings
sys.ps1 = ">>> "
print("go", flush=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fit = sm.program('''{long}''').sample(draws=100000, tune=0, seed=1)
print(fit["(x 0)"].shape[1], [w.category.__name__ for w in caught], fit.is_complete, flush=True)
"""


def test_ctrl_c_at_a_prompt_returns_what_was_drawn():
    script = PROMPT.format(long=LONG)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 0 and "InterruptedWarning" in out and "False" in out, (out, err)


def test_importing_is_light():
    code = "import sys, smidgen; print([m for m in ('pandas', 'polars', 'pyarrow', 'arviz', 'xarray', 'IPython') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_versions_agree():
    import importlib.metadata

    done = subprocess.run([sys.executable, "-m", "smidgen", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == sm.__version__ == importlib.metadata.version("smidgen")
