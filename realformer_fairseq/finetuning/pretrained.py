"""What fine-tuning has to know of a checkpoint: its model's options, dictionary and encoding."""

import argparse
import os
from typing import Any, Dict, Iterable, NamedTuple, Optional, Type

from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY, BaseFairseqModel
from fairseq.models.roberta import RobertaModel
from fairseq.tasks.sentence_prediction import SentencePredictionTask

from realformer_checkpoints.incomplete_states import load_with_options
from realformer_checkpoints.reading import option_group
from realformer_runtime.command_line import UserError

ENCODINGS = ("tokenizer", "bpe")


class Pretrained(NamedTuple):
    """A masked language model that is to be fine-tuned.

    Args:
        options: of the model, by name, with ``arch`` and ``max_positions``
        dictionary: with ``<mask>``
        encodings: the groups of options ``tokenizer`` and ``bpe`` that the checkpoint has
    """

    path: str
    options: Dict[str, Any]
    dictionary: Dictionary
    dictionary_path: str
    encodings: Dict[str, Any]

    @property
    def has_token_types(self) -> bool:
        return bool(self.options.get("token_types"))


def read_pretrained(path: str, dictionary_path: Optional[str] = None) -> Pretrained:
    """Read what is needed of a checkpoint, without loading its tensors.

    Args:
        dictionary_path: default ``dict.txt`` in the folder of the checkpoint

    Raises:
        UserError: naming the flag, and why the file is refused
    """
    state = load_with_options(path)
    stored = option_group(state, "model")
    arch = str(stored.get("arch") or stored.get("_name"))
    model = ARCH_MODEL_REGISTRY.get(arch)
    if model is None or not issubclass(model, RobertaModel):
        raise UserError(
            f"--checkpoint {path}: its model is '{arch}': a masked language model is needed, "
            "such as realformer_masked_lm or roberta"
        )
    options = {name: stored[name] for name in option_names(model, arch) if name in stored}
    embeddings = {
        name.rpartition("sentence_encoder.")[2]: len(tensor)
        for name, tensor in state["model"].items()
        if name.endswith(("sentence_encoder.embed_positions.weight", ".embed_tokens.weight"))
    }
    dictionary_path = dictionary_path or os.path.join(os.path.dirname(path), "dict.txt")
    dictionary = load_dictionary(dictionary_path, embeddings.get("embed_tokens.weight"))
    if "embed_positions.weight" in embeddings:  # positions are counted from the padding on
        positions = embeddings["embed_positions.weight"] - dictionary.pad() - 1
    else:
        positions = options.get("max_positions") or 512
    options.update(arch=arch, max_positions=positions)
    folders = (os.path.dirname(path), os.path.dirname(dictionary_path))
    encodings = {
        group: {name: beside(value, folders) for name, value in values.items()}
        for group, values in stored_encodings(state).items()
    }
    return Pretrained(path, options, dictionary, dictionary_path, encodings)


def beside(value: Any, folders: Iterable[str]) -> Any:
    """A stored value, or, if it names a file that one of the folders has, the path of that file.

    A checkpoint is moved together with its vocabulary.
    """
    if isinstance(value, str):
        paths = [os.path.abspath(os.path.join(each, os.path.basename(value))) for each in folders]
        value = next(filter(os.path.isfile, paths), value)
    return value


def option_names(model: Type[BaseFairseqModel], arch: str) -> set:
    """Names of a model's options: what its flags set, and what the architecture does.

    A checkpoint has them in one namespace with the options of its training.
    """
    parser, sizes = argparse.ArgumentParser(), argparse.Namespace()
    model.add_args(parser)
    ARCH_CONFIG_REGISTRY[arch](sizes)
    return {action.dest for action in parser._actions if action.dest != "help"} | set(vars(sizes))


def load_dictionary(path: str, entries: Optional[int]) -> Dictionary:
    """A dictionary as the task has it, with as many entries as a checkpoint has embeddings."""
    if not os.path.isfile(path):
        raise UserError(f"--dict: no such file: '{path}' (default: dict.txt beside the checkpoint)")
    try:
        dictionary = SentencePredictionTask.load_dictionary(path)
    except (RuntimeError, ValueError) as error:
        first_line = str(error).split("\n")[0]
        raise UserError(f"--dict {path}: no dictionary of fairseq: {first_line}") from error
    if entries != len(dictionary):
        raise UserError(
            f"--dict {path}: it has {len(dictionary)} entries with fairseq's own, "
            f"and the checkpoint has embeddings of {entries}"
        )
    return dictionary


def stored_encodings(state: Dict[str, Any]) -> Dict[str, Any]:
    """The options of tokenizer and BPE in a checkpoint, those that it has."""
    cfg = state.get("cfg")
    if not isinstance(cfg, dict):
        args = state["args"]
        args = args if isinstance(args, argparse.Namespace) else argparse.Namespace(**args)
        if not any(getattr(args, group, None) for group in ENCODINGS):
            return {}
        cfg = convert_namespace_to_omegaconf(args)
    return {group: cfg[group] for group in ENCODINGS if cfg.get(group)}
