"""Load published checkpoints, which often have no more than a model and its options."""

import functools
from typing import Any, Callable, Dict

from realformer_checkpoints.incomplete_states import complete_state


def with_what_is_missing(upgrade: Callable[..., Any]) -> Callable[..., Any]:
    """``_upgrade_state_dict`` of fairseq, for checkpoints without a history of the optimizer."""

    @functools.wraps(upgrade)
    def complete_and_upgrade(state: Dict[str, Any]):
        complete_state(state)
        return upgrade(state)

    return complete_and_upgrade
