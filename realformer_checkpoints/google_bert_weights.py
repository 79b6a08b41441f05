"""The weights of Google's released RealFormer-BERT, as fairseq's RoBERTa has them.

The source of their names is ``realformer/realformer.py`` of google-research.
"""

from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Callable, Dict, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

from realformer_runtime.command_line import UserError

from .google_bert import PADDING
from .tensorflow_checkpoint import TensorFlowCheckpoint

# Of Adam, and the number of updates: no part of the model.
OF_THE_TRAINING = ("/adam_m", "/adam_v", "global_step")


@dataclass
class Weight:
    """A tensor of Google's: its name and shape, and what makes fairseq's of it."""

    name: str
    shape: Tuple[int, ...]
    convert: Callable[[np.ndarray], np.ndarray] = np.asarray


def dense(name: str, google: str, inputs: int, outputs: int) -> Dict[str, Weight]:
    """A linear layer, whose kernel is ``(in, out)`` at Google and ``(out, in)`` in torch."""
    return {
        f"{name}.weight": Weight(f"{google}/kernel", (inputs, outputs), np.transpose),
        f"{name}.bias": Weight(f"{google}/bias", (outputs,)),
    }


def layer_norm(name: str, google: str, size: int) -> Dict[str, Weight]:
    return {
        f"{name}.weight": Weight(f"{google}/LayerNorm/gamma", (size,)),
        f"{name}.bias": Weight(f"{google}/LayerNorm/beta", (size,)),
    }


def layer_weights(number: int, d: int, ffn: int) -> Dict[str, Weight]:
    """The weights of one layer of the encoder, by fairseq's names."""
    ours, google = f"encoder.sentence_encoder.layers.{number}", f"bert/encoder/layer_{number}"
    weights: Dict[str, Weight] = {}
    for mine, theirs in (("q", "query"), ("k", "key"), ("v", "value")):
        path = f"{google}/attention/self/{theirs}"
        weights.update(dense(f"{ours}.self_attn.{mine}_proj", path, d, d))
    attention = f"{google}/attention/output"
    return {
        **weights,
        **dense(f"{ours}.self_attn.out_proj", f"{attention}/dense", d, d),
        **layer_norm(f"{ours}.self_attn_layer_norm", attention, d),
        **dense(f"{ours}.fc1", f"{google}/intermediate/dense", d, ffn),
        **dense(f"{ours}.fc2", f"{google}/output/dense", ffn, d),
        **layer_norm(f"{ours}.final_layer_norm", f"{google}/output", d),
    }


def embedding_weights(config: Dict[str, Any], order: Sequence[int]) -> Dict[str, Weight]:
    """The weights below the first layer, by fairseq's names."""
    ours, google = "encoder.sentence_encoder", "bert/embeddings"
    d, words = config["hidden_size"], config["vocab_size"]
    places, segments = config["max_position_embeddings"], config["type_vocab_size"]

    def behind_padding(positions: np.ndarray) -> np.ndarray:
        """fairseq numbers positions from the one behind the padding's on."""
        return np.concatenate([np.zeros((PADDING + 1, d), positions.dtype), positions])

    return {
        f"{ours}.embed_tokens.weight": Weight(
            f"{google}/word_embeddings", (words, d), itemgetter(list(order))
        ),
        f"{ours}.embed_positions.weight": Weight(
            f"{google}/position_embeddings", (places, d), behind_padding
        ),
        "encoder.embed_token_types.weight": Weight(
            f"{google}/token_type_embeddings", (segments, d)
        ),
        **layer_norm(f"{ours}.layernorm_embedding", google, d),
    }


def all_weights(config: Dict[str, Any], order: Sequence[int], head: str) -> Dict[str, Weight]:
    """The weights of the model, by fairseq's names.

    Args:
        order: see ``fairseq_order``
        head: name of the classification head that Google's pooler and next-sentence layer become
    """
    d, words = config["hidden_size"], config["vocab_size"]
    weights = embedding_weights(config, order)
    for number in range(config["num_hidden_layers"]):
        weights.update(layer_weights(number, d, config["intermediate_size"]))
    transform, next_sentence = "cls/predictions/transform", "cls/seq_relationship"
    output, classes = "encoder.lm_head", f"classification_heads.{head}"
    return {
        **weights,
        **dense(f"{output}.dense", f"{transform}/dense", d, d),
        **layer_norm(f"{output}.layer_norm", transform, d),
        f"{output}.bias": Weight("cls/predictions/output_bias", (words,), itemgetter(list(order))),
        **dense(f"{classes}.dense", "bert/pooler/dense", d, d),
        f"{classes}.out_proj.weight": Weight(f"{next_sentence}/output_weights", (2, d)),
        f"{classes}.out_proj.bias": Weight(f"{next_sentence}/output_bias", (2,)),
    }


def check_weights(checkpoint: TensorFlowCheckpoint, weights: Dict[str, Weight]) -> None:
    """Refuse a checkpoint that has other tensors than the model.

    Raises:
        UserError: naming the first one that is missing, that has another shape or type, or that
            is not known
    """
    entries = checkpoint.entries
    for weight in weights.values():
        if weight.name not in entries:
            raise UserError(f"{checkpoint.index}: has no {weight.name}")
        entry = entries[weight.name]
        if entry.shape != weight.shape or entry.dtype.kind != "f":
            raise UserError(
                f"{checkpoint.index}: {weight.name} is {entry.dtype.name} {entry.shape}; "
                f"by the configuration it is float32 {weight.shape}"
            )
    known = {weight.name for weight in weights.values()}
    for name in entries:
        if name not in known and not name.endswith(OF_THE_TRAINING):
            raise UserError(f"{checkpoint.index}: {name}: the model has no such weight")


def convert_weights(
    checkpoint: TensorFlowCheckpoint, weights: Dict[str, Weight]
) -> Dict[str, Tensor]:
    """The parameters of fairseq's model. One tensor after the other is copied."""
    found: Dict[str, Tensor] = {}
    for name, weight in weights.items():
        value = weight.convert(checkpoint.tensor(weight.name))
        found[name] = torch.from_numpy(np.array(value, np.float32, order="C"))
    found["encoder.lm_head.weight"] = found["encoder.sentence_encoder.embed_tokens.weight"]
    found["encoder.sentence_encoder.version"] = torch.tensor([3.0])
    return found
