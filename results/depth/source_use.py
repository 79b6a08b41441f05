"""Does a translation model use its source, and if not, in which layer is it lost?

    python -m results.depth.source_use --data DIR --out DIR NAME-SEED=CHECKPOINT...

``source_use.csv`` has the validation loss of each checkpoint, and that with the sources of other
sentences: where these are equal, the model is a language model of the target. ``layers.csv`` has,
for each layer, how alike the tokens of a sentence are after it, and the gradients of the weights of
its self-attention, of one batch of the validation set. ``layers.png`` shows the encoder's. A mean
cosine of 1 is rank collapse (Dong et al. 2021, arXiv 2103.03404): whatever was read, each token
comes out as the same vector, and queries and keys have no gradient left.
"""

import argparse
import math
import re
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from realformer_checkpoints.figures import new_figure, save
from realformer_checkpoints.reading import load_checkpoint
from realformer_fairseq.analysis.attention_analysis import batches_of
from realformer_fairseq.analysis.attention_recorder import layers_of
from realformer_fairseq.analysis.trained_model import load_model_and_split
from realformer_runtime.command_line import ArgumentParser, run_main
from results.rows import write_rows

PROGRAM = "source_use.py"
PROJECTIONS = ("q_proj", "k_proj", "v_proj")
LAYER_BATCH = 20  # of the validation set, which is sorted by length: of sentences of usual length


class SourceUse(NamedTuple):
    """Losses in bits a subword, over the validation set."""

    training: str
    seed: int
    update: int
    valid_nll_bits: float
    other_source_nll_bits: float


class Layer(NamedTuple):
    """One layer of one checkpoint; layers count from 0, at the bottom."""

    training: str
    seed: int
    update: int
    stack: str
    layer: int
    cosine: float
    q_gradient: float
    k_gradient: float
    v_gradient: float


class Checkpoint(NamedTuple):
    training: str
    seed: int
    path: Path


def checkpoint(text: str) -> Checkpoint:
    """``NAME-SEED=PATH``. Raises argparse.ArgumentTypeError for anything else."""
    found = re.fullmatch(r"(.+)-(\d+)=(.+)", text)
    if not found or not Path(found[3]).is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME-SEED=CHECKPOINT")
    return Checkpoint(found[1], int(found[2]), Path(found[3]))


def loss_of(model, sample, other_source: bool = False) -> Tensor:
    """Sum of the negative log-likelihoods of a batch, in bits.

    Args:
        other_source: each sentence gets the source of its neighbour in the batch
    """
    inputs = dict(sample["net_input"])
    if other_source:
        for name in ("src_tokens", "src_lengths"):
            inputs[name] = inputs[name].roll(1, dims=0)
    logits = model(**inputs)[0].float().transpose(1, 2)
    pad = model.decoder.padding_idx
    loss = functional.cross_entropy(logits, sample["target"], ignore_index=pad, reduction="sum")
    return loss / math.log(2)


def mean_cosine(output: Tensor, padding: Tensor) -> float:
    """Mean cosine between two different tokens of one sentence.

    Args:
        output: ``(T, B, C)``
        padding: ``(B, T)``
    """
    directions = functional.normalize(output.detach().transpose(0, 1).float(), dim=-1)
    directions = directions.masked_fill(padding.unsqueeze(-1), 0)
    tokens = (~padding).sum(dim=1)
    pairs = directions.sum(dim=1).pow(2).sum(dim=-1) - tokens  # each pair twice
    long_enough = tokens > 1
    return float((pairs / (tokens * (tokens - 1)))[long_enough].mean())


def layers_of_batch(model, sample) -> List[Dict[str, object]]:
    """The fields of ``Layer`` from ``stack`` on, by one forward and one backward pass."""
    pad, found, handles = model.decoder.padding_idx, [], []
    paddings = {
        "encoder": sample["net_input"]["src_tokens"].eq(pad),
        "decoder": sample["net_input"]["prev_output_tokens"].eq(pad),
    }

    def recorder(row: Dict[str, object], padding: Tensor) -> Callable:
        def record(module, args, output) -> None:
            output = output if torch.is_tensor(output) else output[0]
            row["cosine"] = mean_cosine(output, padding)

        return record

    for stack, padding in paddings.items():
        for number, layer in enumerate(layers_of(model, stack)):
            found.append({"stack": stack, "layer": number, "module": layer})
            handles.append(layer.register_forward_hook(recorder(found[-1], padding)))
    model.zero_grad()
    (loss_of(model, sample) / sample["ntokens"]).backward()
    for handle in handles:
        handle.remove()
    for row in found:
        attention = row.pop("module").self_attn
        for name in PROJECTIONS:
            row[f"{name[0]}_gradient"] = float(getattr(attention, name).weight.grad.norm())
    return found


def draw(layers: Sequence[Layer], output: Path) -> None:
    """Cosines and gradients of queries of the encoders, a line a training."""
    figure = new_figure(12, 4.5, dpi=110)
    left, right = figure.subplots(1, 2)
    for which in dict.fromkeys(row[:3] for row in layers):
        rows = [row for row in layers if row[:3] == which and row.stack == "encoder"]
        label = f"{which[0]}, seed {which[1]}, update {which[2]}"
        left.plot([row.layer for row in rows], [row.cosine for row in rows], label=label)
        right.plot([row.layer for row in rows], [row.q_gradient for row in rows], label=label)
    left.set(xlabel="encoder layer", ylabel="mean cosine of two tokens of a sentence")
    right.set(xlabel="encoder layer", ylabel="gradient norm of q_proj", yscale="log")
    left.legend(fontsize=7)
    figure.tight_layout()
    save(figure, output)


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add = parser.add_argument
    add("--data", required=True, metavar="DIR", help="what fairseq-preprocess wrote")
    add("--out", required=True, type=Path, metavar="DIR", help="where the files go")
    add("checkpoints", nargs="+", type=checkpoint, metavar="NAME-SEED=CHECKPOINT")
    args = parser.parse_args()
    uses, layers = [], []
    for training, seed, path in args.checkpoints:
        update = load_checkpoint(str(path))["optimizer_history"][-1]["num_updates"]
        model, task, dataset = load_model_and_split(str(path), args.data, "valid")
        samples = list(batches_of(model, task, dataset, 4096))
        tokens = sum(sample["ntokens"] for sample in samples)
        with torch.no_grad():
            losses = [
                float(sum(loss_of(model, sample, other) for sample in samples)) / tokens
                for other in (False, True)
            ]
        uses.append(SourceUse(training, seed, update, *losses))
        print(*uses[-1])
        sample = samples[min(LAYER_BATCH, len(samples) - 1)]
        layers += [Layer(training, seed, update, **row) for row in layers_of_batch(model, sample)]
    args.out.mkdir(parents=True, exist_ok=True)
    write_rows(uses, args.out / "source_use.csv")
    write_rows(layers, args.out / "layers.csv")
    draw(layers, args.out / "layers.png")


if __name__ == "__main__":
    run_main(main, PROGRAM)
