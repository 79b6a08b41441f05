"""Make the language models that later versions must load, and what they answer today.

    python tests/data/make_pinned_language_models.py tests/data/language-models-0.2

Never over older ones, as make_pinned_checkpoint.py, whose English words these models count in.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT), str(PROJECT / "tests"), str(Path(__file__).parent)]

from make_pinned_checkpoint import rounded, run_commands, write_corpus  # noqa: E402
from pinned_language_models import EXPECTED, MODELS, answers  # noqa: E402

COMMON = """
    data-bin --user-dir realformer_fairseq --sample-break-mode eos --tokens-per-sample 16
    --optimizer adam --adam-betas (0.9,0.98) --lr 1e-2 --lr-scheduler inverse_sqrt
    --warmup-updates 40 --max-tokens 400 --max-update 200 --dropout 0.0 --seed 1 --cpu
    --num-workers 0 --required-batch-size-multiple 1 --no-epoch-checkpoints
    --no-save-optimizer-state --log-format simple --log-interval 100
""".split()
OPTIONS = {
    "masked_lm.pt": """
        --task masked_lm --criterion masked_lm_with_accuracy --arch realformer_bert_tiny
        --encoder-layers 3 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32
        --encoder-attention-heads 2 --max-positions 16 --token-types 2 --layer-norm-eps 1e-12
        --residual-attention sum --sublayer-scaling admin --save-dir masked_lm
    """.split(),
    "lm.pt": """
        --task language_modeling --criterion cross_entropy --arch realformer_lm_tiny
        --decoder-layers 3 --decoder-embed-dim 16 --decoder-ffn-embed-dim 32
        --decoder-attention-heads 2 --share-decoder-input-output-embed
        --residual-attention mean --sublayer-scaling admin --save-dir lm
    """.split(),
}


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir()
    preparation = "--only-source --trainpref train.en --validpref valid.en".split()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder)
        trainings = [["fairseq-train", *COMMON, *OPTIONS[model]] for model in MODELS]
        run_commands(folder, ["fairseq-preprocess", *preparation], *trainings)
        for model in MODELS:
            shutil.copy(folder / model[: -len(".pt")] / "checkpoint_last.pt", out / model)
        shutil.copy(folder / "data-bin/dict.txt", out)
    expected = {model: answers(out, model) for model in MODELS}
    (out / EXPECTED).write_text(json.dumps(rounded(expected)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
