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
