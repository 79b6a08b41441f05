"""The masked language model from Python: what ``RealFormerMaskedLM.from_pretrained`` returns."""

import os
from typing import Any, Dict, List, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from fairseq import hub_utils, utils
from fairseq.data import encoders
from fairseq.dataclass.utils import overwrite_args_by_name
from fairseq.models.roberta import RobertaHubInterface, RobertaModel
from fairseq.registry import REGISTRIES
from omegaconf import DictConfig, open_dict
from torch import Tensor

from realformer_runtime.command_line import UserError

from .hub_files import check_files
from .hub_interface import check_model

MASK = "<mask>"
# In the folder of the model or of its dictionary; fairseq knows the first, in the former.
FILES = {"code": "bpe_codes", "vocab.txt": "wordpiece_vocab"}


def load_hub(folder: str, checkpoint_file: str, data_name_or_path: str, **options) -> "MaskedLMHub":
    """As ``RobertaModel.from_pretrained``, with the tokenizer and BPE that the checkpoint stores.

    Args:
        options: may have ``tokenizer`` and ``bpe``, None for none, which replace what is stored

    Raises:
        UserError: naming a file that is missing or no checkpoint, or another model
    """
    check_files(folder, checkpoint_file, data_name_or_path, **options)
    data = os.path.join(folder, data_name_or_path) if data_name_or_path[:1] == "." else ""
    data = data or data_name_or_path.split(os.pathsep)[0]
    if os.path.isdir(folder) and "://" not in data and not os.path.exists(data):
        raise UserError(f"data_name_or_path: no such folder: '{data}'")
    options = {**files_in(folder, data), **options}
    chosen = {kind: options.pop(kind) for kind in ("tokenizer", "bpe") if kind in options}
    try:
        found = hub_utils.from_pretrained(
            folder, checkpoint_file, data_name_or_path, load_checkpoint_heads=True, **options
        )
    except FileNotFoundError as error:  # a dictionary's
        raise UserError(f"data_name_or_path: no such file: '{error.filename}'") from None
    check_model(found["models"][0], RobertaModel, "masked language model")
    for kind, name in chosen.items():
        choose(found["args"], kind, name, options)
    return MaskedLMHub(found["args"], found["task"], found["models"][0])


def files_in(*folders: str) -> Dict[str, str]:
    """The path of each of ``FILES`` in the first folder that has it, by option."""
    found: Dict[str, str] = {}
    for folder in folders:
        for name, option in FILES.items():
            path = os.path.abspath(os.path.join(folder, name))
            if os.path.isfile(path):
                found.setdefault(option, path)
    return found


def choose(cfg: DictConfig, kind: str, name: Optional[str], options: Dict[str, Any]) -> None:
    """Replace a tokenizer or a BPE. fairseq keeps one that is stored, whatever the name given.

    Raises:
        UserError: naming those that there are
    """
    known = REGISTRIES[kind]["registry"]
    if name is not None and name not in known:
        raise UserError(f"{kind}: '{name}' is none of {', '.join(sorted(known))}")
    with open_dict(cfg):
        cfg[kind] = None
    overwrite_args_by_name(cfg, {**options, kind: name})


class Subwords:
    """Raw text to what the dictionary has, and back: a tokenizer and a BPE, each may be None."""

    def __init__(self, tokenizer, bpe):
        self.steps = [step for step in (tokenizer, bpe) if step is not None]

    def encode(self, text: str) -> str:
        for step in self.steps:
            text = step.encode(text)
        return text

    def decode(self, text: str) -> str:
        for step in reversed(self.steps):
            text = step.decode(text)
        return text

    def added_to(self, left: str, piece: str) -> str:
        """What a piece adds to the text of those on its left, with a space if a word starts."""
        before, after = self.decode(left), self.decode(f"{left} {piece}".strip())
        return after[len(before) :] if after.startswith(before) else f" {self.decode(piece)}"

    def ends_a_word(self, piece: str, right: str) -> bool:
        """Whether a space is between a piece and those on its right."""
        alone, whole = self.decode(piece), self.decode(f"{piece} {right}".strip())
        return not whole.startswith(alone) or not whole[len(alone) :][:1].strip()


