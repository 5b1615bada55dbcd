"""The same draws to the bit from Python, from the text and from the command."""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import same_draws

import five
import smidgen as sm

ROOT = pathlib.Path(__file__).parents[2]
FEW = dict(draws=30, tune=30, chains=2, seed=1)
MODELS = ["late", "radon", "lines", "volatility", "lineages"]


@sm.model
def keyed(points):
    """Functions are the keys of a memoised one."""
    scale = mem(lambda f: half_normal(1))
    up = lambda x: x + 1
    down = lambda x: x - 1
    for row in points:
        observe(normal(0, scale(up) + scale(down)), row.y)
    return dict(a=scale(up), b=scale(down))


def bound(name, data):
    model = keyed if name == "keyed" else getattr(five, name)
    return model(data["lines" if name == "keyed" else name])


def quiet(model, **request):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.sample(**request)


@pytest.mark.parametrize("name", [*MODELS, "keyed"])
def test_the_text_gives_the_same_draws_on_one_and_two_cores(name, data):
    model = bound(name, data)
    first = quiet(model, cores=1, **FEW)
    same_draws(first, quiet(sm.program(model.text, **model.inputs), cores=2, **FEW))
    assert len({array.tobytes() for array in first.draws.values()}) > 0
    assert not np.array_equal(first[first.names[0]], quiet(model, draws=30, tune=30, chains=2, seed=2)[first.names[0]])


def command():
    own = shutil.which("smidgen", path=str(pathlib.Path(sys.executable).parent))
    if own is None:
        pytest.skip("the command is not installed")
    return own


@pytest.mark.parametrize("name", [*MODELS, "keyed"])
def test_the_command_gives_the_same_draws(name, data, tmp_path):
    model = bound(name, data)
    fit = quiet(model, **FEW)
    (tmp_path / "model.smg").write_text(model.text, encoding="utf-8")
    arguments = [command(), "sample", str(tmp_path / "model.smg"), "--seed", "1", "--draws", "30", "--warmup", "30"]
    arguments += ["--chains", "2", "--format", "json"]
    for key, value in model.inputs.items():
        if isinstance(value, sm.Table):
            arrays = {column: np.array(value.column(column)) for column in value.columns}
            if any(array.dtype.kind == "U" for array in arrays.values()):
                path = tmp_path / f"{key}.csv"
                lines = zip(*(map(repr_of, array.tolist()) for array in arrays.values()))
                path.write_text("\n".join([",".join(arrays), *(",".join(line) for line in lines)]))
            else:
                path = tmp_path / f"{key}.npz"
                np.savez(path, **arrays)
            arguments += ["--data", f"{key}={path}"]
        else:
            arguments += ["--param", f"{key}={json.dumps(value)}"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    draws = json.loads(done.stdout)["draws"]
    assert list(draws) == fit.names
    for label in fit.names:
        assert np.array_equal(np.array(draws[label], dtype=float), fit[label]), label


def repr_of(cell):
    return cell if isinstance(cell, str) else repr(cell)


MOVED = """
{above}import smidgen as sm

@sm.model
def moved(points):
    {comment}
    slope, sd = normal(0, 5), half_normal(2)
    effect = mem(lambda i: normal(0, 1))
    for row in points:
        observe(normal(effect(row.index % 3) + slope * row.x, sd), row.y)
    return slope, sd
"""


def test_a_model_that_moves_in_its_file_draws_the_same(data, write_module):
    here = write_module(MOVED.format(above="", comment="pass"))
    there = write_module(MOVED.format(above="# a line\n" * 40, comment='"""Words."""  # and more'))
    one, other = here.moved(data["lines"]), there.moved(data["lines"])
    assert one.text == other.text
    same_draws(quiet(one, **FEW), quiet(other, **FEW))
