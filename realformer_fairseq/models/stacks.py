"""What our models have in common: stacks of layers, which may be fewer than a checkpoint has."""

from typing import Dict, Optional

from torch import Tensor, nn

from ..modules.dropout import replace_dropout
from . import layer_pruning


class ModelOfStacks:
    """Loading of parameters; to be inherited before a model of fairseq.

    A model sets ``cfg``, its ``RealFormerConfig``, and ``layers_to_keep``, by side: the layers of a
    checkpoint that its stack consists of, or None for all.
    """

    # Path of each stack in the model, by the side that its options are named after.
    stacks: Dict[str, str] = {"encoder": "encoder", "decoder": "decoder"}
    # The name of fairseq's model that it is without residual scores and omega.
    plain: str = "transformer"

    layers_to_keep: Dict[str, Optional[str]] = {}

    def stack(self, side: str) -> nn.Module:
        return self.get_submodule(self.stacks[side])

    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """Load parameters, of a checkpoint with more layers those of ``layers_to_keep``."""
        state_dict = with_missing_omega(self, self.without_pruned_layers(state_dict))
        return super().load_state_dict(state_dict, strict)

    def without_pruned_layers(self, state_dict: Dict[str, Tensor]) -> Dict[str, Tensor]:
        """The parameters of a checkpoint that ``layers_to_keep`` leaves, or left before."""
        for side, numbers in self.layers_to_keep.items():
            path, left = self.stacks[side], len(self.stack(side).layers)
            if numbers and layer_pruning.count_layers(state_dict, path) > left:
                state_dict = layer_pruning.pruned(state_dict, path, numbers)
        return state_dict


def with_missing_omega(model: nn.Module, state_dict: Dict[str, Tensor]) -> Dict[str, Tensor]:
    """Parameters to load; ``--missing-omega initial`` keeps each omega that they lack.

    Args:
        model: has ``cfg``
    """
    if str(model.cfg.missing_omega) != "initial":
        return state_dict
    omegas = {name: value for name, value in model.state_dict().items() if name.endswith(".omega")}
    return {**omegas, **state_dict}


def take_layers_to_keep(args, model: type) -> Dict[str, Optional[str]]:
    """The layers that remain of each stack, whose options then describe these layers alone.

    A checkpoint stores the options, so they must not name layers that are gone.

    Raises:
        RefusedOption: naming the flag and the layers that there are
    """
    kept = {side: layer_pruning.layers_to_keep(args, side) for side in model.stacks}
    for side, numbers in kept.items():
        setattr(args, f"{side}_layers_to_keep", None)
        if numbers:
            setattr(args, f"{side}_layers", len(numbers.split(",")))
    return kept


def finish(model: nn.Module, cfg, kept: Dict[str, Optional[str]]) -> nn.Module:
    """What a new model gets from us once fairseq has built and initialised it."""
    model.cfg, model.layers_to_keep = cfg, kept
    replace_dropout(model)
    return model
