"""Runs in a folder: begun by ``sample(checkpoint="fit.run")``, gone on with by ``resume("fit.run")``.

The folder is the command's: ``smidgen sample --resume fit.run`` goes on with it too, with the same draws to the bit.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import SmidgenError
from ._result import load
from ._words import python_words

if TYPE_CHECKING:
    from ._model import BoundModel

#: A path.
Path = str | os.PathLike[str]


def new_place(path: Path, every: int | None, discard: bool, restart_from: Path | None) -> dict[str, Any]:
    """A folder that a run may be written to."""
    from ._jobs import whole

    name = os.fspath(path)
    whole({"checkpoint_every": (every, 1)})
    if not name.lower().endswith(".run"):
        raise ValueError(f'checkpoint={name!r}: the name of a run folder ends in ".run"')
    found = _core.standing(name)
    if found == "other":
        raise SmidgenError(f"{name}: there is something else than a run folder")
    if found != "nothing" and not discard:
        longer = ", draws=..." if found == "finished" else ""
        does = "makes it longer" if found == "finished" else "goes on with it"
        raise SmidgenError(f'{name}: a run that is {found} is there: resume("{name}"{longer}) {does}, discard=True removes it')
    if found != "nothing":
        _in_our_words(lambda: _core.discard_folder(name))
    return place_at(name, resume=False, every=every, restart_from=restart_from)


def place_at(name: str, resume: bool, every: int | None, **others: Any) -> dict[str, Any]:
    """A folder, as the native half takes it."""
    place = {
        "path": name, "resume": resume, "from_seed": False, "every": every, "restart_from": None, "params": None, "sharded": None,
    }  # fmt: skip
    return {**place, **others}


def _in_our_words(call: Any) -> Any:
    try:
        return call()
    except OSError as error:
        raise SmidgenError(python_words(str(error))) from None


def resume(
    path: Path,
    draws: int | None = None,
    *,
    model: "BoundModel | None" = None,
    cores: int | None = None,
    from_seed: bool = False,
    progress: bool | None = None,
    wait: bool = True,
) -> Any:
    """Goes on with a run that was stopped, whatever has stopped it, or makes one longer: ``draws`` may only grow.

    Program, options and seed are those of the folder, and the draws those of a run that was never stopped. A run over
    frames or arrays needs these again: ``model=m``, or ``m.resume(path)``; what differs is refused, with the table
    and its rows. ``from_seed=True`` draws everything again and compares it with what is there.
    """
    from ._jobs import whole
    from ._run import Run

    whole({"cores": (cores, 1)})
    found = going_on(path, draws, model, from_seed)
    name, then, model = found.name, found.then, found.model
    if found.is_over and wait:
        return load(name, model)
    if then.get("sharded") is not None:
        raise SmidgenError(
            f'{name}: the rows of this run are in files that no single machine reads: smidgen.distributed.resume("{name}", client) goes on with it'
        )
    assert model is not None, "a run that is over has been dealt with"
    place = found.place(from_seed)
    run = Run(model._core.start(found.order(cores, from_seed), place), model, found.request, name)
    if not wait:
        run._show_by_itself(progress)
        return run
    return run._wait_here(progress)


class GoingOn:
    """A run in a folder that somebody wants to go on with."""

    def __init__(self, name: str, then: dict[str, Any], draws: int, is_over: bool, model: "BoundModel | None", params: Any) -> None:
        self.name, self.then, self.draws, self.is_over, self.model = name, then, draws, is_over, model
        self._params = params

    @property
    def request(self) -> dict[str, int]:
        then = self.then
        return {"tune": then["warmup"], "draws": self.draws, "chains": then["chains"], "thin": then["thin"]}

    def place(self, from_seed: bool = False) -> dict[str, Any]:
        then = self.then
        rows = None if then.get("sharded") is None else json.dumps(then["sharded"])
        return place_at(self.name, True, then["checkpoint_every"], from_seed=from_seed, params=self._params, sharded=rows)

    def order(self, cores: int | None, from_seed: bool = False) -> dict[str, Any]:
        return _order(self.then, self.draws, cores, _start(self.name, self.then, from_seed))


def going_on(path: Path, draws: int | None, model: "BoundModel | None", from_seed: bool = False) -> GoingOn:
    """What a folder says, and the model of its run: made anew from there, unless it was made with frames."""
    from ._jobs import whole

    name = os.fspath(path)
    then = manifest(name)
    whole({"draws": (draws, 1)})
    wanted = then["draws"] if draws is None else draws
    if wanted < then["draws"]:
        raise ValueError(f"draws={wanted}: {name} is to have {then['draws']} draws per chain; a run can only grow")
    is_over = _core.standing(name) == "finished" and wanted == then["draws"] and not from_seed
    own_params = None
    if model is None:
        if then.get("frames") and not is_over:
            frames = ", ".join(f"`{frame}`" for frame in then["frames"])
            raise SmidgenError(
                f"{name}: the run was made with {frames} from memory, of which the folder has sums only: "
                f'bind the model to the same data and call m.resume("{name}")'
            )
        if not is_over or not then.get("frames"):
            model, own_params = _model_of(then), [tuple(pair) for pair in then["params"]]
    return GoingOn(name, then, wanted, is_over, model, own_params)


def manifest(name: str) -> dict[str, Any]:
    """What a folder says about its run."""
    if _core.standing(name) == "nothing":
        raise SmidgenError(f"{name}: there is no such run folder")
    try:
        with open(os.path.join(name, "run.json"), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        raise SmidgenError(f"{name}: this is no run folder: run.json: {error}") from None
    if not isinstance(found, dict) or found.get("format") != 1:
        raise SmidgenError(f"{name}: its format is not one that this smidgen knows")
    return found


def _order(then: dict[str, Any], draws: int, cores: int | None, init: Any) -> dict[str, Any]:
    """The request of a folder."""
    labels = then.get("labels") or [(text, text) for text in then["record"]]
    return {
        "draws": draws, "tune": then["warmup"], "chains": then["chains"], "cores": cores, "seed": then["seed"],
        "kernel": then["kernel"], "thin": then["thin"], "record": [tuple(pair) for pair in labels],
        "approximate": then["approximate"], "exact": bool(then.get("exact")), "audit": then.get("audit"),
        "max_seconds": None, "keep_states": "no", "stats": (then["stats"], then.get("stats_density", True)),
        "keep_tune": then["keep_warmup"], "init": init,
    }  # fmt: skip


def _start(name: str, then: dict[str, Any], from_seed: bool) -> Any:
    """Where chains begin that have no checkpoint yet."""
    begun = all(os.path.isfile(os.path.join(name, f"chain-{k}.ckpt")) for k in range(then["chains"]))
    if begun and not from_seed:
        return None
    if then.get("init_values") is not None:
        return [[tuple(pair) for pair in chain] for chain in then["init_values"]]
    if then.get("restart_from") is not None:
        return then["restart_from"]
    path = then.get("init")
    if path is None:
        return None
    if not path.endswith(".json"):
        return _in_our_words(lambda: _core.read_outcome(path))
    with open(path, encoding="utf-8") as file:
        values = json.load(file)
    return [list(chain.items()) for chain in (values if isinstance(values, list) else [values])]


def _model_of(then: dict[str, Any]) -> "BoundModel":
    """The program of a folder, with the inputs that are named there."""
    from ._model import _program

    def value(text: str) -> Any:
        if text.startswith("@"):
            with open(text[1:], encoding="utf-8") as file:
                return json.load(file)
        return json.loads(text)

    inputs = {name: value(text) for name, text in then["params"]}
    inputs.update(then["data"])
    file = then.get("file")
    folder = os.path.dirname(file) if file else then.get("folder") or ""
    return _program(then["program"], inputs, file or "program", folder)
