"""The graphs of an exported model with 8-bit integers in place of float32 in linear layers."""

import logging
from pathlib import Path

from onnxruntime.quantization import QuantType, quantize_dynamic

from realformer_runtime.engine.model_folder import DECODER, DECODER_INT8, ENCODER, ENCODER_INT8


def quantize_graphs(folder: Path) -> None:
    """Write the graphs with integers beside those without.

    Weights have a scale for each output, activations one for each product, found as it is computed.
    """
    logging.getLogger().setLevel(logging.ERROR)  # onnxruntime advises another preparation
    for source, target in ((ENCODER, ENCODER_INT8), (DECODER, DECODER_INT8)):
        quantize_dynamic(
            folder / source,
            folder / target,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},  # attention's own products stay float32
        )
