"""Build an ONNX graph node by node."""

import hashlib
from typing import Dict, List, Sequence, Union

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """A graph that grows by operators; values are named by strings.

    Args:
        name: of the graph; not shown to anybody
    """

    def __init__(self, name: str):
        self.name = name
        self.nodes: List[onnx.NodeProto] = []
        self.inputs: List[onnx.ValueInfoProto] = []
        self.outputs: List[onnx.ValueInfoProto] = []
        self.initializers: Dict[str, onnx.TensorProto] = {}
        self._constants: Dict[str, str] = {}
        self._names: Dict[str, str] = {}  # of outputs, whose values have others inside

    def input(self, name: str, kind: int, shape: Sequence[Union[int, str]]) -> str:
        """Declare an input; a dimension that is a word may have any size."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, name: str, kind: int, shape: Sequence[Union[int, str]]) -> None:
        """Declare that a value is an output, of this name."""
        self._names[value] = name
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def op(self, kind: str, *inputs: str, **attributes) -> str:
        """Add an operator with one result, whose name is returned."""
        (name,) = self.ops(kind, 1, *inputs, **attributes)
        return name

    def ops(self, kind: str, results: int, *inputs: str, **attributes) -> List[str]:
        """Add an operator with several results."""
        names = [f"{kind}_{len(self.nodes)}_{number}" for number in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names

    def split(self, value: str, parts: int, axis: int) -> List[str]:
        """Split into equal parts."""
        return self.ops("Split", parts, value, axis=axis)

    def weight(self, tensor: Union[torch.Tensor, numpy.ndarray]) -> str:
        """A constant tensor; equal ones are stored once."""
        if isinstance(tensor, torch.Tensor):
            tensor = tensor.detach().float().contiguous().numpy()
        array = numpy.ascontiguousarray(tensor)
        key = f"{array.dtype} {array.shape} {hashlib.sha256(array).hexdigest()}"
        if key not in self._constants:
            name = f"constant_{len(self.initializers)}"
            self._constants[key] = name
            self.initializers[name] = numpy_helper.from_array(array, name)
        return self._constants[key]

    def integers(self, *values: int) -> str:
        """A constant list of whole numbers, such as a shape."""
        return self.weight(numpy.array(values, dtype=numpy.int64))

    def number(self, value: float) -> str:
        """A constant float32 scalar."""
        return self.weight(numpy.array(value, dtype=numpy.float32))

    def reshape(self, value: str, *shape: int) -> str:
        """Reshape; 0 keeps a dimension, -1 stands for what is left."""
        return self.op("Reshape", value, self.integers(*shape))

    def transpose(self, value: str, *order: int) -> str:
        return self.op("Transpose", value, perm=list(order))

    def model(self) -> onnx.ModelProto:
        for node in self.nodes:
            node.input[:] = [self._names.get(name, name) for name in node.input]
            node.output[:] = [self._names.get(name, name) for name in node.output]
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, list(self.initializers.values())
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8)
