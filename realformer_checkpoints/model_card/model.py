"""What a checkpoint says about its model, as fields of a model card."""

import re
from typing import Any, Dict, List, Optional

from torch import Tensor

from ..reading import stored_option
from ..tied_tensors import storage_key
from .markdown import NOT_RECORDED, listed, number, scalar, text

STACKS = ("encoder", "decoder")
BUFFER = re.compile(r"(^|\.)(version|_float_tensor)$")
LAYER = re.compile(r"(?:^|\.)(encoder|decoder)\.layers\.([0-9]{1,6})\.(.+)")
LANGUAGE = re.compile(r"[A-Za-z0-9][\w@.-]{0,30}")  # also part of the names of files


def architecture(state: Dict[str, Any]) -> Optional[str]:
    names = (scalar(stored_option(state, "model", name)) for name in ("arch", "_name"))
    return next(filter(None, names), None)


def languages(state: Dict[str, Any]) -> List[str]:
    """Source and target; empty if the model is not for one pair of them."""
    pair = [stored_option(state, "task", side) for side in ("source_lang", "target_lang")]
    return pair if all(isinstance(x, str) and LANGUAGE.fullmatch(x) for x in pair) else []


def language_pairs(state: Dict[str, Any]) -> List[str]:
    """``en-fr``; several for a multilingual model."""
    pairs = stored_option(state, "task", "lang_pairs")
    if languages(state):
        return ["-".join(languages(state))]
    return re.findall(r"[A-Za-z]\w{0,9}-[A-Za-z]\w{0,9}", pairs) if isinstance(pairs, str) else []


def is_realformer(state: Dict[str, Any]) -> bool:
    """Whether this plugin is needed to load it, rather than fairseq alone."""
    own = stored_option(state, "model", "residual_attention") is not None
    return own or "realformer" in (architecture(state) or "")


def count_parameters(state: Dict[str, Any]) -> int:
    """Numbers that were trained, tied ones once."""
    fixed_omega = stored_option(state, "model", "sublayer_scaling") == "deepnorm"
    counts = {}
    for name, tensor in state["model"].items():
        if not BUFFER.search(name) and not (fixed_omega and name.endswith(".omega")):
            counts[storage_key(tensor)] = tensor.numel()
    return sum(counts.values())


def sizes(model: Dict[str, Tensor]) -> Dict[str, str]:
    """Layers and widths, as the parameters have them."""
    layers: Dict[str, set] = {stack: set() for stack in STACKS}
    width: Dict[str, int] = {}
    inner: Dict[str, int] = {}
    for name, tensor in model.items():
        found = LAYER.search(name)
        if not found:
            continue
        stack, layer, rest = found.groups()
        layers[stack].add(int(layer))
        if rest == "self_attn.out_proj.weight" and tensor.dim() == 2:
            width[stack] = tensor.size(0)
        elif rest == "fc1.weight" and tensor.dim() == 2:
            inner[stack] = tensor.size(0)
    counts = {stack: len(found) or None for stack, found in layers.items()}
    return {"layers": of_stacks(counts), "width": of_stacks(width), "ffn": of_stacks(inner)}


def of_stacks(values: Dict[str, Any]) -> str:
    """``6 in the encoder, 6 in the decoder``."""
    return listed(
        f"{number(values[stack])} in the {stack}"
        for stack in STACKS
        if values.get(stack) is not None
    )


def residual_attention(state: Dict[str, Any]) -> str:
    how = stored_option(state, "model", "residual_attention")
    if not is_realformer(state) or how == "none":
        return "none"
    chains = scalar(stored_option(state, "model", "residual_chains"))
    return f"{text(how)}, in {text(chains and chains.replace(',', ', '))}"


def tied_embeddings(state: Dict[str, Any]) -> str:
    if stored_option(state, "model", "share_all_embeddings") is True:
        return "one table for source, target and output"
    output = stored_option(state, "model", "share_decoder_input_output_embed")
    tied = {"True": "one table for target and output", "False": "not tied"}
    return tied.get(str(scalar(output)), NOT_RECORDED)


def model_facts(state: Dict[str, Any]) -> Dict[str, str]:
    def option(name: str) -> Any:
        return stored_option(state, "model", name)

    norms = {"False": "Post-LN", "True": "Pre-LN"}
    before = {stack: scalar(option(f"{stack}_normalize_before")) for stack in STACKS}
    return {
        "architecture": text(architecture(state)),
        **sizes(state["model"]),
        "heads": of_stacks({stack: option(f"{stack}_attention_heads") for stack in STACKS}),
        "normalisation": of_stacks({k: norms.get(v) for k, v in before.items()}),
        "residual_attention": residual_attention(state),
        "sublayer_scaling": text(option("sublayer_scaling")) if is_realformer(state) else "none",
        "parameters": number(count_parameters(state)),
        "embeddings": tied_embeddings(state),
        "activation": text(option("activation_fn")),
        "longest": listed(
            f"{number(option(f'max_{side}_positions'))} subwords of {side}"
            for side in ("source", "target")
        ),
    }
