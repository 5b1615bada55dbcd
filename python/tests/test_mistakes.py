"""Mistakes point into the user's own file, say what to do, and come all at once."""

import subprocess
import sys
import traceback

import pytest

import smidgen as sm

HEAD = "import smidgen as sm, numpy as np, random\n\n@sm.model\ndef m(t, sd=1.0):\n"


def mistake(write_module, body):
    """The error of a model with this body."""
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    with pytest.raises(sm.ModelSyntaxError) as caught:
        write_module(text)
    return caught.value


REFUSED = [
    ("while True:\n    pass", "`while` is not part of the model language", "recursion"),
    ("mu = normal(0, 1)\nmu = normal(0, 2)", "`mu` already has a value", "another name"),
    ("xs = [1, 2]\nxs.append(3)", "values do not change in a model", "append"),
    ("xs = [1, 2]\nxs[0] = 3", "values do not change in a model", ""),
    ("mu = normal(0, 1)\nprint(mu)", "`print` is not part", "predict"),
    ("assert sd > 0", "`assert` is not part", "observe(flip"),
    ("mu = np.random.normal(0, 1)", "draws outside the model", "normal"),
    ("mu = random.gauss(0, 1)", "draws outside the model", "normal"),
    ("mu = normal(0, sigma=1)", "normal has no argument `sigma`; it takes mean, sd", "normal"),
    ("for row in t:\n    observe(row.y, normal(0, 1))", "the first part is data", "exchange"),
    ("try:\n    pass\nexcept ValueError:\n    pass", "`try` is not part", ""),
    ("class A: pass", "`class` is not part", ""),
    ("import math", "`import` is not part", "outside"),
    ("global other", "`global` is not part", ""),
    ("x = (yield)", "`yield` is not part", ""),
    ("match sd:\n    case 1:\n        pass", "`match` is not part", "elif"),
    ("del sd", "`del` is not part", ""),
    ("y = (x := normal(0, 1))", "`:=` is not part", "line of its own"),
    ("xs = [1, 2, 3]\ny = xs[0:3:2]", "this slice is not part", "xs[a:b]"),
    ("x = f'{sd}'", "an f-string is not part", ""),
    ("x = normal(0, 1)\ny = x is None", "`is` is not part", "=="),
    ("def f(*xs):\n    return 1\nx = f(1)", "`*` in the arguments", "name every"),
    ("def f(x):\n    for i in range(3):\n        x = x + i\n    return x\ny = f(1)", "`for` in a function", "fold"),
    ("def f(x):\n    if x > 0:\n        return 1\ny = f(1)", "not every way", "return"),
    ("mu = 2**53 + 1\nx = 9007199254740993", "beyond 2**53", ""),
    ("normal(0, 1)", "this value is not used", "bind"),
    ("mu = normal(0, 1)\nmu += 1", "`mu` already has a value", ""),
    ("x = observe(normal(0, 1), 2)", "`observe` is no value", ""),
    ("x = round(2.5)", "`round` is not part", "floor"),
]


@pytest.mark.parametrize("body, message, hint", REFUSED, ids=[r[1][:30] for r in REFUSED])
def test_what_is_refused_says_so(write_module, body, message, hint):
    error = mistake(write_module, body)
    assert message in str(error), str(error)
    assert hint in "\n".join(error.hints)
    assert isinstance(error, SyntaxError) and error.lineno > 4


def test_carets_stand_under_the_mistake(write_module):
    error = mistake(write_module, "größe = 'ä'; a = 1\nwhile a < 3:\n    pass")
    shown = "".join(traceback.format_exception_only(error))
    assert "    while a < 3:\n    ^^^^^^^^^^^^\n" in shown, shown
    assert "hint: use recursion" in shown
    error = mistake(write_module, "größe = 'ä'; x = f'{größe}'")
    shown = "".join(traceback.format_exception_only(error))
    line, marks = shown.splitlines()[1:3]
    assert line[marks.index("^") : marks.rindex("^") + 1] == "f'{größe}'", shown


def test_all_mistakes_are_shown_at_once(write_module):
    error = mistake(
        write_module, "while True:\n    pass\nx = f'{sd}'\ndef f(y):\n    while y:\n        pass\n    return y"
    )
    assert error.lineno == 5 and len(error.__notes__) == 2
    assert "an f-string" in error.__notes__[0] and "line 9" in error.__notes__[1]


