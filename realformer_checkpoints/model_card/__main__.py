"""Write a model card: what the files of a training say about it, in the order of a template.

The headings are those of Mitchell et al. 2019 (arXiv 1810.03993) that make sense for text.
Model hubs read the head of the file. Nothing is guessed: a fact that no file has is "not recorded",
and facts that only a person can know are left to fill in.
"""

import json
import os
import string
from pathlib import Path
from typing import Dict, Optional

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, run_main
from realformer_runtime.installed_versions import installed_versions

from ..reading import load_checkpoint
from ..safe_types import allow_fairseq_checkpoints
from ..writing import check_not_an_input
from .checkpoint_facts import CheckpointFacts
from .file_facts import data_facts, log_facts, score_facts, text_facts
from .kinds import TRANSLATION
from .markdown import NOT_RECORDED, base_name, code_span, escape_markdown, one_line, shell_quote

PROGRAM = "model_card.sh"
HERE = Path(__file__).parent
# Entries of references.bib by what --sublayer-scaling starts with.
SCALING = {"admin": "liu-etal-2020-understanding", "deepnorm": "wang-etal-2022-deepnet"}
FROM_OPTIONAL_FILES = "dictionaries segmentation splits evaluation speed gpus validation".split()


def front_matter(model: CheckpointFacts, licence: Optional[str]) -> str:
    """The head of the card in YAML, without unknown values, which hubs refuse."""
    codes = model.languages or "-".join(model.language_pairs).split("-")
    values = {
        "language": [*filter(None, dict.fromkeys(codes))],
        "license": one_line(licence),
        "library_name": "fairseq",
        "pipeline_tag": model.kind.tag,
        "tags": [model.kind.tag] + ["realformer"] * model.is_realformer,
    }
    # JSON is YAML with quotes: without them Norwegian (no) would be false.
    known = {key: json.dumps(value, ensure_ascii=False) for key, value in values.items() if value}
    return "\n".join(f"{key}: {value}" for key, value in known.items())


def usage(model: CheckpointFacts, checkpoint: str, data: str) -> str:
    """Commands to run in the folder of checkpoint and data."""
    if model.kind is not TRANSLATION:
        return usage_in_python(model, base_name(checkpoint), data)
    if not model.languages:
        return "*To be filled in by whoever publishes this model: it is not for one language pair.*"
    words = [base_name(checkpoint), data, *model.languages]
    plugin = "--user-dir realformer_fairseq " * model.is_realformer
    return model.kind.usage.format(*map(shell_quote, words), plugin=plugin)


def usage_in_python(model: CheckpointFacts, checkpoint: str, data: str) -> str:
    """How to load a language model, with the subwords that it records, and use it."""
    module, _, name = model.kind.models[not model.is_realformer].rpartition(".")
    head = model.line("criterion", "classification_head_name") or "sentence_classification_head"
    bpe = model.line("bpe", "_name")
    words = dict(checkpoint=checkpoint, data=data, codes=f"{data}/code", head=head, bpe=bpe)
    quoted = {k: json.dumps(one_line(v), ensure_ascii=False) for k, v in words.items()}
    merges = 'bpe="subword_nmt", bpe_codes={codes}'
    subwords = ("bpe={bpe}" if bpe else merges).format(**quoted)
    return model.kind.usage.format(module=module, model=name, subwords=subwords, **quoted)


def citation(model: CheckpointFacts) -> str:
    scaling = model.line("model", "sublayer_scaling").split("-")[0]
    keys = ["ott-etal-2019-fairseq", model.kind.citation, SCALING.get(scaling)]
    if model.is_realformer and model.line("model", "residual_attention") != "none":
        keys.append("he-etal-2021-realformer")
    entries = (HERE / "references.bib").read_text("utf-8").strip().split("\n\n")
    return "\n\n".join(entry for entry in entries if any(f"{{{key}," in entry for key in keys))


def fields(args) -> Dict[str, str]:
    """All fields of a template, as Markdown."""
    model = CheckpointFacts(load_checkpoint(args.checkpoint))
    found = dict.fromkeys(FROM_OPTIONAL_FILES, NOT_RECORDED)
    folder = base_name(model.option("task", "data"))
    if args.data is not None:
        if not Path(args.data).is_dir():
            raise UserError(f"--data {args.data}: no such folder")
        folder = base_name(os.path.abspath(args.data))
        if model.kind is not TRANSLATION:
            found.update(text_facts(Path(args.data), model.kind, *model.embedding_rows()))
        elif model.languages:
            found.update(data_facts(Path(args.data), model.languages, model.embedding_rows()))
    if args.scores is not None:
        if model.kind is not TRANSLATION:
            raise UserError(
                f"--scores {args.scores}: scores of translations, but the model of --checkpoint is "
                f"for {model.task}"
            )
        found.update(score_facts(args.scores))
    if args.log is not None:
        found.update(log_facts(args.log, model.task))
    name = args.name or ", ".join(filter(None, [model.architecture, *model.language_pairs]))
    return {
        **found,
        **model.fields(),
        "front_matter": front_matter(model, args.licence),
        "name": escape_markdown(name),
        "licence": escape_markdown(args.licence),
        "data": code_span(folder),
        "usage": usage(model, args.checkpoint, folder or "data-bin"),
        "versions": "\n".join(f"* {escape_markdown(line)}" for line in installed_versions()),
        "citation": citation(model),
    }


def fill(path: str, values: Dict[str, str]) -> str:
    """Fill in ``$field`` or ``${field}`` of a template, in which ``$$`` is a dollar sign."""
    try:
        return string.Template(Path(path).read_text("utf-8")).substitute(values)
    except UnicodeDecodeError:
        reason = "not UTF-8"
    except KeyError as error:
        reason = f"there is no field ${error.args[0]}, only {', '.join(sorted(values))}"
    except ValueError as error:
        reason = f"{error} (write $$ for a dollar sign)"
    raise UserError(f"--template {path}: {reason}")


def parse_args():
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="FILE", help="trained or averaged")
    add("--data", metavar="DIR", help="what fairseq-preprocess wrote")
    add("--scores", metavar="FILE", help="what score_bleu.sh --json wrote")
    add("--log", metavar="FILE", help="what fairseq-train logged")
    add("--name", help="of the model")
    add("--licence", help="as hubs write it, for example mit")
    add("--template", metavar="FILE", default=str(HERE / "template.md"), help="of your own")
    add("--output", metavar="FILE", help="default: standard output")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    allow_fairseq_checkpoints()
    if args.output is not None:
        check_not_an_input(args.output, (args.checkpoint, args.scores, args.log, args.template))
    card = fill(args.template, fields(args))
    if args.output is None:
        return print(card, end="")
    with atomic_output(args.output) as temporary:
        temporary.write_text(card, "utf-8")


if __name__ == "__main__":
    run_main(main, PROGRAM)
