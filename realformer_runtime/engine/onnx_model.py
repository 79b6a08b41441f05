"""One exported model: its graphs in onnxruntime, and the state of a batch while it is decoded."""

from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

import numpy as np
from onnxruntime import InferenceSession, OrtValue, SessionOptions

from ..command_line import UserError
from .model_folder import DECODER, DECODER_INT8, ENCODER, ENCODER_INT8

PROVIDERS = ["CPUExecutionProvider"]


def open_session(path: Path, threads: int) -> InferenceSession:
    """A graph ready to run.

    Args:
        threads: 0 for onnxruntime's choice
    """
    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Threads spin for the next operator, which is faster, but not for the next step.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        return InferenceSession(str(path), options, providers=PROVIDERS)
    except Exception as error:  # of onnxruntime, which has a type for each of its reasons
        raise UserError(f"{path}: onnxruntime cannot read it: {error}") from None


class Step(NamedTuple):
    """What one step finds for the ``R`` rows.

    ``best``, log-probabilities, and ``best_tokens`` are ``(R, count)``, ``logits`` ``(R, V)`` and
    ``attn`` ``(R, S)``.
    """

    best: np.ndarray
    best_tokens: np.ndarray
    logits: OrtValue
    attn: Optional[np.ndarray]


class OnnxModel:
    """The graphs of an exported model (``realformer_fairseq/export``).

    Raises:
        UserError: there are none with 8-bit integers, or onnxruntime cannot read them
    """

    def __init__(self, folder: Path, threads: int, int8: bool = False):
        encoder, decoder = (ENCODER_INT8, DECODER_INT8) if int8 else (ENCODER, DECODER)
        if int8 and not (folder / decoder).exists():
            raise UserError(f"--int8: '{folder}' was exported without --int8")
        self.encoder = open_session(folder / encoder, threads)
        self.decoder = open_session(folder / decoder, threads)
        inputs = {value.name: value.shape for value in self.decoder.get_inputs()}
        self.cache_shapes = {n: s for n, s in inputs.items() if n.startswith("cache_")}
        self.encoder_outputs = [value.name for value in self.encoder.get_outputs()]

    def start(self, tokens: np.ndarray, mask: np.ndarray) -> "Decoding":
        """Encode a batch.

        Args:
            tokens: ``(B, S)``, whole numbers
            mask: ``(B, S)``, 1 at words and 0 at padding
        """
        feeds = on_device(tokens=tokens, mask=mask)
        found = self.encoder.run_with_ort_values(self.encoder_outputs, feeds)
        return Decoding(self, dict(zip(self.encoder_outputs, found)), len(tokens))


class Decoding:
    """What a model knows of a batch between two steps. Its caches stay in onnxruntime."""

    def __init__(self, model: OnnxModel, encoded: Dict[str, OrtValue], batch: int):
        self.model = model
        self.encoded = encoded
        self.caches = on_device(
            **{
                name: np.zeros((batch, heads, 0, size), np.float32)
                for name, (_, heads, _, size) in model.cache_shapes.items()
            }
        )

    def keep_sentences(self, kept: np.ndarray) -> None:
        """Go on with some sentences of the batch, whose places are given."""
        rest = {name: value.numpy()[kept] for name, value in self.encoded.items()}
        self.encoded = on_device(**rest)

    def step(
        self,
        tokens: np.ndarray,
        parents: np.ndarray,
        position: int,
        count: int,
        attn: bool,
    ) -> Step:
        """Add a token to each row.

        Args:
            tokens: ``(R,)``
            parents: ``(R,)``, the rows of the step before that the rows continue
            position: of the tokens in their sentences, from 0
            count: how many of the best words of each row are wanted
            attn: whether the attention to the source is wanted
        """
        feeds = on_device(
            tokens=tokens,
            parents=parents,
            position=np.array([position]),
            count=np.array([count]),
        )
        names: List[str] = ["best", "best_tokens", "logits"] + ["attn"] * attn
        wanted = [*names, *(f"new_{name}" for name in self.caches)]
        feeds.update(self.encoded)
        feeds.update(self.caches)
        found = self.model.decoder.run_with_ort_values(wanted, feeds)
        self.caches = dict(zip(self.caches, found[len(names) :]))
        best, best_tokens, logits = found[:3]
        weights = found[3].numpy() if attn else None
        return Step(best.numpy(), best_tokens.numpy(), logits, weights)


def on_device(**arrays: np.ndarray) -> Dict[str, OrtValue]:
    return {name: OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}
