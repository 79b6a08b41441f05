"""Translation from Python: what ``RealFormerModel.from_pretrained`` returns."""

from typing import List, Sequence, Union

from fairseq.hub_utils import GeneratorHubInterface

from .overlong_sentences import SPLIT, parts_of_sentences
from .translation import BEAM, LENPEN


class TranslationHub(GeneratorHubInterface):
    """fairseq's interface, with ``translate`` doing what ``scripts/translate.sh`` does."""

    @classmethod
    def of(cls, hub: GeneratorHubInterface) -> "TranslationHub":
        """From what fairseq's ``from_pretrained`` returns."""
        return cls(hub.cfg, hub.task, list(hub.models))

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
            UserError: a sentence is too long, with ``overlong="error"``
        """
        if isinstance(sentences, str):
            return self.translate([sentences], beam, verbose, lenpen, overlong, **generation)[0]
        encoded = [self.apply_bpe(self.tokenize(sentence)).split() for sentence in sentences]
        parts = parts_of_sentences(encoded, self.subword_limit(), overlong)
        tensors = [self.binarize(" ".join(part)) for found in parts for part in found]
        options = {"max_len_a": 1, "lenpen": lenpen, **generation}
        hypotheses = iter(self.generate(tensors, beam, verbose, **options) if tensors else ())
        return [self.text_of([next(hypotheses)[0]["tokens"] for _ in found]) for found in parts]

    def text_of(self, parts) -> str:
        """Raw text of the tokens of a sentence's parts."""
        return self.detokenize(self.remove_bpe(" ".join(map(self.string, parts)))) if parts else ""

    def subword_limit(self) -> int:
        """The largest number of subwords, without ``</s>``, that models and a batch can take."""
        limits = [self.max_positions[0], self.cfg.dataset.max_tokens]
        return int(min(limit for limit in limits if limit)) - 1
