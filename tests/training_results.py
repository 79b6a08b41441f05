"""What a training logged and saved, to compare it with another."""

import re


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
