"""Measure how sparse attention is and how alike in neighbouring layers, over a test set.

A decoder reads the reference (teacher forcing), a masked language model the text as its training
masks it. Everything is measured in one pass.
"""

import csv
import sys
from pathlib import Path
from typing import Dict, Iterator, Sequence, Tuple

import torch
from fairseq.data import LanguagePairDataset
from fairseq.utils import resolve_max_positions
from torch import Tensor
from tqdm import tqdm

from realformer_checkpoints.figures import check_matplotlib
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import (
    ArgumentParser,
    UserError,
    run_main,
    whole_number_above_0,
    whole_number_from_0,
)

from .attention_map import draw_sentence
from .attention_plots import MEDIAN_BINS, draw_distributions
from .attention_recorder import PLACES, recorded_attention
from .attention_statistics import MEASURES, AttentionStatistics
from .trained_model import load_model_and_split

PROGRAM = "analyze_attention.sh"
COLUMNS = "measure attention layer head count mean lower_quartile median upper_quartile".split()


def batches_of(model, task, dataset, max_tokens: int) -> Sequence[Dict]:
    """Batches of sentences of similar length, without sentences that are too long for the model.

    Raises:
        UserError: a sentence is longer than ``max_tokens``
    """
    max_positions = resolve_max_positions(task.max_positions(), model.max_positions())
    try:
        return task.get_batch_iterator(
            dataset,
            max_tokens=max_tokens,
            max_positions=max_positions,
            ignore_invalid_inputs=True,
            required_batch_size_multiple=1,  # the default of fairseq's forks drops the last batch
        ).next_epoch_itr(shuffle=False)
    except AssertionError as error:
        raise UserError(f"--max-tokens {max_tokens}: {error}") from None


@torch.no_grad()
def measure(model, task, dataset, max_tokens: int) -> Tuple[AttentionStatistics, int]:
    """Every measure of every attention of a model, over a data set.

    Args:
        model: in evaluation mode, on the device to compute on

    Returns:
        the statistics and the number of sentences

    Raises:
        FloatingPointError: a probability is not finite
    """
    statistics, sentences, queries = AttentionStatistics(), 0, {}
    device = next(model.parameters()).device

    def receive(attention: str, layer: int, probabilities: Tensor, attendable: Tensor) -> None:
        statistics.add(attention, layer, probabilities, attendable, queries[attention])

    with recorded_attention(model, receive):
        for sample in tqdm(
            batches_of(model, task, dataset, max_tokens), unit="batch", disable=None
        ):
            inputs = {name: value.to(device) for name, value in sample["net_input"].items()}
            source = inputs["src_tokens"]
            target = inputs.get("prev_output_tokens", source)
            queries["encoder"] = source.ne(task.source_dictionary.pad())
            queries["decoder"] = queries["cross"] = target.ne(task.target_dictionary.pad())
            model(**inputs, features_only=True)
            sentences += len(source)
    return statistics, sentences


def by_place(statistics: AttentionStatistics) -> Iterator[Tuple[str, str, Dict]]:
    """Each measure and kind of attention that has histograms, with these by layer."""
    for name in MEASURES:
        for attention in PLACES:
            found = statistics.histograms.get((name, attention), {}).items()
            layers = {layer: histograms for layer, histograms in found if histograms.count()}
            if layers:
                yield name, attention, layers


def write_table(statistics: AttentionStatistics, path: Path) -> None:
    """Write a CSV file with one row for each measure, attention, layer and head."""
    with atomic_output(path) as temporary, open(temporary, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for name, attention, layers in by_place(statistics):
            for layer, histograms in layers.items():
                numbers = [histograms.mean(), *map(histograms.quantile, (0.25, 0.5, 0.75))]
                for head, row in enumerate(torch.stack(numbers, dim=1).tolist()):
                    place = [name, attention, layer, head, histograms.count()]
                    table.writerow([*place, *(f"{value:.6g}" for value in row)])


def parse_args():
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="FILE", help="what a training wrote")
    add("--data", required=True, metavar="DIR", help="what fairseq-preprocess wrote")
    add("--out", required=True, metavar="DIR", help="where table and pictures go")
    add("--gen-subset", default="test", metavar="NAME", help="split of --data")
    add("--max-tokens", type=whole_number_above_0, default=2000, metavar="N", help="of a batch")
    add(
        "--sentence",
        type=whole_number_from_0,
        metavar="N",
        help="only draw the attention of this sentence",
    )
    add(
        "--layer",
        type=whole_number_from_0,
        metavar="N",
        help="with --sentence; default: the top layer",
    )
    add("--title", default="", metavar="TEXT", help="above the pictures")
    add("--no-pictures", action="store_true", help="only the table")
    add("--cpu", action="store_true", help="even if there is a GPU")
    args = parser.parse_args()
    if args.layer is not None and args.sentence is None:
        raise UserError("--layer needs --sentence")
    if args.no_pictures and args.sentence is not None:
        raise UserError("--sentence draws pictures only: it cannot be used with --no-pictures")
    if not args.no_pictures:
        check_matplotlib(besides=", or --no-pictures")
    return args


def main() -> None:
    args = parse_args()
    model, task, dataset = load_model_and_split(args.checkpoint, args.data, args.gen_subset)
    if torch.cuda.is_available() and not args.cpu:
        model.cuda()
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    if args.sentence is not None:
        return draw_sentence(model, task, dataset, args.sentence, args.layer, args.title, folder)
    try:
        statistics, sentences = measure(model, task, dataset, args.max_tokens)
    except FloatingPointError as error:
        raise UserError(f"--checkpoint {args.checkpoint}: {error}; did it diverge?") from None
    read = "sentences" if isinstance(dataset, LanguagePairDataset) else "samples"
    print(f"{PROGRAM}: {sentences} of {len(dataset)} {read}", file=sys.stderr)
    write_table(statistics, folder / "attention.csv")
    for name, attention, layers in by_place(statistics):
        if name in MEDIAN_BINS and not args.no_pictures:
            picture = folder / f"{name}-{attention}.png"
            draw_distributions(name, attention, layers, args.title, picture)


if __name__ == "__main__":
    run_main(main, PROGRAM)
