"""Models for translation from Python, as the README loads them."""

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
