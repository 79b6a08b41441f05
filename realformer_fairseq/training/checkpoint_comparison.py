"""How a checkpoint's model differs from the model in training: options, dictionaries, shapes."""

from typing import Any, Dict, List

from fairseq.optim import OPTIMIZER_REGISTRY
from torch import Tensor, nn

from realformer_checkpoints.reading import stored_option
from realformer_runtime.command_line import flag

from ..models.config import RealFormerConfig, own_options
from ..models.stacks import ModelOfStacks
from ..modules.encoder_layer import FAST_PATH_PARAMETERS

# Options of ours that change nothing of what a trained model computes.
NOT_COMPARED = ("admin_profile_tokens", "missing_omega", "attention_kernel")
STACK = (
    "layers",
    "embed_dim",
    "ffn_embed_dim",
    "attention_heads",
    "normalize_before",
    "learned_pos",
)
# Options of fairseq that change what the model computes.
COMPARED = (
    *(f"{stack}_{name}" for stack in ("encoder", "decoder") for name in STACK),
    "activation_fn",
    "share_all_embeddings",
    "share_decoder_input_output_embed",
    "layernorm_embedding",
    "no_scale_embedding",
    "no_token_positional_embeddings",
    "max_positions",
    "untie_weights_roberta",
    "pooler_activation_fn",
)
# Embeddings, and the options that say how many there are.
POSITIONS = {
    "encoder.embed_positions.weight": "max_source_positions",
    "decoder.embed_positions.weight": "max_target_positions",
    "encoder.sentence_encoder.embed_positions.weight": "max_positions",
}
DICTIONARIES = {
    "encoder.embed_tokens.weight": "source dictionary",
    "decoder.embed_tokens.weight": "target dictionary",
}
# Options that the state of an optimizer depends on, by group of fairseq's configuration.
STATEFUL = (
    ("optimizer", "optimizer"),
    ("criterion", "criterion"),
    *(("common", name) for name in ("fp16", "bf16", "amp")),
    *(("common", f"memory_efficient_{name}") for name in ("fp16", "bf16")),
    ("optimization", "use_bmuf"),
)
# What the modules themselves drop or fill in, last parts of names: fairseq's versions differ.
DROPPED = ("_float_tensor", "version", "weights", *FAST_PATH_PARAMETERS)
OPTIONAL = ("omega", *DROPPED)
SHAPES_NAMED = 3  # in a message


def differing_options(state: Dict[str, Any], model_cfg: Any, model: nn.Module) -> List[str]:
    """Options whose values differ from the command line, as phrases, the architecture first.

    A different ``--arch`` alone does not count: several architectures have the same sizes. Nor does
    an option that the checkpoint lacks, but for ours in one of fairseq's Transformer.
    """
    own = own_options(type(model.cfg) if isinstance(model, ModelOfStacks) else RealFormerConfig)
    of_transformer = {each.name: each.metadata["transformer"] or None for each in own}
    found = []
    for name in (*(name for name in of_transformer if name not in NOT_COMPARED), *COMPARED):
        stored = stored_option(state, "model", name, of_transformer.get(name))
        given = getattr(model_cfg, name, None)
        if given is None:
            given = of_transformer.get(name)
        if stored is None or given is None or str(stored) == str(given):
            continue
        found.append(phrase(name, stored, given))
    stored, given = stored_option(state, "model", "arch"), getattr(model_cfg, "arch", None)
    if found and stored and given and stored != given:
        found.insert(0, phrase("arch", stored, given))
    return found


def phrase(name: str, stored: Any, given: Any) -> str:
    return f"{flag(name)} was {stored}, is {given} now"


def differing_shapes(stored: Dict[str, Tensor], model: nn.Module) -> List[str]:
    """Parameters whose shapes differ, as phrases; if numbers of embeddings do, only these."""
    own, phrases, embeddings = model.state_dict(), [], []
    dictionaries = DICTIONARIES if DICTIONARIES.keys() <= own.keys() else {}
    for name, tensor in own.items():
        other = stored.get(name)
        if other is None or other.shape == tensor.shape:
            continue
        phrases.append(f"{name} has shape {list(other.shape)}, {list(tensor.shape)} now")
        if other.shape[1:] != tensor.shape[1:]:
            continue
        if name in POSITIONS:  # there are two more, up to the padding's index
            embeddings.append(phrase(POSITIONS[name], len(other) - 2, len(tensor) - 2))
        elif name.endswith("embed_tokens.weight"):
            embeddings.append(
                f"its {dictionaries.get(name, 'dictionary')} has {len(other)} entries, "
                f"that of the data-bin {len(tensor)}"
            )
    return embeddings or phrases[:SHAPES_NAMED]


def unloadable_state(state: Dict[str, Any], cfg: Any, same_schedule: bool) -> List[str]:
    """What of a checkpoint's state these options cannot take over, as phrases with a way out.

    Args:
        cfg: fairseq's configuration
        same_schedule: false for ``--reset-lr-scheduler``
    """
    last, found = state["optimizer_history"][-1], []
    same_class = last.get("optimizer_name") == optimizer_class(cfg)
    for group, name in STATEFUL:
        key = name if group in ("common", "optimization") else "_name"
        stored, given = stored_option(state, group, key), getattr(cfg[group], key, None)
        if stored != given and None not in (stored, given) and (key == "_name" or not same_class):
            found.append(f"{phrase(name, stored, given)} (--reset-optimizer)")
    schedule, given = last.get("lr_scheduler_state") or {}, cfg.lr_scheduler._name
    if same_schedule and "best" not in schedule and given not in ("fixed", "manual"):
        stored = stored_option(state, "lr_scheduler", "_name")
        found.append(f"{phrase('lr_scheduler', stored, given)} (--reset-lr-scheduler)")
    return found


def optimizer_class(cfg: Any) -> str:
    """The name of the class that fairseq's trainer will wrap the optimizer in, or of its own."""
    common = cfg.common
    if cfg.optimization.use_bmuf:
        return "FairseqBMUF"
    if common.memory_efficient_fp16 or common.memory_efficient_bf16:
        return "MemoryEfficientFP16Optimizer"
    if common.fp16 or common.bf16:
        return "FP16Optimizer"
    if common.amp:
        return "AMPOptimizer"
    return OPTIMIZER_REGISTRY[cfg.optimizer._name].__name__


def upgraded(stored: Dict[str, Tensor], model: nn.Module) -> Dict[str, Tensor]:
    """A checkpoint's parameters as the model will load them.

    They have today's names. A classification head of another size is the model's own.
    """
    stored = dict(stored)
    model.upgrade_state_dict(stored)
    return stored


def differing_names(stored: Dict[str, Tensor], model: nn.Module) -> List[str]:
    """Parameters that only the checkpoint or the model has, as phrases; omega may be missing."""
    own = model.state_dict()
    missing = [name for name in own if name not in stored and last_part(name) not in OPTIONAL]
    surplus = [name for name in stored if name not in own and last_part(name) not in DROPPED]
    phrases = [f"it lacks {name}" for name in missing[:1]]
    phrases += [f"its {name} has no place" for name in surplus[:1]]
    if any(name.endswith(".omega") for name in surplus):
        phrases.append("scripts/fold_admin.sh takes omega out of a checkpoint")
    return phrases


def last_part(name: str) -> str:
    return name.rpartition(".")[2]


def lacks_omega(stored: Dict[str, Tensor], model: nn.Module) -> bool:
    """Whether the model has an omega that the checkpoint lacks."""
    return any(name.endswith(".omega") and name not in stored for name in model.state_dict())
