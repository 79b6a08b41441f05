"""Models for translation from Python, as the README loads them."""

import torch

from realformer_fairseq import RealFormerModel


def from_pretrained(
    folder, prepared, checkpoint="checkpoint_last.pt", model=RealFormerModel, **options
):
    """Checkpoints of a folder with the prepared corpus' dictionaries and codes."""
    return model.from_pretrained(
        str(folder),
        checkpoint,
        data_name_or_path=str(prepared / "data-bin"),
        tokenizer="realformer_moses",
        source_lang="en",
        target_lang="fr",
        bpe="subword_nmt",
        bpe_codes=str(prepared / "data-bin/code"),
        **options,
    )


def randomize(checkpoint, path):
    """Save a checkpoint with random weights: after few updates all translations would be the same.

    Returns:
        the path
    """
    state = torch.load(checkpoint)
    generator = torch.Generator().manual_seed(1)
    for weight in state["model"].values():
        if weight.dim() == 2:
            weight.normal_(0, 0.3, generator=generator)
    torch.save(state, path)
    return path
