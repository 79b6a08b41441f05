"""Export a trained model to a folder that ``realformer_runtime.engine`` translates with.

Translations of both are compared before the folder is there.
"""

import logging
import shutil
import sys
import warnings
from argparse import Namespace
from pathlib import Path
from typing import Dict

import onnx
import torch
from google.protobuf.message import EncodeError
from torch import nn

from realformer_checkpoints.reading import load_checkpoint
from realformer_checkpoints.writing import write_checkpoint
from realformer_runtime import __version__
from realformer_runtime.atomic_output import new_folder
from realformer_runtime.command_line import ArgumentParser, UserError, flag, run_main
from realformer_runtime.engine.model_folder import (
    DECODER,
    ENCODER,
    Manifest,
    sha256_of,
    write_dictionaries,
)
from realformer_runtime.text.subword_files import CODES, PIECES

from ..checkpoints.folding import fold_state
from ..inference.fairseq_interactive import (
    Ensemble,
    interactive_command,
    load_ensemble,
    read_options,
)
from ..inference.languages import set_languages
from ..inference.model_arguments import (
    SUBWORD_FILES,
    add_model_arguments,
    check_model_arguments,
    find_subword_file,
)
from ..models.config import CHAINS
from ..models.hub_files import check_file, check_files
from ..models.hub_interface import BEAM, LENPEN
from .comparison import compare
from .decoder_graph import decoder_graph
from .encoder_graph import encoder_graph
from .int8 import quantize_graphs
from .supported import check_supported

PROGRAM = "export_onnx.sh"
SEARCH = {"beam": BEAM, "lenpen": LENPEN, "max_len_a": 1.0, "max_len_b": 200}
README = """# {name}

A translation model from {source} to {target}, exported by realformer_fairseq {version}.

    scripts/translate.sh --onnx '{name}' < text > translation

or, in Python, after `pip install .` in a copy of realformer_fairseq:

    from realformer_runtime.engine.translator import Translator
    Translator("{name}").translate(["A sentence."])

`model.json` says what it was made from. Files belong together: a changed one is refused.
"""


def load_folded(args, folder: Path) -> Ensemble:
    """The model, with omega folded into its weights where that can be done."""
    checkpoint = args.checkpoint
    try:
        state = load_checkpoint(checkpoint)
        fold_state(state)
        checkpoint = folder / "folded.pt"
        write_checkpoint(state, checkpoint)
    except UserError:
        pass  # no omega, or one that stays in the graph
    command = interactive_command(Namespace(**{**vars(args), "checkpoint": str(checkpoint)}))
    try:
        return load_ensemble(read_options(command), f"--checkpoint '{args.checkpoint}'")
    finally:
        (folder / "folded.pt").unlink(missing_ok=True)


def write_model(model: nn.Module, folder: Path) -> None:
    """Write the graphs and the dictionaries of a model.

    Raises:
        UserError: it cannot be exported
    """
    check_supported(model)
    cfg, kinds = model.encoder.cfg, ["none"] * 3
    if hasattr(cfg, "residual_attention_of"):
        kinds = [cfg.residual_attention_of(chain) for chain in CHAINS]
    activation = str(cfg.activation_fn)
    try:
        onnx.save(encoder_graph(model, activation, kinds[0]).model(), folder / ENCODER)
        onnx.save(decoder_graph(model, activation, *kinds[1:]).model(), folder / DECODER)
    except (ValueError, EncodeError) as error:  # as the version of protobuf has it
        raise UserError(f"a graph of more than 2 GB cannot be exported: {error}") from None
    sides = model.encoder.dictionary, model.decoder.dictionary
    write_dictionaries(folder, *(side.symbols for side in sides))


def write_rest(args, folder: Path) -> None:
    """Write what text needs, and for people a README."""
    for path, name in ((args.bpe_codes, CODES), (args.sentencepiece_model, PIECES)):
        if path:
            shutil.copyfile(path, folder / name)
    text = README.format(
        name=Path(args.output).name,
        source=args.source_lang,
        target=args.target_lang,
        version=__version__,
    )
    (folder / "README.md").write_text(text, "utf-8")


def limits_of(model: nn.Module) -> Dict[str, int]:
    """The longest sentences of a model, as the manifest names them."""
    source, target = model.max_positions()
    return {"max_source_positions": source, "max_target_positions": target}


def manifest_of(ensemble: Ensemble, args) -> Manifest:
    source, target = args.codes
    (model,) = ensemble.models
    return Manifest(
        source_lang=source,
        target_lang=target,
        moses=args.moses,
        **limits_of(model),
        search=dict(SEARCH),
        made_from={
            "checkpoint": Path(args.checkpoint).name,
            "sha256": sha256_of(Path(args.checkpoint)),
            "versions": {
                "realformer_fairseq": __version__,
                "torch": torch.__version__,
                "onnx": onnx.__version__,
            },
        },
    )


def parse_args() -> Namespace:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="FILE", help="a trained model")
    add("--output", required=True, metavar="FOLDER", help="must not be there yet")
    add("--int8", action="store_true", help="also with 8-bit integers")
    add_model_arguments(parser)
    args = parser.parse_args()
    search = {"beam": BEAM, "lenpen": LENPEN, "max_tokens": 2000, "interactive": False}
    vars(args).update(search, int8_graphs=args.int8, int8=False, dry_run=False, extra=["--cpu"])
    check_model_arguments(args)
    find_subword_file(args)
    return args


def main() -> None:
    args = parse_args()
    check_file("--checkpoint", args.checkpoint)
    set_languages(args, PROGRAM)
    languages = {"source_lang": args.source_lang, "target_lang": args.target_lang}
    check_files("", args.checkpoint, args.data, names=("--checkpoint", "--data"), **languages)
    for name in SUBWORD_FILES:
        if path := getattr(args, name):
            check_file(flag(name), path)
    logging.getLogger().setLevel(logging.ERROR)
    warnings.simplefilter("ignore")  # torch's and hydra's, of their plans
    with new_folder(args.output) as folder:
        ensemble = load_folded(args, folder)
        try:
            write_model(ensemble.models[0], folder)
        except UserError as error:
            raise UserError(f"--checkpoint '{args.checkpoint}': {error}") from None
        write_rest(args, folder)
        if args.int8_graphs:
            quantize_graphs(folder)
        manifest_of(ensemble, args).write(folder)
        print(compare(ensemble, folder, args.int8_graphs), file=sys.stderr)
    print(f"exported into {args.output}")


if __name__ == "__main__":
    run_main(main, PROGRAM)
