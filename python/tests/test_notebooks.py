"""The notebooks run from their first cell to the last, and were saved with their outputs."""

import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "notebooks"
BOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def outputs(book, kind):
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    return [data for cell in cells for output in cell.outputs if kind in (data := output.get("data", {}))]


@pytest.mark.parametrize("name", BOOKS)
def test_a_notebook_runs(name):
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert outputs(book, "image/png"), "it was saved with its pictures"
    before = len(outputs(book, "image/png"))
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    assert len(outputs(book, "image/png")) == before


def test_there_are_three():
    assert BOOKS == ["a_million_rows", "clusters", "volatility"]


CELL = """import smidgen as sm

@sm.model
def wrong(points):
    größe = "ä"; a = 1
    while a < 3:
        pass
"""


def run(*cells):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True).execute()
    return [cell.outputs for cell in book.cells]


def test_a_mistake_in_a_cell_shows_the_cell():
    ((error,),) = run(CELL)
    assert error.ename == "ModelSyntaxError"
    shown = "\n".join(error.traceback)
    assert "while a < 3" in shown and "hint: use recursion" in shown, shown


RUN = """import numpy as np
import smidgen as sm

@sm.model
def radon(homes):
    mu, tau = normal(0, 5), normal(0, 1)
    level = mem(lambda county: normal(mu, tau))
    for row in homes:
        observe(normal(level(row.county), 1), row.y)
    return mu

radon({"county": np.arange(3), "y": np.ones(3)}).sample(draws=10, chains=1, seed=3, init={"tau": -1})
"""


def test_an_error_in_a_run_names_the_cell_and_stops_the_table():
    ((table, error),) = run(RUN)
    assert "stopped, " in table["data"]["text/html"] and "finished" not in table["data"]["text/html"]
    shown = "\n".join(error.traceback)
    assert error.ename == "ModelError" and "at Cell In[1], line 7: normal(mu, tau)" in shown, shown
    assert "_run.py" not in shown and "_model.py" not in shown, shown


def test_magics_and_progress_in_a_notebook():
    first, second, third = run(
        "%%time\nimport smidgen as sm\nsd = 2.0\n@sm.model\ndef m(ys):\n    mu = normal(0, sd)\n"
        "    for y in ys:\n        observe(normal(mu, 1), y)\n    return mu",
        "%matplotlib inline\nfit = m([1.0, 2.0]).sample(seed=1, draws=200, tune=200)",
        "fit",
    )
    assert not any(output.output_type == "error" for output in [*first, *second, *third]), (first, second, third)
    shown = [output for output in second if "data" in output]
    assert shown and "finished" in shown[-1]["data"]["text/html"]
    assert "<table" in third[0]["data"]["text/html"]


def test_the_five_models_run_in_a_notebook():
    import conftest

    text = (pathlib.Path(__file__).parent / "five.py").read_text(encoding="utf-8")
    folder = str(pathlib.Path(__file__).parent)
    sample = (
        f"import sys, warnings; sys.path.insert(0, {folder!r}); warnings.simplefilter('ignore')\n"
        "from conftest import frames, same_draws; import five\n"
        "few = dict(draws=10, tune=10, chains=2, seed=1)\n"
        "for name, model in dict(late=late, radon=radon, lines=lines, volatility=volatility, lineages=lineages).items():\n"
        "    same_draws(model(frames()[name]).sample(**few), getattr(five, name)(frames()[name]).sample(**few))\n"
        "same_draws(volatility(frames()['volatility']).sample(kernel=sweep, **few), "
        "five.volatility(frames()['volatility']).sample(kernel=five.sweep, **few))\n"
        "print('all five')"
    )
    assert conftest.frames
    outputs_of = run(text, sample)
    assert not any(output.output_type == "error" for cell in outputs_of for output in cell), outputs_of
    assert any("all five" in output.get("text", "") for output in outputs_of[1])


MARIMO = '''import marimo

app = marimo.App()


@app.cell
def _():
    import smidgen as sm

    sd = 2.0

    @sm.model
    def level(ys):
        mu = normal(0, sd)
        for y in ys:
            observe(normal(mu, 1), y)
        return mu

    fit = level([1.0, 2.0]).sample(draws=100, tune=100, seed=1)
    return (fit,)


@app.cell
def _(fit):
    fit
    return


if __name__ == "__main__":
    app.run()
'''


def test_marimo_shows_progress_and_summary(tmp_path):
    import subprocess
    import sys

    pytest.importorskip("marimo")
    (tmp_path / "app.py").write_text(MARIMO, encoding="utf-8")
    arguments = [sys.executable, "-m", "marimo", "export", "html", "app.py", "-o", "app.html"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "app.html").read_text(encoding="utf-8")
    assert "finished, " in page and "ess_bulk" in page and "ModelError" not in page
    # The same file is a script.
    assert subprocess.run([sys.executable, "app.py"], cwd=tmp_path, timeout=300).returncode == 0
