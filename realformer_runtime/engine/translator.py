"""Translate with exported models, text to text or subwords to subwords."""

import os
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

import numpy as np
from tqdm import tqdm

from ..command_line import UserError
from ..text.known_characters import in_known_characters
from ..text.overlong_sentences import SPLIT, parts_of_sentences
from ..text.subword_files import CODES, PIECES
from ..text.text_processing import TextProcessing, with_codes, with_pieces
from ..text.utf8_lines import drop_byte_order_mark, shows_nothing
from .beam_search import BeamSearch, Hypothesis
from .constraints import PAD
from .dictionary import Dictionary
from .model_folder import Manifest, read_dictionaries, read_manifest
from .onnx_model import OnnxModel
from .search_options import SearchOptions

LONG_TEXT = 100  # sentences, from which on there is a progress bar


class Translator:
    """One exported model, or several as an ensemble.

    Args:
        folder: of ``scripts/export_onnx.sh``; several joined by ``:`` are an ensemble
        threads: of onnxruntime; None for as many as there are cores
        int8: with 8-bit integers, which the export must have made

    Raises:
        UserError: a folder is missing, damaged or of a later version, or models have other words
    """

    def __init__(self, folder: Union[str, Path], threads: Optional[int] = None, int8: bool = False):
        names = [folder] if isinstance(folder, Path) else folder.split(os.pathsep)
        folders = [Path(name) for name in names]
        manifests = [read_manifest(path) for path in folders]
        words = [read_dictionaries(path) for path in folders]
        for path, manifest, own in zip(folders, manifests, words):
            same = manifest.source_lang, manifest.target_lang, manifest.moses, own
            first = manifests[0]
            if same != (first.source_lang, first.target_lang, first.moses, words[0]):
                raise UserError(f"--onnx '{path}': other words or languages than '{folders[0]}'")
        self.manifest = manifests[0]
        self.source = Dictionary(words[0]["source"])
        self.target = Dictionary(words[0]["target"])
        self.longest_source = min(each.max_source_positions for each in manifests)
        self.longest_target = min(each.max_target_positions for each in manifests)
        self.options = SearchOptions(**self.manifest.search)
        self.models = [OnnxModel(path, threads or 0, int8) for path in folders]
        self._in_known_characters = in_known_characters(self.source.words)
        self._text = text_processing(folders[0], self.manifest)

    def translate(self, lines: Sequence[str], overlong: str = SPLIT, **search: Any) -> List[str]:
        """Raw text to raw text, in order; a line that shows nothing becomes an empty one.

        Args:
            overlong: a line of more subwords than the model or a batch takes is translated in parts
                (``split``), left empty (``skip``) or refused (``error``)
            search: fields of ``SearchOptions``
        """
        if isinstance(lines, str):
            raise UserError("lines: a list of lines is needed, not a text")
        limit = self.subword_limit(**search)
        parts = parts_of_sentences([self.subwords(line) for line in lines], limit, overlong)
        return self.translate_sentences(parts, **search)

    def subwords(self, line: str) -> List[str]:
        """The subwords of a raw line."""
        if shows_nothing(line):
            return []
        line = self._in_known_characters(drop_byte_order_mark(line))
        return self._text.encode(self._text.tokenize(line)).split()

    def subword_limit(self, **search: Any) -> int:
        """The largest number of subwords, without ``</s>``, of a sentence."""
        return min(self.options.changed(search).max_tokens, self.longest_source) - 1

    def translate_sentences(
        self,
        sentences: Sequence[Sequence[Sequence[str]]],
        progress: bool = False,
        random: Optional[np.random.Generator] = None,
        **search: Any,
    ) -> List[str]:
        """The raw translation of each sentence, which is a list of its parts in subwords.

        Args:
            progress: whether a long text gets a bar, on a terminal
            random: what ``sampling`` draws with; None for one of ``seed``, anew in each call
            search: fields of ``SearchOptions``
        """
        parts = [part for sentence in sentences for part in sentence]
        found = self.translate_tokens(parts, progress=progress, random=random, **search)
        best = (hypotheses[0] for hypotheses in found)
        texts = (" ".join(self.target.decode(each.tokens)) for each in best)
        words = map(self._text.decode, texts)
        joined = (self._text.separator.join(next(words) for _ in parts) for parts in sentences)
        return list(map(self._text.detokenize, joined))

    def translate_tokens(
        self,
        sentences: Sequence[Sequence[str]],
        prefix: Optional[Sequence[Sequence[str]]] = None,
        alignment: bool = False,
        progress: bool = False,
        random: Optional[np.random.Generator] = None,
        **search: Any,
    ) -> List[List[Hypothesis]]:
        """The ``nbest`` hypotheses of each sentence, the best first.

        Args:
            sentences: lists of subwords
            prefix: subwords that each translation starts with
            alignment: also the attention of each hypothesis
            progress: whether a long text gets a bar, on a terminal
            random: what ``sampling`` draws with; None for one of ``seed``, anew in each call
            search: fields of ``SearchOptions``
        """
        options = self.options.changed(search)
        random = random or np.random.default_rng(options.seed)
        sizes = len(self.target), self.longest_target
        prefix = [()] * len(sentences) if prefix is None else prefix
        check_subwords(sentences, prefix, self.longest_source - 1)
        encoded = [self.source.encode(sentence) for sentence in sentences]
        starts = [self.target.encode(words)[:-1] for words in prefix]
        found: Dict[int, List[Hypothesis]] = {}
        bar_off = None if progress and len(encoded) >= LONG_TEXT else True  # None: on a terminal
        with tqdm(total=len(encoded), unit="sentence", disable=bar_off) as bar:
            for batch in batches([len(tokens) for tokens in encoded], options.max_tokens):
                source = padded([encoded[number] for number in batch])
                start = padded([starts[number] for number in batch])
                search_now = BeamSearch(
                    self.models, options, source, *sizes, random, start, alignment
                )
                best = search_now.run()
                found.update((number, each[: options.nbest]) for number, each in zip(batch, best))
                bar.update(len(batch))
        return [found[number] for number in range(len(encoded))]


def text_processing(folder: Path, manifest: Manifest) -> TextProcessing:
    """With the pieces or the codes that are in a folder."""
    if PIECES in manifest.files:
        return with_pieces(manifest.target_lang, str(folder / PIECES), "--onnx")
    codes = str(folder / CODES) if CODES in manifest.files else None
    return with_codes(manifest.source_lang, manifest.target_lang, codes, manifest.moses)


def check_subwords(
    sentences: Sequence[Sequence[str]], prefix: Sequence[Sequence[str]], limit: int
) -> None:
    """Raise UserError for what cannot be searched."""
    longest = max(map(len, sentences), default=0)
    if longest > limit:
        raise UserError(f"a sentence has {longest} subwords, where the model takes {limit}")
    if len(prefix) != len(sentences):
        raise UserError(f"prefix: of {len(prefix)} sentences, where there are {len(sentences)}")
    special = {word for words in prefix for word in words} & {"<s>", "<pad>", "</s>"}
    if special:
        raise UserError(f"prefix: {special.pop()} is no part of a translation")


def batches(lengths: Sequence[int], max_tokens: int) -> Iterator[List[int]]:
    """Places of sentences of about the same length, the longest first.

    A batch has at most ``max_tokens`` tokens, with padding, or one sentence.
    """
    batch: List[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > max_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Rows of numbers ``(B, T)``, padded on the right."""
    table = np.full((len(rows), max(map(len, rows))), PAD)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table
