"""Predictions, log likelihoods, leaving out, calibration and exact answers, against loops by hand and the command."""

import json
import math
import pathlib
import pickle
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

import five
import smidgen as sm

FEW = dict(draws=100, tune=200, chains=2, seed=1)


@sm.model
def line(points):
    slope, level, sd = normal(0, 5), normal(0, 5), half_normal(2)
    for row in points:
        observe(normal(level + slope * row.x, sd), row.y)
    return slope, level, sd


@sm.model
def flat(points):
    level, sd = normal(0, 5), half_normal(2)
    for row in points:
        observe(normal(level, sd), row.y)
    return level, sd


@sm.model
def two_coins(heads):
    first, second = flip(0.5), flip(0.25)
    observe(flip(0.9 if first or second else 0.1), heads)
    return first, second, dict(both=first and second)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(4)
    x = np.linspace(-2, 2, 60)
    return {"x": x, "y": 1 + 2 * x + rng.normal(0, 0.5, 60)}


@pytest.fixture(scope="module")
def fit(points):
    return line(points).sample(draws=500, tune=500, seed=1)


def command(*arguments):
    own = shutil.which("smidgen", path=str(pathlib.Path(sys.executable).parent))
    if own is None:
        pytest.skip("the command is not installed")
    done = subprocess.run([own, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def files(points, tmp_path_factory):
    """The program, its data, and its draws by the command."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "line.smg").write_text(line(points).text, encoding="utf-8")
    (folder / "flat.smg").write_text(flat(points).text, encoding="utf-8")
    np.savez(folder / "points.npz", **points)
    return folder


# ---------------------------------------------------------------- predictions


def test_predictions_agree_with_a_loop_by_hand(fit, points):
    made = fit.posterior_predictive(draws=None)
    assert made["y"].shape == (4, 500, 60) and made.observed == ["y"]
    assert list(made.rows["y"]) == list(range(60)) and made.draws[0] == list(range(500))
    rng = np.random.default_rng(1)
    mean = fit["level"][..., None] + fit["slope"][..., None] * points["x"]
    hand = rng.normal(mean, fit["sd"][..., None])
    # The same mean in every row, and residuals of the same law.
    error = np.sqrt(2 * hand.var(axis=(0, 1)) / 2000)
    assert np.all(np.abs(made["y"].mean(axis=(0, 1)) - hand.mean(axis=(0, 1))) < 5 * error)
    z = (made["y"] - mean) / fit["sd"][..., None]
    assert abs(z.mean()) < 0.02 and abs(z.std() - 1) < 0.02
    # What is recorded is that of the draws.
    assert np.array_equal(made["slope"], fit["slope"])


def test_new_data_are_a_table(fit):
    new = {"x": [10.0, -10.0, 0.0]}
    made = fit.posterior_predictive(new, draws=None)
    mean = (fit["level"][..., None] + fit["slope"][..., None] * np.array(new["x"])).mean(axis=(0, 1))
    assert np.allclose(made["y"].mean(axis=(0, 1)), mean, atol=0.1)
    with pytest.raises(sm.ModelError, match="`?x`?"):
        fit.posterior_predictive({"z": [1.0]})
    with pytest.raises(sm.ModelError, match="takes no `other`"):
        fit.posterior_predictive(other=[1.0])


@sm.model
def by_arrays(x, y, scale):
    slope = normal(0, 5)
    for a, b in zip(x, y):
        observe(normal(slope * a / scale, 0.5), b)
    return slope


def test_new_arrays_go_by_their_names(points):
    fit = by_arrays(points["x"], points["y"] - 1, 1.0).sample(**FEW)
    made = fit.posterior_predictive(x=[100.0, -100.0])
    assert made["y"].shape == (2, 100, 2)
    assert np.allclose(made["y"].mean(axis=(0, 1)), [200, -200], rtol=0.1)
    twice = fit.posterior_predictive(x=[100.0], scale=10.0)
    assert np.allclose(twice["y"].mean(), 20, rtol=0.1)


def test_groups_that_were_never_seen_are_drawn(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = five.radon(data["radon"]).sample(draws=300, tune=300, seed=1)
    new = {"county": ["county 1"] * 2 + ["nowhere"], "floor": [0.0, 1.0, 0.0]}
    made = fit.posterior_predictive(new, draws=None, record={"there": 'level("county 1")', "nowhere": 'level("nowhere")'})
    known = fit["level"][..., [str(c) for c in dict.fromkeys(data["radon"]["county"])].index("county 1")]
    assert np.array_equal(made["there"], known)
    tau, mu = fit["tau"], fit["mu"]
    z = (made["nowhere"] - mu) / tau
    assert abs(z.mean()) < 0.15 and 0.85 < z.std() < 1.15


def test_rows_can_be_chosen(points):
    big = {"x": np.tile(points["x"], 50), "y": np.tile(points["y"], 50)}
    fit = line(big).sample(**FEW)
    with pytest.warns(sm.DataWarning, match="1000 of 3000 rows"):
        made = fit.posterior_predictive()
    assert made["y"].shape == (2, 100, 1000)
    few = fit.posterior_predictive(rows=[5, 2999])
    assert list(few.rows["y"]) == [5, 2999] and few["y"].shape == (2, 100, 2)
    mean = fit["level"] + fit["slope"] * big["x"][2999]
    assert abs(((few["y"][..., 1] - mean) / fit["sd"]).mean()) < 0.3
    some = fit.log_likelihood(rows=[5, 2999])
    every = fit.log_likelihood(rows="all")
    assert every["y"].shape == (2, 100, 3000)
    assert np.allclose(some["y"], every["y"][..., [5, 2999]], rtol=1e-12)
    with pytest.raises(sm.ModelError, match="0 to 2999"):
        fit.posterior_predictive(rows=[3000])


def test_rows_with_choices_of_their_own_keep_them():
    """Leaving out rows must not give one row the choice of another."""
    text = """[table t] [assume m (normal 0 1)]
        [for row in t [let k (normal m 3)] [observe (normal k 0.01) row.y]] [predict m]"""
    y = np.arange(12.0) * 10
    fit = sm.program(text, t={"y": y}).sample(draws=50, tune=300, chains=1, seed=1)
    made = fit.posterior_predictive(rows=[3, 11])
    assert np.allclose(made["y"].mean(axis=(0, 1)), [30, 110], atol=0.5), made["y"].mean(axis=(0, 1))
    each = fit.log_likelihood(rows=[3, 11])["y"]
    assert np.allclose(each, fit.log_likelihood()["y"][..., [3, 11]], rtol=1e-9)


def test_the_command_predicts_the_same(files, points):
    fit = line(points).sample(draws=50, tune=100, chains=2, seed=5)
    arguments = ["--data", f"points={files / 'points.npz'}", "--format", "json"]
    kept = files / "draws.parquet"
    request = ["--draws", 50, "--warmup", 100, "--chains", 2, "--seed", 5, "--out", kept]
    command("sample", files / "line.smg", *request, *arguments)
    theirs = command("predict", files / "line.smg", "--draws-from", kept, "--seed", 7, *arguments)["draws"]
    made = fit.posterior_predictive(seed=7)
    for i in range(60):
        assert np.array_equal(np.array(theirs[f"y[{i}]"]), made["y"][..., i]), i
    loo = command("loo", files / "line.smg", "--draws-from", kept, *arguments)
    own = fit.loo()
    assert (loo["elpd_loo"], loo["se"], loo["p_loo"]) == (own.elpd, own.se, own.p_loo)
    assert [unit["k_hat"] for unit in loo["units"]] == list(own.k_hat)
    # What the command has written, with its states, serves Python.
    again = sm.load(kept, model=line(points))
    assert np.array_equal(again.posterior_predictive(seed=7)["y"], made["y"])
    with pytest.raises(sm.SmidgenError, match="model="):
        sm.load(kept).posterior_predictive()


def test_the_command_draws_the_same_from_the_prior(files, points):
    arguments = ["--data", f"points={files / 'points.npz'}", "--format", "json"]
    theirs = command("sample", files / "line.smg", "--prior", "--chains", 1, "--draws", 40, "--seed", 3, *arguments)
    made = line(points).prior_predictive(40, seed=3)
    for i in (0, 17, 59):
        assert np.array_equal(np.array(theirs["draws"][f"y[{i}]"]), made["y"][..., i])
    assert np.array_equal(np.array(theirs["draws"]["slope"]), made["slope"])
    assert made.recorded == ["slope", "level", "sd"] and "from the prior" in repr(made)
    many = line(points).prior_predictive(4000, seed=3, rows=[0])
    assert abs(many["slope"].std() - 5) < 0.3 and many["y"].shape == (1, 4000, 1)


# ---------------------------------------------------------------- log likelihoods and leaving out


def test_log_likelihoods_are_those_of_the_formula(fit, points):
    found = fit.log_likelihood()
    mean = fit["level"][..., None] + fit["slope"][..., None] * points["x"]
    sd = fit["sd"][..., None]
    hand = -0.5 * math.log(2 * math.pi) - np.log(sd) - (points["y"] - mean) ** 2 / (2 * sd**2)
    assert found["y"].shape == (4, 500, 60) and np.allclose(found["y"], hand, rtol=1e-9, atol=1e-9)


def test_leaving_out_agrees_with_arviz_and_with_doing_it(fit, points):
    az = pytest.importorskip("arviz")
    loo = fit.loo()
    theirs = az.loo(fit.to_arviz(), pointwise=True)
    assert abs(float(theirs.elpd_loo) - loo.elpd) < 1e-6 and abs(float(theirs.p_loo) - loo.p_loo) < 1e-6
    assert np.allclose(np.asarray(theirs.pareto_k), loo.k_hat, atol=1e-6)
    assert "elpd_loo" in repr(loo) and "<table" in loo._repr_html_()
    # One row really left out.
    i = 30
    without = {name: np.delete(values, i) for name, values in points.items()}
    other = line(without).sample(draws=1000, tune=500, seed=2)
    mean = other["level"] + other["slope"] * points["x"][i]
    density = np.exp(-((points["y"][i] - mean) ** 2) / (2 * other["sd"] ** 2)) / other["sd"] / math.sqrt(2 * math.pi)
    assert abs(math.log(density.mean()) - loo.pointwise[i]) < 0.05
    again = pickle.loads(pickle.dumps(loo))
    assert again.elpd == loo.elpd and list(again.k_hat) == list(loo.k_hat)


def test_models_are_compared(fit, points, files):
    other = flat(points).sample(draws=500, tune=500, seed=1)
    ranking = sm.compare(sloped=fit, flat=other)
    assert ranking.best == "sloped" and ranking["flat"]["difference"] > 50
    assert abs(ranking["sloped"]["weight"] + ranking["flat"]["weight"] - 1) < 1e-6
    assert "sloped predicts better than flat" in repr(ranking) and "<table" in ranking._repr_html_()
    assert list(sm.compare(fit, other)) == ["line", "flat"]
    with pytest.raises(sm.ModelError, match="different data"):
        sm.compare(fit, line({"x": [1.0, 2.0], "y": [1.0, 3.0]}).sample(**FEW))
    arguments = ["--data", f"points={files / 'points.npz'}", "--format", "json", "--draws", 500, "--warmup", 500]
    arguments += ["--chains", 4, "--seed", 1]
    theirs = command("compare", files / "line.smg", files / "flat.smg", *arguments)["models"]
    assert [row["elpd_loo"] for row in theirs] == [ranking[name]["elpd_loo"] for name in ("sloped", "flat")]


# ---------------------------------------------------------------- calibration, enumeration, kernels


def test_calibration_has_a_verdict(tmp_path):
    @sm.model
    def small(ys):
        mu = normal(0, 1)
        for y in ys:
            observe(normal(mu, 1), y)
        return mu

    model = small([0.0] * 5)
    found = model.calibrate(100, seed=1, tune=100)
    assert found.verdict == "PASS" and found.p > 0.01 and len(found.ranks["mu"]) == 100
    assert found.ranks["mu"].max() <= 31 and "PASS" in repr(found)
    found.report(tmp_path / "page.html")
    assert "<svg" in (tmp_path / "page.html").read_text() and "iframe" in found._repr_html_()
    # A kernel that does not move cannot be right.
    stuck = model.calibrate(100, seed=1, tune=0, thin=1, kernel="(mh default one 'drift 0.000001 1)")
    assert stuck.verdict == "FAIL" and stuck.p < 1e-6
    again = pickle.loads(pickle.dumps(found))
    assert again.p == found.p


def test_exact_answers():
    found = two_coins(True).enumerate()
    joint = {(a, b): 0.5 * (0.25 if b else 0.75) * (0.9 if a or b else 0.1) for a in (0, 1) for b in (0, 1)}
    evidence = sum(joint.values())
    assert abs(found.log_evidence - math.log(evidence)) < 1e-12
    assert abs(found["first"][True] - (joint[1, 0] + joint[1, 1]) / evidence) < 1e-12
    assert abs(found["both"][True] - joint[1, 1] / evidence) < 1e-12
    assert abs(found.mean("second") - (joint[0, 1] + joint[1, 1]) / evidence) < 1e-12
    assert "log evidence" in repr(found) and found.states == 4
    with_more = two_coins(True).enumerate(record={"either": "first or second"})
    assert abs(with_more["either"][True] - (evidence - joint[0, 0]) / evidence) < 1e-12
    with pytest.raises(sm.ModelError, match="infinitely|continu"):
        sm.program("[assume x (normal 0 1)] [predict x]").enumerate()
    with pytest.raises(sm.ModelError, match="most="):
        two_coins(True).enumerate(most=2)


def test_kernels_are_compared(points):
    rng = np.random.default_rng(2)
    big = {"x": rng.normal(size=3000), "y": rng.normal(size=3000)}
    kernel = sm.kernel.cycle(
        sm.kernel.subsampled_mh("slope", batch=100, epsilon=0.01, drift=0.02, n=2),
        sm.kernel.slice("level"),
        sm.kernel.slice("sd"),
    )
    found = line(big).compare(kernel, draws=60, tune=60, seed=1)
    assert found.verdict in ("PASS", "WARN", "FAIL") and found.findings and found.data["kernels"]
    assert "iframe" in found._repr_html_()
    with pytest.raises(sm.ModelError, match="subsampled_mh"):
        line(points).compare()


# ---------------------------------------------------------------- what ArviZ gets


def test_every_group_of_arviz(fit, points):
    xarray = pytest.importorskip("xarray")
    fit.posterior_predictive(draws=100)
    fit.posterior_predictive({"x": [1.0, 2.0]})
    fit.log_likelihood()
    tree = fit.to_datatree(prior=line(points).prior_predictive(30, seed=1))
    groups = {"posterior", "sample_stats", "posterior_predictive", "predictions", "log_likelihood", "observed_data"}
    assert {"prior", "prior_predictive", *groups} == set(tree.children)
    assert np.array_equal(tree["observed_data"]["y"].values, points["y"])
    assert tree["posterior_predictive"]["y"].dims == ("chain", "draw", "y_row")
    # Draws have their numbers.
    assert list(tree["posterior_predictive"]["draw"].values[:3]) == [0, 20, 40]
    assert tree["sample_stats"]["diverging"].dtype == bool and (tree["sample_stats"]["step_size"] > 0).all()
    assert isinstance(tree, xarray.DataTree)
    az = pytest.importorskip("arviz")
    if hasattr(az, "InferenceData"):
        assert set(fit.to_arviz().groups()) == groups


def test_statistics_of_draws(fit, points):
    stats = fit.stats
    assert stats["lp"].shape == (4, 500) and set(stats) >= {"acceptance_rate", "step_size", "tree_depth", "diverging"}
    i, j = 2, 17
    mean = fit["level"][i, j] + fit["slope"][i, j] * points["x"]
    sd = fit["sd"][i, j]

    def log_normal(x, m, s):
        return -0.5 * math.log(2 * math.pi) - np.log(s) - (x - m) ** 2 / (2 * s**2)

    joint = log_normal(points["y"], mean, sd).sum() + log_normal(fit["level"][i, j], 0, 5)
    joint += log_normal(fit["slope"][i, j], 0, 5) + log_normal(sd, 0, 2) + math.log(2)
    assert abs(joint - stats["lp"][i, j]) < 1e-6
    without = line(points).sample(stats=False, **FEW)
    assert without.stats == {}
    # With many rows the log density is not reckoned unless it is asked for.
    many = {"x": np.zeros(30_000), "y": np.random.default_rng(1).normal(size=30_000)}
    assert "lp" not in flat(many).sample(draws=5, tune=5, chains=1, seed=1).stats
    assert "lp" in flat(many).sample(draws=5, tune=5, chains=1, seed=1, stats=True).stats


def test_tuning_draws_are_kept_on_request(points):
    fit = line(points).sample(keep_tune=True, **FEW)
    assert fit.tuning["slope"].shape == (2, 200)
    assert line(points).sample(**FEW).tuning == {}
    tree = fit.to_datatree()
    assert tree["warmup_posterior"]["slope"].shape == (2, 200) and "warmup_sample_stats" in tree.children


# ---------------------------------------------------------------- where runs begin


def test_a_run_goes_on_from_another(points, fit):
    still = "(mh default one 'drift 0.0000001 1)"
    request = dict(draws=1, tune=0, chains=4, seed=3, kernel=still)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        on = line(points).sample(init=fit, **request)
        assert np.allclose(on["slope"][:, 0], fit["slope"][:, -1], atol=1e-4)
        chains = [{"slope": float(k), "level": 0.5, "sd": 1.0} for k in range(4)]
        on = line(points).sample(init=chains, **request)
        assert np.allclose(on["slope"][:, 0], range(4), atol=1e-4)
        loaded = pickle.loads(pickle.dumps(fit))
        on = line(points).sample(init=loaded, **request)
        assert np.allclose(on["slope"][:, 0], fit["slope"][:, -1], atol=1e-4)


def test_a_call_of_a_memoised_function_is_a_start(data):
    still = "(mh default one 'drift 0.0000001 1)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        on = five.radon(data["radon"]).sample(
            draws=1, tune=0, chains=1, seed=1, kernel=still, init={'level("county 4")': 9.0, "tau": 2.0}
        )
    assert abs(on["level"][0, 0, 0] - 9) < 1e-4 and abs(on["tau"][0, 0] - 2) < 1e-4


def test_states_are_kept_or_not(points, fit, tmp_path):
    two = """[table t] [assume level (mem (lambda (g) (normal 0 1)))]
        [for row in t [observe (normal (level row.g) 1) row.y]] "sum": [predict (+ (level 0) (level 1))]"""
    model = sm.program(two, t={"g": [0.0, 1.0], "y": [1.0, 2.0]})
    without = model.sample(keep_states=False, **FEW)
    with pytest.raises(sm.ModelError, match="not have the value of every random choice"):
        without.posterior_predictive()
    kept = model.sample(**FEW)
    kept.save(tmp_path / "fit.parquet")
    assert (tmp_path / "fit.states").exists()
    first = kept.posterior_predictive(seed=3)["y"]
    assert np.array_equal(sm.load(tmp_path / "fit.parquet", model=model).posterior_predictive(seed=3)["y"], first)
    assert np.array_equal(pickle.loads(pickle.dumps(kept)).posterior_predictive(seed=3)["y"], first)
    with pytest.raises(ValueError, match="keep_states"):
        model.sample(keep_states="some")
