"""The corpus's files: OUT/{train,valid,test,unseen}.{en,fr,src} and OUT/manifest.json."""

import hashlib
import json
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from realformer_runtime.atomic_output import atomic_output

from .held_out_split import CorpusPair

MANIFEST = "manifest.json"


def split_texts(name: str, pairs: list[CorpusPair]) -> dict[str, str]:
    """Return {file name: text} of a set: English, French, and source and document by line."""
    return {
        f"{name}.en": "".join(f"{pair.english}\n" for pair in pairs),
        f"{name}.fr": "".join(f"{pair.french}\n" for pair in pairs),
        f"{name}.src": "".join(f"{pair.source}\t{pair.document}\n" for pair in pairs),
    }


def split_summary(name: str, pairs: list[CorpusPair]) -> dict:
    """Return what the manifest says of a set: sizes, pairs by group of sources, checksums."""
    english, french, _ = split_texts(name, pairs).values()
    return {
        "pairs": len(pairs),
        "en_words": len(english.split()),
        "fr_words": len(french.split()),
        "by": dict(Counter(pair.group for pair in pairs).most_common()),
        "sha256": {
            "en": hashlib.sha256(english.encode()).hexdigest(),
            "fr": hashlib.sha256(french.encode()).hexdigest(),
        },
    }


def write_corpus(folder: str, splits: dict[str, list[CorpusPair]], manifest: dict) -> None:
    """Write the files of all sets and the manifest into `folder`.

    They get their names only when all are written: what was there before is kept until then. The
    manifest comes last, so that a folder that has one is complete. Raises OSError.
    """
    texts = {MANIFEST: json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"}
    for name, pairs in splits.items():
        texts.update(split_texts(name, pairs))
    with ExitStack() as files:  # which ends with the one that was entered first
        for name, text in texts.items():
            path = files.enter_context(atomic_output(Path(folder, name)))
            path.write_bytes(text.encode())
        Path(folder, MANIFEST).unlink(missing_ok=True)
