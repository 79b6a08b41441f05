"""What needs neither fairseq nor torch: text, scores, files and the command line.

The plugin (``realformer_fairseq``) and the tools for checkpoints (``realformer_checkpoints``) build
on it.
"""

__version__ = "0.2.0.dev0"
