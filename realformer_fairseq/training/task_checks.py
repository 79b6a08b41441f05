"""What fits a task of ``fairseq-train``: the model, the criterion, and the task's own options."""

from typing import Any, Iterator, NamedTuple, Tuple

from fairseq.criterions import CRITERION_REGISTRY
from fairseq.models import (
    ARCH_MODEL_REGISTRY,
    MODEL_REGISTRY,
    FairseqEncoderDecoderModel,
    FairseqEncoderModel,
    FairseqLanguageModel,
)

from realformer_checkpoints.reading import SENTENCE_TASKS
from realformer_runtime.command_line import UserError, flag


class Fit(NamedTuple):
    """The class of fairseq that a task's models have, one of ours, and the task's criterions."""

    model: type
    example: str
    criterions: Tuple[str, ...]


OF_TEXT = """
    cross_entropy label_smoothed_cross_entropy label_smoothed_cross_entropy_with_rdrop
    adaptive_loss composite_loss
""".split()
ALIGNED = "label_smoothed_cross_entropy_with_alignment"
MASKED_LM = (FairseqEncoderModel, "realformer_masked_lm")
FITS = {
    "translation": Fit(FairseqEncoderDecoderModel, "realformer", (*OF_TEXT, ALIGNED)),
    "language_modeling": Fit(FairseqLanguageModel, "realformer_lm", OF_TEXT),
    "masked_lm": Fit(*MASKED_LM, ("masked_lm", "masked_lm_with_accuracy")),
    "sentence_prediction": Fit(*MASKED_LM, ("sentence_prediction",)),
    "sentence_ranking": Fit(*MASKED_LM, ("sentence_ranking",)),
}
# What validation computes on request: the option, and its metrics.
REPORTS = {
    "report_mcc": ("mcc",),
    "report_acc_and_f1": ("f1", "acc_and_f1"),
    "report_pearson_and_spearman": ("pearson", "spearman", "pearson_and_spearman"),
}
OF_CLASSES = ("report_mcc", "report_acc_and_f1")
PYTORCH_DDP = ("c10d", "pytorch_ddp")


def check_fit(task: str, criterion: str, arch: str) -> None:
    """Refuse a model or a criterion that is for other tasks.

    Args:
        task: its name; one that is not in ``FITS`` may have any

    Raises:
        UserError: naming the flag and what fits
    """
    fit = FITS.get("translation" if task.startswith("translation") else task)
    if fit is None:
        return
    model = ARCH_MODEL_REGISTRY.get(arch) or MODEL_REGISTRY.get(arch)
    if model is not None and not issubclass(model, fit.model):
        raise UserError(
            f"--arch {arch}: --task {task} needs another model, such as --arch {fit.example}"
        )
    module = getattr(CRITERION_REGISTRY.get(criterion), "__module__", "")
    of_others = module.startswith("fairseq.") or criterion in FITS["masked_lm"].criterions
    if of_others and criterion not in fit.criterions:
        choices = ", ".join(fit.criterions[:2])
        raise UserError(f"--criterion {criterion} is for another task: choose one of {choices}")


def task_options(cfg: Any, task: str) -> Iterator[Tuple[bool, str]]:
    """Pairs of a condition and the message that it leads to."""
    # fairseq 0.12.2 lacks this option.
    yield (getattr(cfg.task, "d2v2_multi", False), "--d2v2-multi is for data2vec models")
    if task == "masked_lm":
        yield from masked_lm(cfg.task)
    if task in SENTENCE_TASKS:
        yield from sentences(cfg, task)
    if task == "language_modeling":
        for name in ("self_target", "past_target"):
            yield (cfg.task[name], f"{flag(name)}: these models predict the next word alone")
    noise = getattr(cfg.model, "quant_noise_scalar", 0)
    yield (
        noise > 0 and task in ("masked_lm", *SENTENCE_TASKS),
        f"--quant-noise-scalar {noise}: fairseq has none for learned positions; "
        "--quant-noise-pq works",
    )
    positions = {"masked_lm": "max_positions", "language_modeling": "max_target_positions"}
    limit = getattr(cfg.model, positions.get(task, ""), None)
    if limit is not None and str(cfg.task.sample_break_mode) != "eos":
        yield (
            cfg.task.tokens_per_sample > limit,
            f"--tokens-per-sample {cfg.task.tokens_per_sample}: the model has "
            f"{flag(positions[task])} {limit}",
        )


def masked_lm(options: Any) -> Iterator[Tuple[bool, str]]:
    """Pairs of a condition and the message that it leads to."""
    yield (
        not 0 < options.mask_prob < 1,
        f"--mask-prob {options.mask_prob}: a number between 0 and 1 is needed",
    )
    kept, random = options.leave_unmasked_prob, options.random_token_prob
    yield (
        kept + random > 1,
        f"--leave-unmasked-prob {kept} and --random-token-prob {random}: more than 1 together",
    )
    yield (
        options.tokens_per_sample < 2,
        f"--tokens-per-sample {options.tokens_per_sample}: 2 or more, the first is <s>",
    )
    yield (options.mask_whole_words, "--mask-whole-words does not work in fairseq's masked_lm")


def sentences(cfg: Any, task: str) -> Iterator[Tuple[bool, str]]:
    """Pairs of a condition and the message that it leads to."""
    criterion, several = cfg.criterion, cfg.distributed_training
    reports = [name for name in REPORTS if getattr(criterion, name, False)]
    classes = cfg.task.num_classes
    yield (
        classes is None or classes < 1,
        f"--task {task} needs --num-classes, "
        + ("how many labels there are" if task == SENTENCE_TASKS[0] else "how many are ranked"),
    )
    regression = getattr(criterion, "regression_target", False)
    for name in OF_CLASSES:
        yield (
            regression and name in reports,
            f"{flag(name)} is for classes; --regression-target has --report-pearson-and-spearman",
        )
    yield (
        "report_acc_and_f1" in reports and classes != 2,
        f"--report-acc-and-f1 is for two classes, --num-classes is {classes}",
    )
    for name in ("classification_head_name", "ranking_head_name"):
        head = getattr(criterion, name, "")
        yield ("." in head, f"{flag(name)} {head}: a name without a dot is needed")
    yield (
        getattr(cfg.model, "spectral_norm_classification_head", False),
        "--spectral-norm-classification-head: fairseq cannot load what it saves with it",
    )
    processes = several.distributed_world_size
    for name in reports:
        yield (
            processes > 1,
            f"{flag(name)} needs --distributed-world-size 1: fairseq cannot sum it",
        )
    yield (
        processes > 1
        and str(several.ddp_backend) in PYTORCH_DDP
        and not several.find_unused_parameters,
        f"--task {task} in {processes} processes needs --find-unused-parameters: the masked-LM "
        "head is not trained",
    )
