"""What works on the files of a training, its checkpoints and its log: needs torch, not fairseq.

It is a package of its own because importing ``realformer_fairseq`` imports fairseq, which takes
seconds that reading a file should not.
"""
