"""The names of files that say how text becomes subwords; they are beside the data of a model."""

CODES = "code"  # of subword-nmt
PIECES = "sentencepiece.bpe.model"  # where fairseq's from_pretrained looks for it
