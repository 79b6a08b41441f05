"""Beam search with the hypotheses of fairseq's ``SequenceGenerator``, in numpy."""

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

import numpy as np

from ..command_line import UserError
from .choices import Candidates, Sampler, allowed, best_of_all, best_of_rows
from .constraints import (
    EOS,
    PAD,
    UNK,
    block_repeated_ngrams,
    force_prefix,
    log_softmax,
    mean_of_models,
)
from .onnx_model import OnnxModel, Step
from .search_options import SearchOptions


@dataclass
class Hypothesis:
    """A translation.

    Args:
        tokens: numbers in the dictionary, ``(T,)``, the last is ``</s>``
        score: the sum of their log-probabilities, divided by ``T ** lenpen``
        positional_scores: log-probability of each, ``(T,)``
        attention: to the source, ``(S, T)``, the mean of the last layer's heads, if asked for
    """

    tokens: np.ndarray
    score: float
    positional_scores: np.ndarray
    attention: Optional[np.ndarray] = None

    @property
    def alignment(self) -> List[Tuple[int, int]]:
        """Source and target place of each subword, as ``--print-alignment hard`` of fairseq."""
        if self.attention is None or len(self.attention) < 2:
            return []
        places = self.attention[:-1, :-1].argmax(axis=0)  # neither </s> is aligned
        return [(place, number) for number, place in enumerate(places.tolist())]


