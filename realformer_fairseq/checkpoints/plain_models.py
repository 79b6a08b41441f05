"""Turn the options of a checkpoint without residual scores and omega into fairseq's own.

The result needs nothing of ours: fairseq loads it without this plugin, and CTranslate2 converts it.
"""

import argparse
from collections import OrderedDict
from typing import Any, Dict

import numpy
from fairseq.models.transformer.transformer_config import DEFAULT_MIN_PARAMS_TO_WRAP
from fairseq.registry import REGISTRIES

from realformer_checkpoints.incomplete_states import complete_state

from ..models.config import MaskedLMConfig, own_options


def become_plain(state: Dict[str, Any], args: argparse.Namespace, model: str) -> None:
    """Turn the options of a state into those of a model of fairseq's, in place.

    They are in ``cfg`` and, all together, in ``args``, where the converter of CTranslate2 and
    fairseq look first.

    Args:
        args: all options of the model
        model: the name of fairseq's
    """
    own = {option.name for option in own_options(MaskedLMConfig)}  # which has all of ours
    options = {name: value for name, value in vars(args).items() if name not in own}
    options.update(arch=model, _name=model, user_dir=None)
    # fairseq 0.12.2 sets this option on loading, and hydra refuses to set one that is missing.
    options.setdefault("min_params_to_wrap", DEFAULT_MIN_PARAMS_TO_WRAP)
    cfg = state["cfg"] if isinstance(state.get("cfg"), dict) else {}
    cfg = {name: vars(v) if isinstance(v, argparse.Namespace) else v for name, v in cfg.items()}
    if isinstance(cfg.get("common"), dict):
        cfg["common"] = {**cfg["common"], "user_dir": None}
    if cfg:
        state["cfg"] = {**cfg, "model": options}
    state["args"] = as_namespace(without_ours({**flat_options(cfg), **options}))
    complete_state(state)
    for key in state.keys() - {"model"}:
        state[key] = without_numpy(state[key])


def without_numpy(value: Any) -> Any:
    """A part of a state with Python's numbers for numpy's, which torch does not load unasked."""
    if isinstance(value, numpy.generic):
        return value.item()
    if type(value) is dict:
        return {key: without_numpy(inner) for key, inner in value.items()}
    return [*map(without_numpy, value)] if type(value) is list else value


def flat_options(cfg: Dict[str, Any]) -> Dict[str, Any]:
    """The options of all groups but the model's, and the name of each group's kind."""
    flat: Dict[str, Any] = {"task": "translation"}
    for name, group in cfg.items():
        if isinstance(group, dict) and name != "model":
            flat.update(group, **{name: group["_name"]} if "_name" in group else {})
    return flat


def without_ours(options: Dict[str, Any]) -> Dict[str, Any]:
    """Options without an optimizer or a tokenizer that only this plugin has."""
    found = dict(options)
    for kind, registry in REGISTRIES.items():
        choice = registry["registry"].get(str(options.get(kind)))
        if getattr(choice, "__module__", "").startswith("realformer_"):
            del found[kind]
    return found


def as_namespace(options: Dict[str, Any]) -> "OrderedDict[str, Any]":
    """Options that are read as items or, like those of a ``Namespace``, as attributes.

    Without our plugin torch 2.6 and later does not load a ``Namespace``. It loads an
    ``OrderedDict``, with its attributes, since torch's own ``state_dict()`` has some.
    """
    found = OrderedDict(options)
    vars(found).update(options)
    return found
