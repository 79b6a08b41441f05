"""What a pinned checkpoint is asked, and how its answers are written down."""

from argparse import Namespace
from pathlib import Path

import torch
from fairseq import checkpoint_utils
from fairseq.data.data_utils import collate_tokens

EXPECTED = "expected.json"
# Of unequal lengths, so that a batch of them has padding; the last has a word seen by no one.
PAIRS = (
    ("three one four", "quatre un trois"),
    ("ten nine eight seven six five four", "quatre cinq six sept huit neuf dix"),
    ("two two hundred", "deux"),
)
BEAM = 4


def load(folder: Path):
    """``(model, task)``, as ``fairseq-generate`` loads them."""
    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(folder / "checkpoint.pt")], arg_overrides={"data": str(folder)}
    )
    return models[0].eval(), task


def batch(task):
    """Sources ``(B, S)``, padded on the left, their lengths, and targets shifted ``(B, T)``."""
    dictionaries = (task.source_dictionary, task.target_dictionary)
    sources, targets = (
        [dictionary.encode_line(sentence, add_if_not_exist=False).long() for sentence in sentences]
        for dictionary, sentences in zip(dictionaries, zip(*PAIRS))
    )
    pad, eos = task.target_dictionary.pad(), task.target_dictionary.eos()
    return {
        "src_tokens": collate_tokens(sources, pad, eos, left_pad=True),
        "src_lengths": torch.tensor([len(source) for source in sources]),
        "prev_output_tokens": collate_tokens(targets, pad, eos, move_eos_to_beginning=True),
    }


@torch.no_grad()
def log_probabilities(model, task):
    """Of every type at each position of the given translations, ``(B, T, V)``."""
    output = model(**batch(task))
    return model.get_normalized_probs(output, log_probs=True)


@torch.no_grad()
def hypotheses(model, task):
    """Of a beam search for each source sentence: words, score, score of each token."""
    generator = task.build_generator([model], Namespace(beam=BEAM, max_len_b=12))
    found = task.inference_step(generator, [model], {"net_input": batch(task)})

    def written(one):
        words = task.target_dictionary.string(one["tokens"])
        scores = one["positional_scores"].tolist()
        return {"words": words, "score": float(one["score"]), "positional_scores": scores}

    return [[written(one) for one in beam] for beam in found]


def outputs(model, task):
    """All that is pinned, as plain numbers and strings."""
    return {
        "log_probabilities": log_probabilities(model, task).tolist(),
        "hypotheses": hypotheses(model, task),
    }
