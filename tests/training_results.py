"""What a training logged and saved, to compare it with another."""

import re

import torch

from realformer_fairseq.modules.encoder_layer import FAST_PATH_PARAMETERS


def losses(text):
    """Training loss by update."""
    found = re.findall(r"train_inner.*? loss=([\d.]+).*num_updates=(\d+)", text)
    return {int(update): float(loss) for loss, update in found}


def flat(state, path=""):
    """Every tensor and value of a nested state, by path."""
    if isinstance(state, dict):
        items = state.items()
    elif isinstance(state, (list, tuple)):
        items = enumerate(state)
    else:
        return {path: state}
    return {k: v for key, value in items for k, v in flat(value, f"{path}/{key}").items()}


def is_trained(name):
    """Not what fairseq 0.12.2 keeps besides: an uninitialised tensor, a second set of weights."""
    return name.split(".")[-1] not in ("_float_tensor", *FAST_PATH_PARAMETERS)


def assert_same_training(folder, other):
    """Two trainings end with the same parameters and optimizer states, to the last bit."""
    states = [torch.load(f / "checkpoint_last.pt", weights_only=True) for f in (folder, other)]
    for part in ("model", "last_optimizer_state"):
        one, other = (flat(state[part]) for state in states)
        assert one.keys() == other.keys() and len(one) > 20
        differing = [
            key
            for key in filter(is_trained, one)
            if not torch.equal(*map(torch.as_tensor, (one[key], other[key])))
        ]
        assert differing == []
