"""The corpus's files: OUT/{train,valid,test,unseen}.{en,fr,src} and OUT/manifest.json."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter

from .held_out_split import CorpusPair

MANIFEST = "manifest.json"
PARTIAL_SUFFIX = ".partial"


def split_texts(name: str, pairs: list[CorpusPair]) -> dict[str, str]:
    """Return {file name: text} of a set: English, French, and source and document by line."""
    return {
        f"{name}.en": "".join(f"{pair.english}\n" for pair in pairs),
        f"{name}.fr": "".join(f"{pair.french}\n" for pair in pairs),
        f"{name}.src": "".join(f"{pair.source}\t{pair.document}\n" for pair in pairs),
    }


def split_summary(name: str, pairs: list[CorpusPair]) -> dict:
    """Return what the manifest says of a set: sizes, pairs by group of sources, checksums."""
    texts = split_texts(name, pairs)
    return {
        "pairs": len(pairs),
        "en_words": len(texts[f"{name}.en"].split()),
        "fr_words": len(texts[f"{name}.fr"].split()),
        "by": dict(Counter(pair.group for pair in pairs).most_common()),
        "sha256": {
            language: hashlib.sha256(texts[f"{name}.{language}"].encode("utf-8")).hexdigest()
            for language in ("en", "fr")
        },
    }


def write_corpus(folder: str, splits: dict[str, list[CorpusPair]], manifest: dict) -> None:
    """Write the files of all sets and the manifest into `folder`.

    They get their names only when all are written: what was there before is kept until then. The
    manifest comes last, so that a folder that has one is complete. Raises OSError.
    """
    texts = {}
    for name, pairs in splits.items():
        texts.update(split_texts(name, pairs))
    texts[MANIFEST] = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    try:
        for name, text in texts.items():
            _write(os.path.join(folder, name + PARTIAL_SUFFIX), text)
    except OSError:
        for name in texts:
            _remove(os.path.join(folder, name + PARTIAL_SUFFIX))
        raise
    _remove(os.path.join(folder, MANIFEST))
    for name in texts:
        path = os.path.join(folder, name)
        os.replace(path + PARTIAL_SUFFIX, path)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)
