"""Translation from Python: what ``RealFormerModel.from_pretrained`` returns."""

import functools
import inspect
from typing import Callable, Dict, List, Sequence, Union

import torch
from fairseq import utils
from fairseq.data import LanguagePairDataset
from fairseq.hub_utils import GeneratorHubInterface
from fairseq.models import FairseqEncoderModel, FairseqLanguageModel
from fairseq.sequence_scorer import SequenceScorer
from torch import Tensor, nn

from realformer_runtime.command_line import UserError
from realformer_runtime.text.known_characters import in_known_characters
from realformer_runtime.text.overlong_sentences import SPLIT, parts_of_sentences
from realformer_runtime.text.utf8_lines import drop_byte_order_mark, shows_nothing

from .generation_options import check_effect, check_generation

BEAM, LENPEN = 5, 0.8  # of the recipes for WMT'14 English-French

# Their dictionaries have the characters of the text; None is that of scripts/translate.sh.
BPE_OF_CHARACTERS = (None, "subword_nmt", "fastbpe", "sentencepiece")


def check_model(model: nn.Module, accepted: type, kind: str) -> None:
    """Refuse a checkpoint of a model that has not the methods that it is loaded for."""
    if not isinstance(model, accepted):
        name = type(model).__name__
        raise UserError(f"a {name} is no {kind}: load it by {name}.from_pretrained")


def step_without_ids(step: Callable, generator, models, sample: Dict, **options):
    """``inference_step``. Diverse beam search would take sentences' ids for places in a batch."""
    sample = {name: value for name, value in sample.items() if name != "id"}
    return step(generator, models, sample, **options)


def without_ids(hub: GeneratorHubInterface) -> GeneratorHubInterface:
    """The interface, whose task now steps by :func:`step_without_ids`."""
    hub.task.inference_step = functools.partial(step_without_ids, hub.task.inference_step)
    return hub


