"""A ``--user-dir`` that says which trainer fairseq-train has, and with which functions."""

from realformer_fairseq.fairseq_patches import PATCHES

WITNESS = """
import atexit
import sys
from fairseq.trainer import Trainer
from realformer_fairseq.fairseq_patches import PATCHES, is_ours

trainers = []
build_optimizer = Trainer._build_optimizer

def remember(self):
    trainers.append(type(self).__name__)
    return build_optimizer(self)

Trainer._build_optimizer = remember

@atexit.register
def tell():
    wrapped = (p for p in PATCHES if is_ours(getattr(p.owner, p.name)))
    print("WITNESS", set(trainers), "sacremoses" in sys.modules, *(p.name for p in wrapped))
"""


def write_witness(folder):
    """The ``--user-dir`` in a folder; Python needs the project on its path."""
    witness = folder / "witness"
    witness.mkdir()
    (witness / "__init__.py").write_text(WITNESS)
    return witness


def assert_trained_by_us(output):
    """Of all that a training with that ``--user-dir`` printed."""
    (line,) = [line for line in output.splitlines() if line.startswith("WITNESS")]
    trained_by, has_sacremoses = "{'RealFormerTrainer'}", "False"  # whose import takes long
    names = [patch.name for patch in PATCHES]
    assert line == " ".join(["WITNESS", trained_by, has_sacremoses, *names])
