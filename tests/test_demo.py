"""scripts/demo.sh, in small and whole."""

import os
import re
import shutil

import pytest
from conftest import PROJECT, run
from corpus_stamps import stamp

# How the demo ends: three lines of an example, then the scores with their signatures.
ENDING = re.compile(
    r"^source       \S.*\ntranslation  .*\nreference    \S.*\n"
    r"(?:.*\n)*"
    r"^sacreBLEU  (?P<bleu>[\d.]+)  nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:.*\n"
    r"^chrF2  .*\n^tokenised BLEU .*\n\Z",
    re.M,
)


def test_the_demos_path_in_small(prepared, tmp_path):
    """On 200 sentences and for 14 updates."""
    out = tmp_path / "my demo"
    corpus = shutil.copytree(prepared, out / "corpus")
    stamp(corpus, "sample corpus", 2000)
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