def test_a_mistake_in_a_nested_function(write_module):
    error = mistake(write_module, "def f(y):\n    while y:\n        pass\n    return y\nz = f(1)")
    assert error.lineno == 6 and error.text.strip() == "while y:"


RUNNING = """import smidgen as sm

@sm.model
def radon(homes):
    mu, tau = normal(0, 5), 0
    @mem
    def level(county):
        return normal(mu, tau)
    for row in homes:
        observe(normal(level(row.county) + row.floor, 1), row.radon)
    return mu
"""


def test_an_error_in_a_run_has_frames_in_the_users_file(write_module, data):
    module = write_module(RUNNING)
    with pytest.raises(sm.ModelError) as caught:
        module.radon(data["radon"]).sample(draws=1, tune=0, seed=1)
    error = caught.value
    shown = "".join(traceback.format_exception(error))
    file = module.__file__
    assert f'File "{file}", line 8, in level' in shown, shown
    assert f'File "{file}", line 10, in radon' in shown
    assert "return normal(mu, tau)\n                      ^^^" in shown, shown
    assert (
        "observe(normal(level(row.county) + row.floor, 1), row.radon)\n                   ^^^^^^^^^^^^^^^^^\n" in shown
    )
    assert [place.line for place in error.places] == [10, 8] and "standard deviation" in str(error)


def test_names_that_are_not_there(write_module, data):
    with pytest.raises(sm.ModelSyntaxError, match="`HalfNormal` is not known") as caught:
        write_module("import smidgen as sm\n@sm.model\ndef m(t):\n    x = HalfNormal(sigma=1)\n    return x\n")
    assert "did you mean `half_normal`" in str(caught.value)
    # What is defined later is known when the model is called.
    module = write_module(
        "import smidgen as sm\n@sm.model\ndef m(t):\n    x = later(a=1)\n    return x\ndef later(a): return normal(a, 1)\n"
    )
    assert "(later 1)" in module.m(data["lines"]).text
    with pytest.raises(sm.ModelSyntaxError, match="`later` is not known"):
        write_module("import smidgen as sm\n@sm.model\ndef m(t):\n    x = later(a=1)\n    return x\n").m(data["lines"])
    with pytest.raises(sm.ModelSyntaxError, match="hides the language's `gamma`"):
        write_module("import smidgen as sm\ngamma = 0.58\n@sm.model\ndef m(t):\n    x = gamma(1, 1)\n    return x\n")
    module = write_module(
        "import smidgen as sm\n@sm.model\ndef m(t):\n    for row in t:\n        observe(normal(row.z, 1), row.y)\n"
    )
    with pytest.raises(sm.ModelSyntaxError, match="has no column `z`"):
        module.m(data["lines"])


def test_other_systems_words_are_named(data):
    model = sm.program("[assume mu (normal 0 1)]")
    with pytest.raises(TypeError, match="`seed="):
        model.sample(random_seed=1)
    with pytest.raises(TypeError, match="`draws="):
        model.sample(num_samples=1)
    with pytest.raises(TypeError, match="no input `sd`"):
        sm.program("[assume mu (normal 0 1)]", sd=2)


def test_mistakes_in_text_show_the_text():
    with pytest.raises(sm.ModelError) as caught:
        sm.program("[assume mu (normal 0 -1)]\n[observe (normal mu 1) 2]").sample(draws=1, tune=0)
    assert "(normal 0 -1)" in "".join(traceback.format_exception(caught.value))


def test_no_source():
    code = "import smidgen as sm\n@sm.model\ndef m():\n    return normal(0, 1)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "no source text for `m`" in done.stderr


def test_a_file_that_has_changed_is_noticed(write_module, tmp_path, data):
    module = write_module(
        "import smidgen as sm\ndef f(x):\n    return x + 1\n@sm.model\ndef m(t):\n    x = f(normal(0, 1))\n    return x\n"
    )
    module.m(data["lines"])
    path = tmp_path / module.__file__.rsplit("/", 1)[-1]
    path.write_text(path.read_text().replace("x + 1", "x + 22"), encoding="utf-8")
    import os

    os.utime(path, (1, 1))
    with pytest.raises(sm.ModelSyntaxError, match="has changed since it was imported"):
        module.m(data["lines"])
