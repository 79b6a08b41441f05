"""Export of trained models as ONNX graphs, for ``realformer_runtime.engine``."""
