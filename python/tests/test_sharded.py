"""One exact chain above a table in many files: the same bits whoever has them, and the right posterior."""

import os
import signal

import numpy as np
import pytest
from conftest import same_draws

import smidgen as sm
from smidgen import _crew, _sharded

parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: there are no Parquet files to read")

TEXT = """[table t]
[assume a (normal 0 2)] [assume b (normal 0 2)]
[for row in t [observe (bernoulli (logistic (+ a (* b row.x)))) row.y]]
"""
BLOCK = 65_536


def write(path, x, y):
    import pyarrow

    parquet.write_table(pyarrow.table({"x": x, "y": y}), path)
    return str(path)


def made(n, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, (rng.random(n) < 1 / (1 + np.exp(-(0.4 - 0.8 * x)))).astype(float)


def parts(folder, x, y, size):
    return [write(folder / f"part-{k}-{size}.parquet", x[i : i + size], y[i : i + size]) for k, i in enumerate(range(0, x.size, size))]


@pytest.fixture(scope="module")
def tall(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tall")
    x, y = made(2 * BLOCK + 10_000)
    return sm.program(TEXT, t={"x": x, "y": y}), x, y, folder


def test_the_same_bits_for_any_workers_and_cuts(tall):
    model, x, y, folder = tall
    request = dict(draws=2000, tune=20, seed=3, chains=2)
    whole = sm.distributed.exact(model, 1, [write(folder / "whole.parquet", x, y)], **request)
    files = parts(folder, x, y, BLOCK)
    for workers in (1, 2, 3):
        same_draws(sm.distributed.exact(model, workers, files, **request), whole)
    # The posterior of all rows, by the engine's own exact kernel on one machine.
    here = model.sample(draws=2000, tune=200, chains=2, seed=4, kernel="(reference_mh default all 1)", progress=False)
    for name in ("a", "b"):
        draws, others = whole[name].ravel(), here[name].ravel()
        sd = others.std()
        # Both have about 3,500 effective draws: 4.5 sds of the difference, false alarms 3e-5 in all.
        assert abs(draws.mean() - others.mean()) < 4.5 * sd * np.sqrt(2 / 3000)
        assert abs(draws.std() / sd - 1) < 4.5 * np.sqrt(1 / 3000)
    (kernel,) = whole.kernels
    assert kernel["transitions"] == 2 * 2020 and whole._later["sharded"]["bound"] > 0


@pytest.fixture(scope="module")
def rare():
    """So few rows and rare events that many of them are asked for at every move."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=2000)
    return x, (rng.random(2000) < 1 / (1 + np.exp(4.5 - x))).astype(float)


def exact_answer(x, y):
    """Means and sds of the exact posterior, by cubature."""
    a, b = np.meshgrid(np.linspace(-6.5, -3.5, 80), np.linspace(-0.5, 2.5, 80), indexing="ij")
    log_p = -(a**2 + b**2) / 8 + (a[..., None] + b[..., None] * x[y > 0]).sum(-1)
    for part in np.array_split(x, 20):
        log_p -= np.logaddexp(0, a[..., None] + b[..., None] * part).sum(-1)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    means = [(p * grid).sum() for grid in (a, b)]
    return {name: (mean, np.sqrt((p * (grid - mean) ** 2).sum())) for name, mean, grid in zip("ab", means, (a, b))}


def objections(fit, answer):
    """How far means and sds are from those of the exact posterior, in standard errors."""
    found = []
    for name, (mean, sd) in answer.items():
        row = fit.summary().rows[name]
        found += [(row["mean"] - mean) / sd * np.sqrt(row["ess_bulk"]), (row["sd"] / sd - 1) * np.sqrt(row["ess_tail"])]
    return max(abs(z) for z in found)


def test_where_rows_object_often_the_posterior_is_right(rare, tmp_path, monkeypatch):
    x, y = rare
    model, files, asked = sm.program(TEXT, t={"x": x, "y": y}), parts(tmp_path, x, y, 250), []
    ask, answer = _sharded.Parts.ask, exact_answer(x, y)

    def spied(self, question):
        answer = ask(self, question)
        asked.append((question, answer))
        return answer

    monkeypatch.setattr(_sharded.Parts, "ask", spied)
    request = dict(draws=20_000, tune=200, seed=5, reel=4096)
    # Four comparisons at 4.5 standard errors: false alarms 3e-5.
    fit = sm.distributed.exact(model, 2, files, **request)
    assert objections(fit, answer) < 4.5
    # Rows are drawn in proportion to their bounds: blocks by C_b, places uniformly in [0, C_b). 17 comparisons at 5
    # standard errors: false alarms 1e-5.
    bounds = np.array(next(answer for question, answer in asked if question[0] == "bounds"))
    places = [place for question, _ in asked if question[0] == "reel" for place in question[1]]
    # One reel more may have been on its way at the end.
    assert len(places) // 4096 - fit._later["sharded"]["reels"] in (0, 1) and len(places) > 50_000
    blocks = np.array([block for block, _, _ in places])
    for block, share in enumerate(bounds / bounds.sum()):
        inside = np.array([place for own, place, _ in places if own == block]) / bounds[block]
        assert abs(inside.size - share * len(places)) < 5 * np.sqrt(len(places) * share * (1 - share))
        assert (inside >= 0).all() and (inside < 1).all() and abs(inside.mean() - 0.5) < 5 / np.sqrt(12 * inside.size)
    assert set(blocks) == set(range(8))

    def mild(self, question):
        answer = ask(self, question)
        return (answer[0], [50 * c for c in answer[1]]) if question[0] == "reel" else answer

    # A broken twin: rows that hardly ever object.
    monkeypatch.setattr(_sharded.Parts, "ask", mild)
    assert objections(sm.distributed.exact(model, 2, files, **request), answer) > 4.5


def test_a_row_is_where_its_bound_is(rare):
    """Places at equal distances in a block find each row as often as its bound is long, give or take one."""
    x, y = rare
    model = sm.program(TEXT, t={"x": x, "y": y})
    order = model._order(
        draws=1, tune=0, chains=1, cores=1, seed=1, kernel=None, thin=1, record=None, init=None, approximate=False,
        exact=False, audit=None, max_seconds=None, keep_states=False, keep_tune=False, stats=False,
    )  # fmt: skip
    shard = model._core.shard(order, "t")
    ball = ([-4.5, 1.0], [0.2, 0.0, -0.05, 0.15], 8.0)
    (total,) = shard.bounds(ball)
    n = 10_000
    bounds, cells = shard.rows_at(ball, [(0, (k + 0.5) / n * total, total) for k in range(n)])
    found = np.array(cells[0][2])
    assert cells[0][0] == "x" and np.array_equal(found[np.sort(np.unique(found, return_index=True)[1])], x[np.isin(x, found)])
    for row in range(x.size):
        here = found == x[row]
        if here.any():
            assert abs(here.sum() - np.array(bounds)[here][0] / total * n) <= 1


def test_bounds_that_are_too_small_are_noticed(rare, tmp_path, monkeypatch):
    """A broken twin."""
    x, y = rare
    files = parts(tmp_path, x, y, 500)
    ask = _sharded.Parts.ask

    right = []

    def small(self, question):
        if question[0] == "reel":
            # Who serves the rows would notice that they are not those of the bounds.
            shard, bounds = ask(self, ("reel", [(block, place, right[block]) for block, place, _ in question[1]]))
            return shard, [0.1 * c for c in bounds]
        answer = ask(self, question)
        if question[0] == "bounds":
            right[:] = answer
            return [0.1 * c for c in answer]
        return answer

    monkeypatch.setattr(_sharded.Parts, "ask", small)
    # Places are drawn as if all bounds were a tenth: rows come from the beginning of a block.
    with pytest.raises(sm.ModelError, match="beyond its bound"):
        sm.distributed.exact(sm.program(TEXT, t={"x": x, "y": y}), 1, files, draws=5000, seed=5)


def test_a_worker_that_dies_is_replaced_and_a_file_that_changed_is_named(tall, monkeypatch):
    model, x, y, folder = tall
    files = parts(folder, x, y, BLOCK)
    request = dict(draws=300, tune=20, seed=3)
    whole = sm.distributed.exact(model, 1, files, **request)
    asked, begun = _crew.Processes._ask, []

    def kill(self, head, data):
        begun.append(self._process())
        if len(begun) == 40:
            os.kill(begun[-1].pid, signal.SIGKILL)
        return asked(self, head, data)

    monkeypatch.setattr(_crew.Processes, "_ask", kill)
    same_draws(sm.distributed.exact(model, 2, files, **request), whole)
    assert len({process.pid for process in begun}) == 3

    def kill_and_write(self, head, data):
        begun.append(self._process())
        if len(begun) == 40:
            changed = y.copy()
            changed[BLOCK + 17] = 1 - changed[BLOCK + 17]
            parts(folder, x, changed, BLOCK)
            os.kill(begun[-1].pid, signal.SIGKILL)
        return asked(self, head, data)

    begun.clear()
    monkeypatch.setattr(_crew.Processes, "_ask", kill_and_write)
    with pytest.raises(sm.ModelError, match=r"part-1-65536\.parquet: the table `t` is not what it was, in rows 0 to 65535"):
        sm.distributed.exact(model, 1, files, **request)
    parts(folder, x, y, BLOCK)
    monkeypatch.setattr(_crew.Processes, "_ask", asked)
    same_draws(sm.distributed.exact(model, 2, files, **request), whole)


def test_what_it_does_not_serve_is_refused(tall, tmp_path):
    _, x, y, _ = tall
    n = 4000
    data = {"x": x[:n], "y": y[:n]}
    file = write(tmp_path / "t.parquet", x[:n], y[:n])

    def refused(text, why, files=(file,), **inputs):
        with pytest.raises((sm.SmidgenError, ValueError), match=why):
            sm.distributed.exact(sm.program(text, t=data, **inputs), 1, list(files), draws=10)

    refused(TEXT.replace("(normal 0 2)]", "(normal 0 (rows t))]", 1), "cannot ask for anything else")
    refused(TEXT.replace("row.x", "row.index"), "row.index would count")
    refused(TEXT.replace("[assume b (normal 0 2)]", "[assume g (mem (lambda (k) (normal 0 1)))] [assume b (poisson 2)]"), "continuous choices alone")
    refused(TEXT.replace("[assume b (normal 0 2)]", "[assume g (mem (lambda (k) (normal 0 1)))] [assume b 1]").replace("(+ a", "(+ (g row.x)"), "hang on|rows")
    refused(TEXT, "has a file twice", (file, file))
    refused(TEXT, "one part at least", ())
    refused(TEXT, "nowhere.parquet", (file, str(tmp_path / "nowhere.parquet")))
    with pytest.raises(sm.SmidgenError, match="a model of one table, this has 0"):
        sm.distributed.exact(sm.program("[assume a (normal 0 1)]"), 1, [file])