class MaskedLMHub(RobertaHubInterface):
    """fairseq's interface for RoBERTa, with segments, and for any tokenizer and BPE."""

    def __init__(self, cfg, task, model):
        try:
            super().__init__(cfg, task, model)
            self.bpe = Subwords(encoders.build_tokenizer(cfg.tokenizer), self.bpe)
        except OSError as error:  # has no filename where fairseq looks for the file
            raise UserError(f"tokenizer or bpe: {error}") from None

    def extract_features(
        self,
        tokens: Tensor,
        return_all_hiddens: bool = False,
        token_types: Optional[Tensor] = None,
    ) -> Union[Tensor, List[Tensor]]:
        """Features ``(B, T, C)``, or a list of the input and the output of each layer.

        Args:
            tokens: ``(T,)`` or ``(B, T)``
            token_types: the segment of each token; default as the model counts them

        Raises:
            ValueError: longer than the model's limit, or a segment that the model has not
        """
        tokens = self.batch_of(tokens)
        if token_types is not None:
            token_types = token_types.reshape(tokens.shape).to(self.device)
            self.check_segments(token_types)
        features, extra = self.model(
            tokens,
            features_only=True,
            return_all_hiddens=return_all_hiddens,
            token_types=token_types,
        )
        if return_all_hiddens:
            return [state.transpose(0, 1) for state in extra["inner_states"]]
        return features

    def check_segments(self, token_types: Tensor) -> None:
        table = getattr(self.model.encoder, "embed_token_types", None)
        last = table.num_embeddings - 1 if table else 0
        if table and not 0 <= int(token_types.min()) <= int(token_types.max()) <= last:
            raise ValueError(f"token_types: the model's segments are 0 to {last}")

    def batch_of(self, tokens: Tensor) -> Tensor:
        """Tokens ``(B, T)`` on the model's device, if they are not too many."""
        limit = self.model.max_positions()
        if tokens.size(-1) > limit:
            raise ValueError(f"{tokens.size(-1)} tokens are more than the model's limit of {limit}")
        return (tokens[None] if tokens.dim() == 1 else tokens).to(self.device)

    def predict(
        self,
        head: str,
        tokens: Tensor,
        return_logits: bool = False,
        token_types: Optional[Tensor] = None,
    ) -> Tensor:
        """What a classification head says, ``(B, classes)``: logarithms of probabilities.

        Args:
            return_logits: leave the softmax out, as for a regression
            tokens, token_types: see :meth:`extract_features`

        Raises:
            UserError: naming the heads that there are
        """
        if head not in self.model.classification_heads:
            heads = ", ".join(self.model.classification_heads) or "none"
            raise UserError(f"predict: no classification head '{head}'; there are: {heads}")
        features = self.extract_features(tokens, token_types=token_types)
        logits = self.model.classification_heads[head](features)
        return logits if return_logits else F.log_softmax(logits, dim=-1)

    def fill_mask(self, masked_input: str, topk: int = 5) -> List[Tuple[str, float, str]]:
        """The most probable words or pieces of words in the place of ``<mask>``.

        Returns:
            for each the filled text, the probability, and the piece

        Raises:
            UserError: the text has no ``<mask>``, or several
        """
        spans = masked_input.split(MASK)
        if len(spans) != 2:
            raise UserError(f"fill_mask: '{masked_input}' has {len(spans) - 1} {MASK}, not one")
        left, right = (self.bpe.encode(span.rstrip()).strip() for span in spans)
        dictionary = self.task.source_dictionary
        tokens = dictionary.encode_line(
            f"<s> {left} {MASK} {right} </s>", append_eos=False, add_if_not_exist=False
        ).long()
        place = 1 + len(left.split())
        with utils.model_eval(self.model), torch.no_grad():
            logits, _ = self.model(self.batch_of(tokens))
        probabilities = logits[0, place].softmax(dim=0)
        probabilities[[dictionary.bos(), dictionary.pad(), dictionary.eos()]] = -1  # are no text
        found = []
        best = probabilities.topk(min(topk, len(probabilities) - 3))
        for probability, number in zip(*(values.tolist() for values in best)):
            piece = dictionary[number]
            after = spans[1] if self.bpe.ends_a_word(piece, right) else spans[1].lstrip()
            text = spans[0].rstrip() + self.bpe.added_to(left, piece) + after
            found.append((text, probability, self.bpe.decode(piece)))
        return found
