"""Translation with an exported model: onnxruntime and numpy, neither torch nor fairseq."""