class TranslationHub(GeneratorHubInterface):
    """fairseq's interface, with ``translate`` doing what ``scripts/translate.sh`` does."""

    separator = " "  # joins the translated parts of a long sentence

    @classmethod
    def of(cls, hub: GeneratorHubInterface) -> "TranslationHub":
        """From what fairseq's ``from_pretrained`` returns.

        Raises:
            UserError: a model does not translate
        """
        for model in hub.models:
            if isinstance(model, (FairseqEncoderModel, FairseqLanguageModel)):
                name = type(model).__name__
                raise UserError(f"a {name} does not translate: load it by {name}.from_pretrained")
        hub.__class__ = cls
        if getattr(hub.cfg.bpe, "_name", None) == "sentencepiece":
            from realformer_runtime.text.text_processing import separator

            hub.separator = separator(getattr(hub.task.cfg, "target_lang", None))
        return without_ids(hub)

    def translate(
        self,
        sentences: Union[str, Sequence[str]],
        beam: int = BEAM,
        verbose: bool = False,
        lenpen: float = LENPEN,
        overlong: str = SPLIT,
        **generation,
    ) -> Union[str, List[str]]:
        """Raw text to raw text, in order; an empty sentence stays empty.

        Args:
            sentences: one or several
            beam: size of the beam
            verbose: log scores, as fairseq does
            lenpen: length penalty
            overlong: sentences longer than the model can read are translated in parts
                (``split``), left empty (``skip``) or refused (``error``)
            generation: other options of fairseq-generate, with underscores

        Raises:
            UserError: a sentence is too long, with ``overlong="error"``, or an option is none
        """
        ours = inspect.signature(GeneratorHubInterface.generate).parameters
        options = {name: value for name, value in generation.items() if name not in ours}
        check_generation({**options, "beam": beam, "lenpen": lenpen})
        check_effect(options)
        if isinstance(sentences, str):
            return self.translate([sentences], beam, verbose, lenpen, overlong, **generation)[0]
        encoded = [self.subwords(sentence) for sentence in sentences]
        parts = parts_of_sentences(encoded, self.subword_limit(), overlong)
        options = {"max_len_a": 1, "lenpen": lenpen, **generation}
        return self.translate_sentences(parts, beam, verbose, **options)

    @functools.cached_property
    def _in_known_characters(self) -> Callable[[str], str]:
        return in_known_characters(self.src_dict.symbols)

    def tokenize(self, sentence: str) -> str:
        """As fairseq, once the sentence is rid of characters that the model need not know."""
        if getattr(self.cfg.bpe, "_name", None) in BPE_OF_CHARACTERS:
            sentence = self._in_known_characters(sentence)
        return super().tokenize(sentence)

    def subwords(self, sentence: str) -> List[str]:
        if shows_nothing(sentence):
            return []
        return self.apply_bpe(self.tokenize(drop_byte_order_mark(sentence))).split()

    def translate_sentences(
        self, sentences: Sequence[Sequence[Sequence[str]]], *args, **generation
    ) -> List[str]:
        """The raw translation of each sentence.

        Args:
            sentences: of each its parts, which are lists of subwords
            args, generation: as of ``generate``
        """
        parts = [part for sentence in sentences for part in sentence]
        found = iter(self.translate_parts(parts, *args, **generation))
        joined = (self.separator.join(next(found) for _ in parts) for parts in sentences)
        return list(map(self.detokenize, joined))

    def translate_parts(self, parts: Sequence[Sequence[str]], *args, **generation) -> List[str]:
        """The best translation of each list of subwords, in words."""
        tensors = [self.binarize(" ".join(part)) for part in parts]
        hypotheses = self.generate(tensors, *args, **generation) if tensors else ()
        return [self.remove_bpe(self.string(found[0]["tokens"])) for found in hypotheses]

    def score(
        self, sentences: Union[str, Sequence[str]], translations: Union[str, Sequence[str]]
    ) -> Union[Dict[str, Tensor], List[Dict[str, Tensor]]]:
        """How probable given translations are. fairseq's own ``score`` is for language models.

        Args:
            sentences: raw text, one or several
            translations: raw text, as many

        Returns:
            for each pair ``tokens`` ``(T,)``, the last of which is ``</s>``; the natural logarithms
            of their probabilities, ``positional_scores`` ``(T,)``; and the mean of these, ``score``

        Raises:
            UserError: another number of translations than of sentences, or a pair is too long
        """
        if isinstance(sentences, str) and isinstance(translations, str):
            return self.score([sentences], [translations])[0]
        if isinstance(sentences, str) or isinstance(translations, str):
            raise UserError("give both sentences and translations as text, or both as lists")
        if len(sentences) != len(translations):
            raise UserError(f"{len(sentences)} sentences, but {len(translations)} translations")
        return [self._score_pair(*pair) for pair in zip(sentences, translations)]

    def _score_pair(self, sentence: str, translation: str) -> Dict[str, Tensor]:
        # Not of this class: that asks what characters the source dictionary has.
        tokenize = getattr(self.tokenizer, "encode_target", super().tokenize)
        words = self.apply_bpe(tokenize(translation))
        source = self.encode(sentence)
        target = self.tgt_dict.encode_line(words, add_if_not_exist=False).long()
        texts = (sentence, translation)
        for tokens, limit, text in zip((source, target), self.max_positions, texts):
            if len(tokens) > limit:
                raise UserError(f"longer than the limit of {limit - 1} subwords: '{text[:60]}'")
        dataset = LanguagePairDataset(
            [source], [len(source)], self.src_dict, [target], [len(target)], self.tgt_dict
        )
        sample = utils.apply_to_sample(lambda t: t.to(self.device), dataset.collater([dataset[0]]))
        with torch.no_grad():
            ((scored,),) = SequenceScorer(self.tgt_dict).generate(list(self.models), sample)
        return {name: scored[name] for name in ("tokens", "positional_scores", "score")}

    def subword_limit(self) -> int:
        """The largest number of subwords, without ``</s>``, that models and a batch can take."""
        limits = [self.max_positions[0], self.cfg.dataset.max_tokens]
        return int(min(limit for limit in limits if limit)) - 1
