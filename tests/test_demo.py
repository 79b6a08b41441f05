"""scripts/demo.sh, in small and whole."""

import os
import re
import shutil

import pytest
from conftest import PROJECT, run

# How the demo ends: three lines of an example, then the scores with their signatures.
ENDING = re.compile(
    r"^source       \S.*\ntranslation  .*\nreference    \S.*\n"
    r"(?:.*\n)*"
    r"^sacreBLEU  (?P<bleu>[\d.]+)  nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:.*\n"
    r"^chrF2  .*\n^tokenised BLEU .*\n\Z",
    re.M,
)


# Has the corpus's script find that each stage is done.
STAMPS = """set -euo pipefail
source scripts/lib/common.sh
source data-prep/lib/text_pipeline.sh
use_environment
for name in prepare_stage make_file make_stage binarize_corpus; do eval "$name() { :; }"; done
run_stage raw raw "sample corpus" :
prepare_data
"""


def test_the_demos_path_in_small(prepared, tmp_path):
    """On 200 sentences and for 14 updates."""
    out = tmp_path / "my demo"
    corpus = shutil.copytree(prepared, out / "corpus")
    settings = {"OUT": str(corpus), "SOURCE_LANG": "en", "TARGET_LANG": "fr", "BPE_MERGES": "2000"}
    run("bash", "-c", STAMPS, cwd=PROJECT, env={**os.environ, **settings})
    options = ["--encoder-layers", 2, "--max-update", 14, "--save-interval-updates", 2]
    result = run(PROJECT / "scripts/demo.sh", "--out", out, "--", *options, timeout=600)
    assert ENDING.search(result.stdout), result.stdout
    assert result.stderr.count("done before") == 5
    assert (out / "checkpoints/average.pt").exists()
    card = (out / "MODEL_CARD.md").read_text()
    assert f"\n* sacreBLEU {ENDING.search(result.stdout)['bleu']}, signature `nrefs:1|" in card
    assert "| averaged | mean of 3: `checkpoint_" in card and str(tmp_path) not in card
    other = run(PROJECT / "scripts/demo.sh", "--out", out, check=False)
    assert other.returncode == 1 and "options: none" in other.stderr


@pytest.mark.slow
def test_the_demo_reaches_60_bleu(tmp_path):
    """As a newcomer runs it. Run with `scripts/test.sh -m slow`."""
    env = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    result = run(PROJECT / "scripts/demo.sh", "--out", tmp_path / "demo", env=env, timeout=1200)
    assert float(ENDING.search(result.stdout)["bleu"]) >= 60
