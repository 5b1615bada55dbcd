"""Tables from everywhere: the same draws, lent or copied, and clear words about missing cells."""

import gc

import numpy as np
import pytest
from conftest import same_draws

import smidgen as sm

FEW = dict(draws=50, tune=50, chains=2, seed=1)


@sm.model
def line(points):
    slope, sd = normal(0, 5), half_normal(2)
    for row in points:
        observe(normal(slope * row.x, sd), row.y)
    return slope, sd


@sm.model
def vectors(table):
    w = normal(0, 5, size=2)
    for row in table:
        observe(normal(dot(w, row.x), 1), row.y)
    return w


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    return {"x": x, "y": 2 * x + rng.normal(size=200)}


def test_every_kind_of_frame_gives_the_same_draws(points):
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    pa, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    first = line(points).sample(**FEW)
    frame = pl.DataFrame(points)
    structured = np.array(list(zip(points["x"], points["y"])), dtype=[("x", float), ("y", float)])
    for other in (
        frame,
        pd.DataFrame(points),
        pa.table(points),
        duckdb.sql("from frame"),
        structured,
        sm.table(points),
    ):
        same_draws(first, line(other).sample(**FEW))


def test_arrays_of_two_dimensions_are_vectors():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(100, 2))
    y = x @ [1.0, -1.0] + rng.normal(size=100)
    fit = vectors({"x": x, "y": y}).sample(**FEW)
    assert np.allclose(fit["w"].mean(axis=(0, 1)), [1, -1], atol=0.4)


@sm.model
def zipped(X, Y):
    w = normal(0, 5, size=2)
    for x, y in zip(X, Y):
        observe(normal(dot(w, x), 1), y)
    return w


@sm.model
def numbered(ys):
    mu = normal(0, 5)
    for i, y in enumerate(ys):
        observe(normal(mu + 0 * i, 1), y)
    return mu


def test_loops_over_arrays():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(100, 2))
    y = x @ [1.0, -1.0] + rng.normal(size=100)
    same_draws(zipped(x, y).sample(**FEW), vectors({"x": x, "y": y}).sample(**FEW))
    fit = numbered([1.0, 2.0, 3.0]).sample(**FEW)
    assert 1 < fit["mu"].mean() < 3
    with pytest.raises(sm.ModelSyntaxError, match="different lengths"):
        zipped(x, y[:50])


@sm.model
def at_once(x, y, table):
    slope, sd = normal(0, 5), half_normal(2)
    observe(normal(slope * x, sd), y)
    observe(normal(slope * table.x, sd), table.y)
    return slope, sd


def test_columns_and_arrays_are_observed_at_once(points):
    model = at_once(points["x"], points["y"], points)
    assert model.text.count("[for row in") == 2, model.text
    assert abs(model.sample(**FEW)["slope"].mean() - 2) < 0.3


def test_polars_is_lent_and_pandas_copied(points):
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    lent = line(pl.DataFrame(points)).explain()
    assert "lent" in lent and lent.columns["points"][0][3] == "lent"
    frame = pd.DataFrame(points)
    model = line(frame)
    assert "pandas may write to it later" in model.explain()
    first = model.sample(**FEW)
    run = model.sample(wait=False, **FEW)
    frame.loc[:, "y"] = 0.0
    same_draws(first, run.wait())


def test_a_frame_may_go_while_a_run_goes_on(points):
    pl = pytest.importorskip("polars")
    first = line(pl.DataFrame(points)).sample(**FEW)
    frame = pl.DataFrame(points)
    run = line(frame).sample(wait=False, **FEW)
    del frame
    gc.collect()
    same_draws(first, run.wait())


def test_a_missing_cell_is_named(points):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": [1.0] * 30, "y": [None if i == 16 else 1.0 for i in range(30)]})
    with pytest.raises(sm.ModelError) as caught:
        line(frame).sample(**FEW)
    message = str(caught.value)
    assert "`y`" in message and "row 17" in message and "index 16" in message, message


def test_lazy_frames_and_objects_are_refused(points):
    pl = pytest.importorskip("polars")
    with pytest.raises(sm.ModelError, match="LazyFrame") as caught:
        line(pl.DataFrame(points).lazy())
    assert "collect" in str(caught.value)
    with pytest.raises(sm.ModelError, match="holds objects"):
        line({"x": [object()], "y": [1.0]})
    with pytest.raises(sm.ModelSyntaxError, match="cannot be gone through"):
        line(3)


def test_columns_with_any_name():
    @sm.model
    def spaced(iris):
        mu = normal(0, 5)
        for row in iris:
            observe(normal(mu, 1), row["Sepal Length"])
        return mu

    model = spaced({"Sepal Length": [5.0, 5.1, 4.9]})
    assert 'row."Sepal Length"' in model.text
    assert model.sample(**FEW)["mu"].mean() > 2


def test_values_from_outside_are_those_of_the_call():
    K = 4.0

    @sm.model
    def outside():
        x = normal(K, 0.001)
        return x

    first = outside()
    K = 8.0
    second = outside()
    assert first.inputs == {"K": 4.0} and second.inputs == {"K": 8.0}
    assert abs(first.sample(**FEW)["x"].mean() - 4) < 0.1


@sm.model
def grouped(t):
    level = mem(lambda g: normal(0, 1))
    for row in t:
        observe(normal(level(row.g), 1), row.x)
    return dict(a=level("a"))


def test_tables_with_holes_are_pickled():
    import pickle

    table = sm.table({"g": ["a", None, "b", "a"], "x": [1.0, 2.0, np.nan, 3.0]}, missing="skip")
    model = grouped(table)
    again = pickle.loads(pickle.dumps(model))
    assert again.text == model.text
    first = model.sample(**FEW)
    same_draws(first, again.sample(**FEW))
    assert table.column("g") == ["a", None, "b", "a"] and "2 of 4 rows" in first.notes[0]


def resident():
    """Bytes of memory of this process."""
    import pathlib

    status = pathlib.Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("the memory of a process is not known here")
    return int(status.read_text().split()[1]) * 4096


def test_ten_million_rows_are_not_copied():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": rng.normal(size=10_000_000), "y": rng.normal(size=10_000_000)})
    before = resident()
    table = sm.table(frame)
    assert resident() - before < 100e6
    assert [row[3] for row in table.account()] == ["lent", "lent"] and table.rows == 10_000_000
    fit = line(table).sample(draws=2, tune=0, chains=1, seed=1, kernel="(mh slope one 'drift 0.001 1)", progress=False)
    assert fit["slope"].shape == (1, 2) and resident() - before < 100e6
