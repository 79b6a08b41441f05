"""Data and checkpoints of masked language models and of language models, ours and fairseq's."""

import torch
from checkpoint_files import fairseq_state
from fairseq import tasks
from fairseq.data import indexed_dataset
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq_mains import COMMON, configuration
from models import make_dictionary
from omegaconf import OmegaConf

TASKS = {"roberta": "masked_lm", "transformer_lm": "language_modeling"}
TASKS |= {"realformer_masked_lm": "masked_lm", "realformer_lm": "language_modeling"}
# Ours, and fairseq's that it is when it carries no scores.
PAIRS = [("realformer_masked_lm", "roberta"), ("realformer_lm", "transformer_lm")]
PAIRS = [pair for pair in PAIRS if pair[0] in ARCH_MODEL_REGISTRY]
OURS = [ours for ours, _ in PAIRS]
ALL = [arch for arch in TASKS if arch in (*ARCH_MODEL_REGISTRY, "transformer_lm")]
LENGTHS = (5, 9, 3, 12)


def write_data(folder, splits=("train", "valid", "test")):
    """Binarised text of ``LENGTHS`` words a line, and dict.txt."""
    dictionary = make_dictionary()
    dictionary.save(str(folder / "dict.txt"))
    generator = torch.Generator().manual_seed(1)
    for split in splits:
        builder = indexed_dataset.make_builder(str(folder / f"{split}.bin"), "mmap", 44)
        for length in LENGTHS:
            words = torch.randint(4, len(dictionary), (length,), generator=generator)
            builder.add_item(torch.cat([words, torch.tensor([dictionary.eos()])]).int())
        builder.finalize(str(folder / f"{split}.idx"))
    return folder


def new_state(data, arch, *options, seed=1):
    """What a training of few and narrow layers saves, and its model in evaluation mode.

    The weights are larger than initial ones, so that attention is not uniform.
    """
    side = "encoder" if TASKS[arch] == "masked_lm" else "decoder"
    sizes = {"layers": 3, "embed-dim": 16, "ffn-embed-dim": 24, "attention-heads": 2}
    given = [word for name, size in sizes.items() for word in (f"--{side}-{name}", size)]
    if side == "encoder":
        given += ["--criterion", "masked_lm"]
    if side == "decoder":
        given += ["--share-decoder-input-output-embed", "--decoder-input-dim", 16]
        given += ["--decoder-output-dim", 16]
    if arch == "transformer_lm":  # as its larger architectures and ours
        given += ["--decoder-normalize-before"]
    given += ["--task", TASKS[arch], "--arch", arch, "--tokens-per-sample", 32]
    given += ["--sample-break-mode", "eos", *COMMON]
    given += ["--criterion", "masked_lm"] if side == "encoder" else []
    cfg = configuration(data, *given, *options)
    task = tasks.setup_task(cfg.task)
    torch.manual_seed(seed)
    model = task.build_model(cfg.model).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    state = fairseq_state(model.state_dict())
    state["cfg"] = OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)
    return state, model


def save(path, data, arch, *options, **kwargs):
    """Write a checkpoint.

    Returns:
        its model
    """
    state, model = new_state(data, arch, *options, **kwargs)
    torch.save(state, path)
    return model
