"""The models that ``--arch`` names. fairseq imports each file of this folder by itself."""
