"""The kinds of models that a card can be about, and the sentences that differ between them."""

from typing import Dict, NamedTuple, Tuple

from ..reading import SENTENCE_TASKS

TRANSLATE = """\
With realformer_fairseq, text in, text out:

```bash
echo 'A sentence.' | scripts/translate.sh --checkpoint {0} --data {1} \\
  --source-lang {2} --target-lang {3}
```

With fairseq, a test set that was prepared like the training set:

```bash
fairseq-generate {1} --path {0} {plugin}\\
  --source-lang {2} --target-lang {3} --remove-bpe --required-batch-size-multiple 1
```

Where the training data is from `data-prep/prepare-wmt14en2*.sh`, `translate.sh` needs `--moses`.\
"""
LOAD = """\
In the folder of checkpoint and data:

```python
from {module} import {model}

model = {model}.from_pretrained(
    ".", {checkpoint}, {data}, {subwords}
)
model.eval()
%s
```\
"""


class Kind(NamedTuple):
    """What a card says about the models of a task.

    ``stacks`` are what the names of options start with, ``paths`` the same in the model if these
    are others. ``models`` are the classes that load ours and fairseq's.
    """

    what: str
    tag: str  # of model hubs
    stacks: Tuple[str, ...] = ("encoder", "decoder")
    paths: Tuple[str, ...] = ()
    tokens: str = "tokens"  # that the speed of the training counts
    longest: str = ""  # options of the model
    folder: str = ""  # of dict.txt, in the data
    has_mask: bool = False  # <mask> is in the vocabulary, but not in dict.txt
    models: Tuple[str, ...] = ()
    usage: str = TRANSLATE
    citation: str = ""


ROBERTA = Kind(
    what="",
    tag="",
    stacks=("encoder",),
    paths=("encoder.sentence_encoder",),
    longest="{max_positions} subwords",
    has_mask=True,
    models=(
        "realformer_fairseq.models.masked_lm.RealFormerMaskedLM",
        "fairseq.models.roberta.RobertaModel",
    ),
    citation="liu-etal-2019-roberta",
)
CLASSIFIER = ROBERTA._replace(
    what="Classification of sentences",
    tag="text-classification",
    folder="input0",
    usage=LOAD % 'print(model.predict({head}, model.encode("A sentence.")))',
)
TRANSLATION = Kind(
    what="Machine translation",
    tag="translation",
    tokens="target tokens",
    longest="{max_source_positions} subwords of source, {max_target_positions} subwords of target",
)
# By the name of the task; any other is translation.
KINDS: Dict[str, Kind] = {
    "masked_lm": ROBERTA._replace(
        what="Masked language model",
        tag="fill-mask",
        usage=LOAD % 'print(model.fill_mask("A <mask> sentence."))',
    ),
    **dict.fromkeys(SENTENCE_TASKS, CLASSIFIER),
    "language_modeling": Kind(
        what="Language model",
        tag="text-generation",
        stacks=("decoder",),
        longest="{max_target_positions} subwords",
        models=(
            "realformer_fairseq.models.language_model.RealFormerLanguageModel",
            "fairseq.models.transformer_lm.TransformerLanguageModel",
        ),
        usage=LOAD % 'print(model.sample("A sentence", sampling=True, sampling_topk=10, beam=1))',
    ),
}
