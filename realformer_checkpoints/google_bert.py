"""The options and the vocabulary of Google's released RealFormer-BERT, as fairseq has them.

The sources are ``realformer/realformer.py`` of google-research, and BERT's ``tokenization.py``.
"""

import json
from typing import Any, Dict, List, Sequence

from realformer_runtime.command_line import UserError

# Google's special words, in the order that fairseq's have; fairseq's <mask> comes last of all.
SPECIAL = {"[CLS]": "<s>", "[PAD]": "<pad>", "[SEP]": "</s>", "[UNK]": "<unk>"}
MASK = {"[MASK]": "<mask>"}
PADDING = list(SPECIAL.values()).index("<pad>")

SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
PROBABILITIES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range")
ACTIVATIONS = {"gelu": "gelu_accurate", "relu": "relu", "tanh": "tanh", "linear": "linear"}
RUNNING_MEAN = "use_running_mean"


def read_config(path: str) -> Dict[str, Any]:
    """The options of a ``bert_config.json``.

    Raises:
        UserError: naming the option that is missing, unknown or impossible
    """

    def refuse(reason: str):
        raise UserError(f"--config '{path}': {reason}") from None

    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except (ValueError, RecursionError) as error:
        refuse(f"not JSON: {error}")
    if not isinstance(config, dict):
        refuse("no options, which are {...}")
    for name in (*SIZES, *PROBABILITIES, "hidden_act"):
        if name not in config:
            refuse(f"has no {name}")
    known = {*SIZES, *PROBABILITIES, "hidden_act", RUNNING_MEAN}
    for name, value in config.items():
        if name not in known:
            refuse(f"RealFormer's code has no option '{name}': this is another model")
        if name in SIZES and (type(value) is not int or not 0 < value < 10**6):
            refuse(f"{name} {value!r} is not a whole number from 1 to 999999")
        if name in PROBABILITIES and (type(value) not in (int, float) or not 0 <= value < 1):
            refuse(f"{name} {value!r} is not a number from 0 to below 1")
    if str(config["hidden_act"]) not in ACTIVATIONS:
        refuse(f"hidden_act {config['hidden_act']!r}: accepted are {', '.join(ACTIVATIONS)}")
    if type(config.get(RUNNING_MEAN, False)) is not bool:
        refuse(f"{RUNNING_MEAN} {config[RUNNING_MEAN]!r}: accepted are true and false")
    if config["hidden_size"] % config["num_attention_heads"]:
        refuse("num_attention_heads does not divide hidden_size")
    return config


def fairseq_order(words: Sequence[str], path: str) -> List[int]:
    """For each number of fairseq's dictionary, the number of the word in Google's vocabulary.

    Raises:
        UserError: naming a word that fairseq's dictionary cannot have, or one that is missing
    """
    numbers: Dict[str, int] = {}
    for number, word in enumerate(words):
        about = f"--vocab '{path}', line {number + 1}"
        if word.split() != [word]:
            raise UserError(f"{about}: '{word}' is not one word: fairseq's are without spaces")
        if word in (*SPECIAL.values(), *MASK.values()):
            raise UserError(f"{about}: '{word}' is a special word of fairseq's")
        if word in numbers:
            raise UserError(f"{about}: '{word}' is there twice")
        numbers[word] = number
    for word in (*SPECIAL, *MASK):
        if word not in numbers:
            raise UserError(f"--vocab '{path}': has no {word}")
    first, last = ([numbers.pop(word) for word in special] for special in (SPECIAL, MASK))
    return [*first, *numbers.values(), *last]


def is_cased(words: Sequence[str]) -> bool:
    """Whether a vocabulary has upper-case letters, apart from special words such as ``[CLS]``."""
    return any(word != word.lower() for word in words if not word.startswith("["))
