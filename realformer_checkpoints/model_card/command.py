"""Write a model card: what the files of a training say about it, in the order of a template.

The headings are those of Mitchell et al. 2019 (arXiv 1810.03993), as far as they make sense for
translation; the head of the file is what model hubs read. Nothing is guessed: what no file says is
"not recorded", and what only a person can know is left for one to fill in.
"""

import os
import string
from pathlib import Path
from typing import Any, Dict, List, Optional

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, run_main
from realformer_runtime.installed_versions import installed_versions

from ..reading import load_checkpoint, stored_option
from ..safe_types import allow_fairseq_checkpoints
from .data import data_facts
from .log import log_facts
from .markdown import NOT_RECORDED, base_name, code, listed, scalar, text, word, yaml_string
from .model import architecture, is_realformer, language_pairs, languages, model_facts
from .scores import evaluation, read_scores
from .training import training_facts

PROGRAM = "model_card.sh"
TEMPLATE = Path(__file__).with_name("template.md")
REFERENCES = Path(__file__).with_name("references.bib")
# Which of them to cite, by the value of --sublayer-scaling.
SCALING = {
    "admin": "liu-etal-2020-understanding",
    "admin-analytic": "liu-etal-2020-understanding",
    "deepnorm": "wang-etal-2022-deepnet",
}
RECORDS = ("dictionaries", "segmentation", "splits", "evaluation", "speed", "gpus", "validation")


def front_matter(state: Dict[str, Any], licence: Optional[str]) -> str:
    """YAML. A key whose value is not known is left out: hubs refuse other words there."""
    parts = (lang for pair in language_pairs(state) for lang in pair.split("-"))
    codes = dict.fromkeys(languages(state) or parts)
    lines = ["language:", *(f"- {yaml_string(lang)}" for lang in codes)] if codes else []
    if scalar(licence) is not None:
        lines.append(f"license: {yaml_string(licence)}")
    lines += ["library_name: fairseq", "pipeline_tag: translation", "tags:", "- translation"]
    return "\n".join(lines + ["- realformer"] * is_realformer(state))


def versions() -> str:
    """A list, of the environment that this runs in."""
    return "\n".join(f"* {text(line)}" for line in installed_versions())


def citation(state: Dict[str, Any]) -> str:
    scaling = stored_option(state, "model", "sublayer_scaling")
    keys = ["ott-etal-2019-fairseq"]
    if is_realformer(state) and stored_option(state, "model", "residual_attention") != "none":
        keys.append("he-etal-2021-realformer")
    keys += [key for name, key in SCALING.items() if name == scaling]
    entries = REFERENCES.read_text("utf-8").strip().split("\n\n")
    return "\n\n".join(entry for entry in entries if any(f"{{{key}," in entry for key in keys))


def usage(state: Dict[str, Any], checkpoint: str, data: str) -> str:
    """Commands, for the folder in which checkpoint and data are."""
    if not languages(state):
        return "*To be filled in by whoever publishes this model: it is not for one language pair.*"
    source, target = map(word, languages(state))
    files = f"--checkpoint {word(base_name(checkpoint))} --data {word(data)}"
    plugin = "--user-dir realformer_fairseq " if is_realformer(state) else ""
    return f"""With realformer_fairseq, text in, text out:

```bash
echo 'A sentence.' | scripts/translate.sh {files} \\
  --source-lang {source} --target-lang {target}
```

With fairseq, a test set that was prepared like the training set:

```bash
fairseq-generate {word(data)} --path {word(base_name(checkpoint))} {plugin}\\
  --source-lang {source} --target-lang {target} --remove-bpe --required-batch-size-multiple 1
```

Where the training data is from `data-prep/prepare-wmt14en2*.sh`, `translate.sh` needs `--moses`."""


def embedding_rows(state: Dict[str, Any]) -> List[Optional[int]]:
    """Of encoder and decoder; None where embeddings are adaptive."""
    tables = [state["model"].get(f"{s}.embed_tokens.weight") for s in ("encoder", "decoder")]
    return [None if table is None or not table.dim() else table.size(0) for table in tables]


def fields(args) -> Dict[str, str]:
    """Every field that a template may have, as Markdown.

    Raises:
        UserError: naming the file that is not what it should be
        OSError: a file is missing
    """
    state = load_checkpoint(args.checkpoint)
    langs = languages(state)
    found = dict.fromkeys(RECORDS, NOT_RECORDED)
    folder = base_name(stored_option(state, "task", "data"))
    if args.data is not None:
        folder = os.path.basename(os.path.abspath(args.data))
        if not os.path.isdir(args.data):
            raise UserError(f"--data {args.data}: no such folder")
        if langs:
            found.update(data_facts(args.data, langs, embedding_rows(state)))
    if args.scores is not None:
        found["evaluation"] = evaluation(read_scores(args.scores))
    if args.log is not None:
        found.update(log_facts(args.log))
    pairs = listed(language_pairs(state))
    return {
        **found,
        **model_facts(state),
        **training_facts(state),
        "front_matter": front_matter(state, args.licence),
        "name": text(args.name or listed([architecture(state), *language_pairs(state)])),
        "languages": text(pairs),
        "licence": text(args.licence),
        "data": code(folder),
        "usage": usage(state, args.checkpoint, folder or "data-bin"),
        "versions": versions(),
        "citation": citation(state),
    }


def fill(template: str, path: str, values: Dict[str, str]) -> str:
    """A template with ``$field`` or ``${field}``; a dollar sign is ``$$``.

    Args:
        path: of the template, for messages

    Raises:
        UserError: a field that there is not, or a dollar sign alone
    """
    try:
        return string.Template(template).substitute(values)
    except KeyError as error:
        known = ", ".join(sorted(values))
        raise UserError(
            f"--template {path}: there is no field ${error.args[0]}, only {known}"
        ) from None
    except ValueError as error:
        raise UserError(f"--template {path}: {error} (write $$ for a dollar sign)") from None


def parse_args():
    parser = ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="FILE", help="trained or averaged")
    add("--data", metavar="DIR", help="what fairseq-preprocess wrote")
    add("--scores", metavar="FILE", help="what score_bleu.sh --json wrote")
    add("--log", metavar="FILE", help="what fairseq-train logged")
    add("--name", help="of the model")
    add("--licence", help="as hubs write it, for example mit")
    add("--template", metavar="FILE", default=str(TEMPLATE), help="of your own")
    add("--output", metavar="FILE", help="default: standard output")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    allow_fairseq_checkpoints()
    try:
        template = Path(args.template).read_text("utf-8")
    except UnicodeDecodeError:
        raise UserError(f"--template {args.template}: not UTF-8") from None
    card = fill(template, args.template, fields(args))
    if args.output is None:
        print(card, end="")
        return
    with atomic_output(args.output) as temporary:
        temporary.write_text(card, "utf-8")


if __name__ == "__main__":
    run_main(main, PROGRAM)
