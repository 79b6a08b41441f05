"""Fine-tune a masked language model on a task of GLUE, and measure it on the dev set."""

import argparse
import json
import logging
import os
import statistics
import sys
import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List, Sequence

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import (
    ArgumentParser,
    UserError,
    printable,
    run_main,
    whole_number_from_0,
)
from realformer_runtime.engine.model_folder import sha256_of

from .glue_data import build_encoder, prepare, split_names
from .glue_tasks import TASKS, measured
from .glue_training import (
    configuration,
    fine_tune,
    load_fine_tuned,
    logged_to,
    predictions,
    set_schedule,
    training_options,
)
from .pretrained import ENCODINGS, Pretrained, read_pretrained

PROGRAM = "finetune_glue.sh"
SEEDS = "1 2 3 4 5"
MOST = 2**32 - 1  # numpy's largest seed


def seed_numbers(text: str) -> List[int]:
    """The seeds of ``--seeds``, as its ``type``."""
    seeds = [whole_number_from_0(word) for word in text.split()]
    if not seeds or max(seeds) > MOST or len(set(seeds)) < len(seeds):
        raise argparse.ArgumentTypeError(
            f"'{text}': different whole numbers up to {MOST} are needed"
        )
    return seeds


def write_json(path: Path, content: Dict[str, Any]) -> None:
    with atomic_output(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def describe(facts: Dict[str, Dict[str, int]]) -> List[str]:
    """What has become of the examples of each file, one line each."""
    lines = []
    for split, found in facts.items():
        unknown = 100 * found["unknown_words"] / max(found["words"], 1)
        line = f"{split}.tsv: {found['examples']} examples, {unknown:.1f} % of their words unknown"
        if found["skipped_lines"]:
            line += f"; {found['skipped_lines']} lines that lack a field skipped"
        if found["shortened"]:
            line += f"; {found['shortened']} longer than the model's positions, shortened"
        lines.append(line)
    return lines


def result_of_seed(
    name: str, args: Any, pretrained: Pretrained, seed: int, folder: Path
) -> Dict[str, float]:
    """Fine-tune with one seed and measure, or read what an earlier run has measured."""
    record = folder / "result.json"
    if record.is_file():
        print(f"seed {seed}: done before", file=sys.stderr)
        return json.loads(record.read_text("utf-8"))
    folder.mkdir(exist_ok=True)
    log, checkpoint = folder / "train.log", folder / "model.pt"
    print(printable(f"seed {seed}: training, see {log}"), file=sys.stderr)
    result: Dict[str, float] = {}
    with logged_to(log):
        fine_tune(configuration(args, pretrained, seed, folder), checkpoint)
        model, task = load_fine_tuned(checkpoint, args.data, args.cpu)
        for own, file in split_names(TASKS[name])[1:]:
            found = predictions(model, task, own, name, args.batch_size)
            result.update(measured(TASKS[name], file, *found))
    write_json(record, result)
    return result


def table(name: str, results: Dict[str, Dict[str, float]]) -> List[str]:
    """Lines with the measures of each seed and their median."""
    columns = TASKS[name].measure_names()
    widths = [max(len(column), 6) for column in columns]
    lines = ["  ".join([f"{name:10}", *(f"{c:>{w}}" for c, w in zip(columns, widths))])]
    for row, measures in results.items():
        cells = (f"{measures[column]:{w}.2f}" for column, w in zip(columns, widths))
        lines.append("  ".join([f"{row:10}", *cells]))
    return lines


def medians(results: Sequence[Dict[str, float]]) -> Dict[str, float]:
    return {name: statistics.median(each[name] for each in results) for name in results[0]}


def digests_of(name: str, data: str) -> str:
    """SHA-256 of each of a task's files, as far as they are there."""
    paths = (Path(data, f"{split}.tsv") for _, split in split_names(TASKS[name]))
    return " ".join(sha256_of(path) for path in paths if path.is_file())


def what_results_depend_on(
    name: str, data: str, pretrained: Pretrained, further: Sequence[str]
) -> Dict[str, str]:
    """The settings of a run, apart from its seeds."""
    changed = datetime.fromtimestamp(os.stat(pretrained.path).st_mtime, timezone.utc)
    return {
        "task": name,
        "data": data,
        "data_of": digests_of(name, data),
        "checkpoint": pretrained.path,
        "checkpoint_of": changed.isoformat(),
        "dict": os.path.abspath(pretrained.dictionary_path),
        "options": " ".join(further),
    }


def finetune(arguments: Any, further: List[str]) -> None:
    """Prepare the data, fine-tune with each seed, and print and write the results."""
    name, seeds = arguments.task, arguments.seeds
    if not os.path.isdir(arguments.data):
        raise UserError(f"--data: no such folder: '{arguments.data}'")
    checkpoint, data = map(os.path.abspath, (arguments.checkpoint, arguments.data))
    pretrained = read_pretrained(checkpoint, arguments.dict)
    output = Path(os.path.abspath(arguments.output or os.path.join("glue", name)))
    args = training_options(name, str(output / "data-bin"), pretrained, further)
    cfg = configuration(args, pretrained, seeds[0], output)
    encode = build_encoder(cfg)
    settings = what_results_depend_on(name, data, pretrained, further)
    if not any(cfg[group] for group in ENCODINGS):
        print("no tokenizer and no BPE: words are as the files have them", file=sys.stderr)
    facts = prepare(name, settings, pretrained, encode, output)
    print(*describe(facts), sep="\n", file=sys.stderr)
    set_schedule(args, facts["train"]["examples"])
    results = {
        str(seed): result_of_seed(name, args, pretrained, seed, output / f"seed-{seed}")
        for seed in seeds
    }
    median = medians(list(results.values()))
    summary = {**settings, "examples": facts, "seeds": results, "median": median}
    write_json(output / "results.json", summary)
    rows = {**{f"seed {seed}": result for seed, result in results.items()}, "median": median}
    print(*table(name, rows), sep="\n")


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--task", required=True, choices=list(TASKS))
    parser.add_argument("--data", required=True, metavar="DIR", help="of the task's files")
    parser.add_argument("--checkpoint", required=True, metavar="FILE", help="the pre-trained model")
    parser.add_argument("--dict", metavar="FILE", help="default dict.txt beside the checkpoint")
    parser.add_argument("--output", metavar="DIR", help="default glue/TASK")
    parser.add_argument("--seeds", type=seed_numbers, default=SEEDS, help="default: %(default)s")
    # Of old names in hydra, which fairseq uses.
    warnings.filterwarnings("ignore", category=UserWarning)
    logging.getLogger("hydra").setLevel(logging.WARNING)
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    finetune(parser.parse_args(words[:end]), words[end + 1 :])


if __name__ == "__main__":
    run_main(main, PROGRAM)
