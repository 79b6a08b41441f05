"""Which task each of our models is for; with another, fairseq fails late and unclearly."""

from fairseq.tasks import TASK_REGISTRY, FairseqTask
from fairseq.tasks.language_modeling import LanguageModelingTask
from fairseq.tasks.masked_lm import MaskedLMTask
from fairseq.tasks.multilingual_translation import MultilingualTranslationTask
from fairseq.tasks.sentence_prediction import SentencePredictionTask
from fairseq.tasks.sentence_ranking import SentenceRankingTask

from .config import RefusedOption

# Tasks that no translation model works with, the model that does, and a remark.
OF_OTHER_MODELS = (
    (LanguageModelingTask, "realformer_lm", ""),
    (MaskedLMTask, "realformer_masked_lm", ""),
    (SentencePredictionTask, "realformer_masked_lm", ""),
    (SentenceRankingTask, "realformer_masked_lm", ""),
    (
        MultilingualTranslationTask,
        "multilingual_realformer",
        " (--task translation_multi_simple_epoch takes any realformer)",
    ),
)


def name_of(task: FairseqTask) -> str:
    """What ``--task`` calls it."""
    kinds = [name for name, kind in TASK_REGISTRY.items() if kind is type(task)]
    return kinds[0] if kinds else type(task).__name__


def check_translation_task(task) -> None:
    """Refuse the tasks of other models.

    Raises:
        RefusedOption: naming the task and the model for it
    """
    for kind, model, remark in OF_OTHER_MODELS:
        if isinstance(task, kind):
            raise RefusedOption(f"--task {name_of(task)} needs --arch {model}{remark}")


def check_own_task(task, model: str) -> None:
    """Refuse all tasks of fairseq but those that ``OF_OTHER_MODELS`` has a model for.

    Raises:
        RefusedOption: naming the task and those that are accepted
    """
    kinds = tuple(kind for kind, own, _ in OF_OTHER_MODELS if own == model)
    if isinstance(task, FairseqTask) and not isinstance(task, kinds):
        names = (name for name, kind in TASK_REGISTRY.items() if kind in kinds)
        accepted = ", ".join(sorted(names))
        raise RefusedOption(f"--task {name_of(task)}: a {model} is for --task {accepted}")
