"""Tools for the checkpoints and logs of a training, which need torch but not fairseq.

``realformer_fairseq`` imports fairseq, which takes seconds.
"""
