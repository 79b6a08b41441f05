"""Turn Google's released weights of a RealFormer-BERT into a folder that fairseq loads."""

import logging
import shutil
import sys
import warnings
from argparse import Namespace
from typing import Any, Dict, List

from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf

from realformer_checkpoints.google_bert import (
    ACTIVATIONS,
    RUNNING_MEAN,
    fairseq_order,
    is_cased,
    read_config,
)
from realformer_checkpoints.google_bert_weights import all_weights, check_weights, convert_weights
from realformer_checkpoints.incomplete_states import complete_state
from realformer_checkpoints.tensorflow_checkpoint import TensorFlowCheckpoint
from realformer_checkpoints.writing import write_checkpoint
from realformer_runtime.atomic_output import new_folder
from realformer_runtime.command_line import ArgumentParser, UserError, run_main
from realformer_runtime.text.wordpiece_vocabulary import read_vocabulary

from ..inference.wordpiece import NAME as WORDPIECE
from ..models.hub_files import check_file
from ..models.masked_lm import NAME
from ..modules.residual_scores import RESIDUAL_ATTENTION_CHOICES

PROGRAM = "import_google_bert.sh"
HEAD = "next_sentence"
VOCABULARY = "vocab.txt"
NOT_TOLD = (
    f"scores are summed, since --config has no {RUNNING_MEAN}. A plain BERT has the same files: "
    "if this is one, import it with --residual-attention none"
)


def residual_attention(config: Dict[str, Any], wanted: str, path: str) -> str:
    """The residual attention of a model. The files of a plain BERT are like those of a sum.

    Args:
        wanted: what the user says, or an empty string

    Raises:
        UserError: the user says something else than the configuration
    """
    told = "mean" if config.get(RUNNING_MEAN) else "sum"
    if RUNNING_MEAN in config and wanted not in ("", told):
        value = str(config[RUNNING_MEAN]).lower()
        raise UserError(
            f"--residual-attention {wanted}: --config '{path}' has {RUNNING_MEAN} {value}: {told}"
        )
    return wanted or told


def training_options(config: Dict[str, Any], residual: str, cased: bool) -> List[str]:
    """The words of a ``fairseq-train`` that would train the model."""
    places = config["max_position_embeddings"]
    named = {
        "task": "masked_lm",
        "criterion": "masked_lm",
        "arch": NAME,
        "residual-attention": residual,
        "encoder-layers": config["num_hidden_layers"],
        "encoder-embed-dim": config["hidden_size"],
        "encoder-ffn-embed-dim": config["intermediate_size"],
        "encoder-attention-heads": config["num_attention_heads"],
        "max-positions": places,
        "tokens-per-sample": places,
        "token-types": config["type_vocab_size"],
        "layer-norm-eps": "1e-12",
        "activation-fn": ACTIVATIONS[config["hidden_act"]],
        "pooler-activation-fn": "tanh",
        "dropout": config["hidden_dropout_prob"],
        "attention-dropout": config["attention_probs_dropout_prob"],
        "bpe": WORDPIECE,
        "wordpiece-vocab": VOCABULARY,
    }
    return [
        ".",
        *(f"--{name}={value}" for name, value in named.items()),
        *(["--wordpiece-cased"] if cased else []),
    ]


def as_stored(words: List[str]) -> Dict[str, Any]:
    """Options as ``fairseq-train`` stores them in a checkpoint."""
    args = options.parse_args_and_arch(options.get_training_parser(), words)
    cfg = convert_namespace_to_omegaconf(args)
    return OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)


def parse_args() -> Namespace:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="PREFIX", help="as bert_model.ckpt")
    add("--config", required=True, metavar="FILE", help="bert_config.json")
    add("--vocab", required=True, metavar="FILE", help="vocab.txt")
    add("--output", required=True, metavar="FOLDER", help="must not be there yet")
    add("--residual-attention", default="", choices=RESIDUAL_ATTENTION_CHOICES)
    args = parser.parse_args()
    check_file("--checkpoint", f"{args.checkpoint}.index")
    check_file("--config", args.config)
    check_file("--vocab", args.vocab)
    return args


def main() -> None:
    args = parse_args()
    logging.getLogger().setLevel(logging.ERROR)
    warnings.simplefilter("ignore")  # hydra's, of its plans
    config = read_config(args.config)
    residual = residual_attention(config, args.residual_attention, args.config)
    words = read_vocabulary(args.vocab, "--vocab")
    order = fairseq_order(words, args.vocab)
    if len(words) != config["vocab_size"]:
        raise UserError(
            f"--vocab '{args.vocab}': {len(words)} words, but vocab_size of --config is "
            f"{config['vocab_size']}"
        )
    checkpoint = TensorFlowCheckpoint(args.checkpoint)
    weights = all_weights(config, order, HEAD)
    check_weights(checkpoint, weights)
    with new_folder(args.output) as folder:
        cfg = as_stored(training_options(config, residual, is_cased(words)))
        state = {"args": None, "cfg": cfg, "model": convert_weights(checkpoint, weights)}
        complete_state(state)
        write_checkpoint(state, folder / "model.pt")
        # Counts are a formality. The special words and <mask> are no part of such a file.
        ours = [words[number] for number in order[4:-1]]
        (folder / "dict.txt").write_text("".join(f"{word} 1\n" for word in ours), "utf-8")
        shutil.copyfile(args.vocab, folder / VOCABULARY)
    print(f"imported into {args.output}")
    if not args.residual_attention and RUNNING_MEAN not in config:
        print(f"{PROGRAM}: {NOT_TOLD}", file=sys.stderr)


if __name__ == "__main__":
    run_main(main, PROGRAM)
