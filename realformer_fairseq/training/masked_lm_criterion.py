"""``--criterion masked_lm_with_accuracy``: fairseq's ``masked_lm``, and how many words are right.

Masked-LM accuracy is what the paper compares its models by (He et al. 2020, section 4.1).
"""

from fairseq.criterions import register_criterion
from fairseq.criterions.masked_lm import MaskedLmConfig, MaskedLmLoss
from fairseq.logging import metrics


class _Recorded:
    """A model whose last output is kept."""

    def __init__(self, model):
        self.model = model

    def __call__(self, **inputs):
        self.output = self.model(**inputs)
        return self.output

    def __getattr__(self, name):
        return getattr(self.model, name)


@register_criterion("masked_lm_with_accuracy", dataclass=MaskedLmConfig)
class MaskedLmWithAccuracy(MaskedLmLoss):
    """Loss in bits and, in percent of the masked words, the accuracy."""

    def forward(self, model, sample, reduce=True):
        """Loss, sample size and numbers to log, as fairseq's criterion returns them."""
        recorded = _Recorded(model)
        loss, sample_size, logged = super().forward(recorded, sample, reduce)
        words, target = recorded.output[0].argmax(dim=-1), sample["target"]
        masked = target.ne(self.padding_idx)
        if words.numel() == target.numel():  # where no word is masked, all are predicted
            words = words.view_as(target)[masked]
        logged["n_correct"] = words.eq(target[masked]).sum()
        return loss, sample_size, logged

    @staticmethod
    def reduce_metrics(logging_outputs) -> None:
        """Sum numbers over batches and ranks."""
        MaskedLmLoss.reduce_metrics(logging_outputs)
        correct, words = (
            sum(log.get(name, 0) for log in logging_outputs)
            for name in ("n_correct", "sample_size")
        )
        if words > 0:
            metrics.log_scalar("accuracy", 100.0 * correct / words, words, round=2)
