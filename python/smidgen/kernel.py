"""Kernels as functions: they only write the text of the inference program.

``sm.kernel.nuts()`` is ``(nuts default all 1)``, ``sm.kernel.slice("phi")`` moves the choice named ``phi``,
``sm.kernel.cycle(a, b)`` makes one round of both. ``kernel="(cycle ...)"`` as text is the same.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

__all__ = [
    "Kernel", "collect", "cycle", "default", "gibbs", "hmc", "map", "mh", "mixture", "nuts", "pgibbs",
    "reference_mh", "rejection", "repeat", "resample", "slice", "slice_doubling", "subsampled_mh",
]  # fmt: skip

Block = str | int | float | tuple[Any, Any]


class Kernel:
    """The text of a kernel, whose scopes are names of a model."""

    def __init__(self, write: Callable[[Mapping[str, str]], str]) -> None:
        self.write = write

    def text(self, renamed: Mapping[str, str] = {}) -> str:
        return self.write(renamed)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<kernel {self.text()}>"

    def __reduce__(self) -> Any:
        return (_of_text, (self.text(),))


def _of_text(text: str) -> Kernel:
    return Kernel(lambda renamed: text)


def _atom(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list,)) or hasattr(value, "tolist"):
        return "(vector " + " ".join(repr(float(x)) for x in value) + ")"
    return str(value)


def _block(block: Block) -> str:
    if isinstance(block, tuple):
        return f"(ordered_range {_atom(block[0])} {_atom(block[1])})"
    return _atom(block)


def _kernel(name: str, scope: str, block: Block, between: list[Any], options: dict[str, Any], n: int) -> Kernel:
    def write(renamed: Mapping[str, str]) -> str:
        parts = [name, renamed.get(scope, scope), _block(block), *(_atom(part) for part in between)]
        for option, value in options.items():
            if value is not None:
                parts += [f"'{option}", _atom(value)]
        return f"({' '.join(parts)} {n})"

    return Kernel(write)


def mh(
    scope: str = "default", block: Block = "each", *, drift: Any = None, adapt: bool | None = None, n: int = 1
) -> Kernel:
    """Metropolis-Hastings: from the prior, or by a walk of this scale."""
    return _kernel("mh", scope, block, [], {"drift": drift, "adapt": adapt}, n)


def subsampled_mh(
    scope: str = "default", block: Block = "all", *, batch: int | str = "auto", epsilon: float | str = "auto",
    drift: Any = None, adapt: bool | None = None, min_batches: int | None = None, growth: float | None = None,
    audit: float | None = None, test: str | None = None, control_variates: int | None = None, n: int = 1,
) -> Kernel:  # fmt: skip
    """Metropolis-Hastings that reads only as many rows as a test needs: approximate."""
    options = {
        "drift": drift, "adapt": adapt, "min_batches": min_batches, "growth": growth, "audit": audit,
        "test": None if test is None else f"'{test}", "control_variates": control_variates,
    }  # fmt: skip
    return _kernel("subsampled_mh", scope, block, [batch, epsilon], options, n)


def gibbs(scope: str = "default", block: Block = "each", *, n: int = 1) -> Kernel:
    """Choices with finitely many values, from their conditional law."""
    return _kernel("gibbs", scope, block, [], {}, n)


def pgibbs(
    scope: str = "default", block: Block = "ordered", *, particles: int = 20, ancestor: bool | None = None, n: int = 1
) -> Kernel:
    """Sequences, by conditional sequential Monte Carlo."""
    return _kernel("pgibbs", scope, block, [particles], {"ancestor": ancestor}, n)


def slice(
    scope: str = "default",
    block: Block = "each",
    *,
    width: float | None = None,
    max_steps: int | None = None,
    n: int = 1,
) -> Kernel:
    """Single real numbers, by slices."""
    between = (
        []
        if width is None and max_steps is None
        else [1 if width is None else width, 100 if max_steps is None else max_steps]
    )
    return _kernel("slice", scope, block, between, {}, n)


def slice_doubling(
    scope: str = "default",
    block: Block = "each",
    *,
    width: float | None = None,
    max_doublings: int | None = None,
    n: int = 1,
) -> Kernel:
    """The same by doubling, for posteriors of unknown width."""
    given = width is not None or max_doublings is not None
    between = [1 if width is None else width, 20 if max_doublings is None else max_doublings] if given else []
    return _kernel("slice_doubling", scope, block, between, {}, n)


def hmc(scope: str = "default", block: Block = "all", *, step: float, steps: int, n: int = 1) -> Kernel:
    """Hamiltonian Monte Carlo with so many steps of this size."""
    return _kernel("hmc", scope, block, [step, steps], {}, n)


def nuts(
    scope: str = "default", block: Block = "all", *, accept: float | None = None, doublings: int | None = None,
    step: float | None = None, n: int = 1,
) -> Kernel:  # fmt: skip
    """The no-U-turn sampler."""
    return _kernel("nuts", scope, block, [], {"accept": accept, "doublings": doublings, "step": step}, n)


def reference_mh(scope: str = "default", block: Block = "all", *, test: str | None = None, n: int = 1) -> Kernel:
    """Parameters above many rows, exactly, reading almost none of them."""
    return _kernel("reference_mh", scope, block, [], {"test": test}, n)


def map(scope: str = "default", block: Block = "all", *, n: int = 1) -> Kernel:
    """To a maximum of the density."""
    return _kernel("map", scope, block, [], {}, n)


def rejection(scope: str = "default", block: Block = "all", *, n: int = 1) -> Kernel:
    """Exact draws of a block from its conditional law."""
    return _kernel("rejection", scope, block, [], {}, n)


def default(n: int = 1) -> Kernel:
    """Sweeps of the default kernel."""
    return _of_text(str(n))


def cycle(*kernels: Kernel | str, n: int = 1) -> Kernel:
    """The kernels one after the other."""
    return Kernel(lambda renamed: f"(cycle ({' '.join(_text(k, renamed) for k in kernels)}) {n})")


def mixture(*weighted: tuple[float, Kernel | str], n: int = 1) -> Kernel:
    """One of the kernels, drawn with these weights: ``mixture((0.9, a), (0.1, b))``."""
    return Kernel(lambda renamed: f"(mixture ({' '.join(f'{w} {_text(k, renamed)}' for w, k in weighted)}) {n})")


def repeat(n: int, kernel: Kernel | str) -> Kernel:
    """The kernel n times."""
    return Kernel(lambda renamed: f"(repeat {n} {_text(kernel, renamed)})")


def resample(particles: int) -> Kernel:
    """Sequential Monte Carlo over the observations."""
    return _of_text(f"(resample {particles})")


def collect(*expressions: str) -> Kernel:
    """Stores values of expressions of the text language (for sessions)."""
    return _of_text(f"(collect {' '.join(expressions)})")


def _text(kernel: Kernel | str, renamed: Mapping[str, str]) -> str:
    return kernel.text(renamed) if isinstance(kernel, Kernel) else kernel