class BeamSearch:
    """A search in one batch. Rows are the hypotheses in work, ``beam`` neighbours a sentence.

    Args:
        models: several are an ensemble
        source: ``(B, S)``, with ``</s>``, padded on the right
        vocabulary: size of the target dictionary
        longest: the largest number of tokens that all models can write
        random: what ``sampling`` draws with
        prefix: ``(B, any)``, tokens that translations start with, padded on the right
        attention: whether hypotheses get theirs
    """

    def __init__(
        self,
        models: Sequence[OnnxModel],
        options: SearchOptions,
        source: np.ndarray,
        vocabulary: int,
        longest: int,
        random: np.random.Generator,
        prefix: Optional[np.ndarray] = None,
        attention: bool = False,
    ):
        batch, length = source.shape
        self.options = options
        self.vocabulary = vocabulary
        self.beam = min(options.beam, vocabulary - 1)
        present = source != PAD
        self.lengths = present.sum(axis=1)
        self.max_len = min(int(options.max_len_a * length + options.max_len_b), longest - 1)
        if options.match_source_len:
            self.max_len = min(int(self.lengths.max()), longest - 1)
        if options.min_len > self.max_len:
            raise UserError(f"min_len: {options.min_len} is above the limit of {self.max_len}")
        self.decodings = [model.start(source, present.astype(np.float32)) for model in models]
        self.finished: List[List[Hypothesis]] = [[] for _ in range(batch)]
        self.sentences = np.arange(batch)  # places in the batch of those that are not done
        self.prefix = np.zeros((batch, 0), np.int64) if prefix is None else prefix
        self.sampler = Sampler(options, random) if options.sampling else None
        self.tokens = np.full((batch * self.beam, self.max_len + 2), PAD)
        self.tokens[:, 0] = EOS
        self.scores = np.zeros((batch * self.beam, self.max_len + 1), np.float32)  # cumulative
        self.ignored = np.zeros((batch, self.beam), bool)  # ended, but kept in the batch
        self.parents = np.arange(batch)
        size = self.max_len + 2 if attention else 0
        self.attention = np.zeros((batch * self.beam, length, size), np.float32)

    def run(self) -> List[List[Hypothesis]]:
        """The hypotheses of each sentence, the best first."""
        for step in range(self.max_len + 1):
            if not self._advance(step):
                break
        for found in self.finished:
            if not found:
                raise UserError("the options of the search leave a sentence without translation")
            found.sort(key=lambda hypothesis: -hypothesis.score)
        return self.finished

    def _forced(self, step: int) -> bool:
        return step < self.prefix.shape[1] and step < self.max_len

    def _candidates(self, step: int) -> Candidates:
        """The continuations of each sentence. In the first step all its rows are the same."""
        batch, beam = len(self.sentences), self.beam
        rows = slice(None, None, beam) if step == 0 else slice(None)
        before = self.scores[:, step - 1] if step else None
        found = self._step(step, rows)
        # As fairseq: never all of them, since padding is never chosen.
        count = min(2 * beam, (beam if step else 1) * self.vocabulary - 1)
        if self._best_suffice(step):
            best = allowed(found[0].best, found[0].best_tokens, self._forbidden(step))
            return best_of_rows(*best, before, batch, count)
        lprobs = self._log_probabilities(step, rows, found)
        if self.sampler is not None:
            return self.sampler(lprobs, before, batch, beam)
        return best_of_all(lprobs, before, batch, count)

    def _step(self, step: int, rows: slice) -> List[Step]:
        """A step of each model."""
        tokens = np.ascontiguousarray(self.tokens[rows, step])
        # More than are kept, since some of them may be forbidden.
        count = min(2 * self.beam + 2, self.vocabulary)
        wanted = self.attention.shape[2] > 0
        found = [each.step(tokens, self.parents, step, count, wanted) for each in self.decodings]
        if wanted:
            attn = np.mean([each.attn for each in found], axis=0)
            repeated = attn.repeat(self.beam, axis=0) if step == 0 else attn
            self.attention[:, :, step + 1] = repeated
        return found

    def _best_suffice(self, step: int) -> bool:
        """Whether the best words of each row are enough to choose from."""
        options = self.options
        plain = options.temperature == 1 and not (options.no_repeat_ngram_size or options.unkpen)
        one = len(self.decodings) == 1 and self.sampler is None
        return plain and one and step < self.max_len and not self._forced(step)

    def _forbidden(self, step: int) -> Tuple[int, ...]:
        return (PAD, EOS) if step < self.options.min_len and not self._forced(step) else (PAD,)

    def _log_probabilities(self, step: int, rows: slice, found: Sequence[Step]) -> np.ndarray:
        """Of all words, ``(R, V)``, changed as the options of the search want."""
        options = self.options
        lprobs = mean_of_models(
            [log_softmax(each.logits.numpy() / np.float32(options.temperature)) for each in found]
        )
        lprobs[np.isnan(lprobs)] = -np.inf
        lprobs[:, self._forbidden(step)] = -np.inf
        lprobs[:, UNK] -= options.unkpen
        if step >= self.max_len:
            lprobs[:, :EOS] = lprobs[:, EOS + 1 :] = -np.inf
        if self._forced(step):
            forced = self.prefix[:, step]
            force_prefix(lprobs, forced if step == 0 else forced.repeat(self.beam))
        elif options.no_repeat_ngram_size:
            history = self.tokens[rows, 1 : step + 1]
            block_repeated_ngrams(lprobs, history, options.no_repeat_ngram_size)
        return lprobs

    def _advance(self, step: int) -> bool:
        """Add a token to every hypothesis; false when no sentence is left."""
        beam = self.beam
        scores, words, beams = self._candidates(step)
        ends = (words == EOS) & (scores != -np.inf)
        ends[:, :beam] &= ~self.ignored
        rows = beams + np.arange(len(beams))[:, None] * beam
        if ends[:, :beam].any():  # only an end among the best `beam` candidates counts
            kept = self._finish(step, ends[:, :beam], rows, scores)
            if not len(kept):
                return False
            if len(kept) < len(rows):
                scores, words, rows, ends = (each[kept] for each in (scores, words, rows, ends))
                self._keep_sentences(kept)
        ends[:, :beam] |= self.ignored
        # The best that have not ended, then, to fill the beam, others, which are ignored.
        order = np.argsort(ends, axis=1, kind="stable")[:, :beam]
        places = np.arange(len(rows))[:, None]
        self.ignored = ends[places, order]
        chosen = rows[places, order].ravel()
        self.tokens = self.tokens[chosen]
        self.tokens[:, step + 1] = words[places, order].ravel()
        self.scores = self.scores[chosen]
        self.scores[:, step] = scores[places, order].ravel()
        if self.attention.shape[2]:
            self.attention = self.attention[chosen]
        self.parents = chosen // beam if step == 0 else chosen
        return True

    def _keep_sentences(self, kept: np.ndarray) -> None:
        """Go on with some sentences, whose places are given."""
        self.ignored, self.sentences = self.ignored[kept], self.sentences[kept]
        self.lengths, self.prefix = self.lengths[kept], self.prefix[kept]
        for decoding in self.decodings:
            decoding.keep_sentences(kept)

    def _finish(
        self, step: int, ends: np.ndarray, rows: np.ndarray, scores: np.ndarray
    ) -> np.ndarray:
        """Collect the hypotheses that have ended; returns the places of sentences to go on with."""
        kept = []
        for place, sentence in enumerate(self.sentences):
            found = self.finished[sentence]
            for column in np.flatnonzero(ends[place])[: self.beam - len(found)]:
                found.append(
                    self._hypothesis(step, place, rows[place, column], scores[place, column])
                )
            if not ends[place].any() or (len(found) < self.beam and step < self.max_len):
                kept.append(place)
        return np.array(kept, np.int64)

    def _hypothesis(self, step: int, place: int, row: int, total: np.float32) -> Hypothesis:
        tokens = np.append(self.tokens[row, 1 : step + 1], EOS)
        sums = np.append(self.scores[row, :step], total)
        score = total if self.options.unnormalized else total / (step + 1) ** self.options.lenpen
        if self.options.match_source_len and step > self.lengths[place]:
            score = -np.inf
        attention = None
        if self.attention.shape[2]:
            attention = self.attention[row, : self.lengths[place], 1 : step + 2].copy()
        return Hypothesis(tokens, float(score), np.diff(sums, prepend=0), attention)
