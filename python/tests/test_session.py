"""Directives one after the other, as the command runs them."""

import numpy as np
import pytest

import smidgen as sm


def test_a_session_agrees_with_arithmetic():
    s = sm.Session(seed=1)
    s.assume("mu", "normal(0, 1)")
    s.force("mu", 0.5)
    s.observe("normal(mu, 1)", 2.5, label="y1")
    normal = lambda x, m: -0.5 * (x - m) ** 2 - 0.5 * np.log(2 * np.pi)
    assert abs(s.log_joint() - normal(0.5, 0) - normal(2.5, 0.5)) < 1e-12
    assert abs(s.log_likelihood() - normal(2.5, 0.5)) < 1e-12
    s.forget("y1")
    assert abs(s.log_joint() - normal(0.5, 0)) < 1e-12
    s.infer(sm.kernel.nuts(n=20))
    assert s.sample("mu * 2") == 2 * s.sample("mu")


def test_a_failed_directive_changes_nothing():
    s = sm.Session(seed=1)
    s.assume("mu", "normal(0, 1)")
    before = s.log_joint()
    with pytest.raises(sm.ModelError):
        s.observe("normal(mu, 0 - 1)", 2.0)
    assert s.log_joint() == before


def test_rows_and_text():
    s = sm.Session(seed=1)
    assert s.run("[assume mu (normal 0 {sd})] [predict (+ 1 2)]", sd=1.0)[-1] == 3
    s.observe_rows("normal(mu, row.se)", "row.y", {"y": [1.0, 2.0], "se": [1.0, 0.5]}, label="rows")
    assert s.log_likelihood() < 0
    s.infer(5)
    s.clear()
    with pytest.raises(TypeError):
        import pickle

        pickle.dumps(s)


def test_rows_that_are_appended():
    y = np.random.default_rng(2).normal(0.3, 1, 500)
    grown, whole = sm.Session(seed=1), sm.Session(seed=1)
    for s, rows in [(grown, y[:300]), (whole, y)]:
        s.assume("mu", "normal(0, 1)")
        s.observe_rows("normal(mu, 1)", "row.y", {"y": rows}, label="y", name="t")
    assert grown.append("t", {"y": y[300:301]}) == 301
    assert grown.append("t", {"y": y[301:], "more": y[301:]}) == 500
    for s in (grown, whole):
        s.force("mu", 0.25)
    assert abs(grown.log_joint() - whole.log_joint()) < 1e-9 * abs(whole.log_joint())
    assert grown.report("y[499]") == y[499]
    grown.infer(sm.kernel.nuts(n=50))
    assert abs(grown.sample("mu") - y.mean()) < 6 / np.sqrt(500)


def test_rows_that_cannot_be_appended_change_nothing():
    s = sm.Session(seed=1)
    s.assume("mu", "normal(0, 1)")
    s.observe_rows("normal(mu, 1)", "row.y", {"y": [1.0, 2.0]}, name="t")
    before = s.log_joint()
    for rows, said in [({"y": ["a"]}, "numbers"), ({"x": [1.0]}, "no column `y`")]:
        with pytest.raises(sm.ModelError, match=said):
            s.append("t", rows)
    s.run("[predict (rows t)]")
    with pytest.raises(sm.ModelError, match="cannot be appended") as error:
        s.append("t", {"y": [1.0]})
    assert "rows t" in str(error.value)
    assert s.log_joint() == before
