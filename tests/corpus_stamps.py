"""Prepared corpora of which the scripts of data-prep find that each stage is done."""

import hashlib
import os

from conftest import PROJECT, run

STAMPS = """set -euo pipefail
source scripts/lib/common.sh
source data-prep/lib/text_pipeline.sh
use_environment
for name in prepare_stage make_file make_stage binarize_corpus; do eval "$name() { :; }"; done
run_stage raw raw "$MADE_FROM" :
prepare_data
"""


def stamp(corpus, made_from, merges):
    """Write the stamps of a copy of the fixture ``prepared``.

    Args:
        made_from: what the raw text depends on, in the words of the script
    """
    settings = {"OUT": corpus, "SOURCE_LANG": "en", "TARGET_LANG": "fr", "BPE_MERGES": merges}
    settings = {name: str(value) for name, value in {**settings, "MADE_FROM": made_from}.items()}
    run("bash", "-c", STAMPS, cwd=PROJECT, env={**os.environ, **settings})


def text_of(folder):
    """What prepare-debian-en2fr.sh says of the text in a folder, in its order."""
    names = (f"{split}.{lang}" for split in ("train", "valid", "test") for lang in ("en", "fr"))
    sums = ((hashlib.sha256((folder / name).read_bytes()).hexdigest(), name) for name in names)
    listed = "".join(f"{digest}  {name}\n" for digest, name in sums)
    return f"text {hashlib.sha256(listed.encode()).hexdigest()}"
