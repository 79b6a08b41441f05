"""What pinned language models are asked."""

import torch
from fairseq import checkpoint_utils
from fairseq.data.data_utils import collate_tokens

import realformer_fairseq  # noqa: F401  registers the models

EXPECTED = "expected.json"
MODELS = ("masked_lm.pt", "lm.pt")
# Of unequal lengths, so that a batch of them has padding; "hundred" has been seen by no one.
SENTENCES = ("three one four", "ten nine eight seven six <mask> four", "two two hundred")


@torch.no_grad()
def answers(folder, model):
    """Log-probabilities of every type at each position ``(B, T, V)``, as nested lists."""
    (loaded,), _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(folder / model)], arg_overrides={"data": str(folder)}
    )
    dictionary = task.source_dictionary
    lines = [f"<s> {sentence} </s>" for sentence in SENTENCES]
    encoded = [
        dictionary.encode_line(line, add_if_not_exist=False, append_eos=False) for line in lines
    ]
    tokens = collate_tokens([line.long() for line in encoded], dictionary.pad())
    return loaded.eval().get_normalized_probs(loaded(tokens), log_probs=True).tolist()
