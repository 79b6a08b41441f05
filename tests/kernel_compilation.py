"""Compiles the kernels of attention as a training launches them, for a GPU that is not there.

    python tests/kernel_compilation.py COMPUTE_CAPABILITY,TYPE,TYPE_OF_SCORES,HEAD_DIM,LENGTH...

Prints a line of JSON for each case and kernel: registers of a thread, bytes that do not fit into
them, bytes of shared memory. To be run without TRITON_INTERPRET.
"""

import json
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

# Without the plugin's __init__: importing fairseq would take as long as compiling.
plugin = sys.modules["realformer_fairseq"] = types.ModuleType("realformer_fairseq")
plugin.__path__ = [str(Path(__file__).resolve().parent.parent / "realformer_fairseq")]

from realformer_fairseq.modules import fused_attention_gradients as gradients  # noqa: E402
from realformer_fairseq.modules import fused_attention_kernels as kernels  # noqa: E402
from realformer_fairseq.modules import fused_attention_operator as operator  # noqa: E402

KERNELS = (
    (kernels, "forward_kernel"),
    (gradients, "query_gradient_kernel"),
    (gradients, "key_gradient_kernel"),
)
OPTIONS = ("num_warps", "num_stages")
POINTERS = {
    torch.bool: "*i1",
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.float32: "*fp32",
}


class Recorder:
    """Stands for a kernel and notes what it is launched with."""

    def __init__(self, kernel):
        self.kernel, self.arguments = kernel, None

    def __getitem__(self, grid):
        return self

    def __call__(self, **arguments):
        assert arguments.keys() == {*self.kernel.arg_names, *OPTIONS}
        self.arguments = arguments

    def compile(self, capability):
        """The kernel for these arguments; torch aligns tensors to more than 16 bytes."""
        signature, constants, attributes = {}, {}, {}
        for place, name in enumerate(self.kernel.arg_names):
            value = self.arguments[name]
            if self.kernel.params[place].is_constexpr or value is None:
                signature[name], constants[name] = "constexpr", value
            elif isinstance(value, torch.Tensor):
                signature[name] = POINTERS[value.dtype]
                attributes[(place,)] = [["tt.divisibility", 16]]
            else:
                signature[name] = {int: "i32", float: "fp32"}[type(value)]
        return triton.compile(
            ASTSource(self.kernel, signature, constants, attributes),
            target=GPUTarget("cuda", capability, 32),
            options={name: self.arguments[name] for name in OPTIONS},
        )


def launched(dtype, scores_type, head_dim, length, sentences=2, heads=2):
    """All three kernels, with every part: a chain, both masks, dropout."""
    with torch.device("meta"):
        x = torch.empty(length, sentences, heads * head_dim, dtype=dtype)
        scores = torch.empty(sentences * heads, length, length, dtype=scores_type)
        future = torch.empty(length, length, dtype=dtype)
        padding = torch.empty(sentences, length, dtype=torch.bool)
    inputs = (x, x, x, scores, future, padding)
    numbers = (heads, 0.5, 0.5, 0.1, 3)
    output, _, row_statistics = operator.attend(*inputs, *numbers, scores_type)
    operator.attend_backward(x, scores, *inputs, output, row_statistics, *numbers)


def report_of_ptxas(assembly, capability):
    """Registers a thread, and bytes that do not fit into them."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(assembly)
        file.flush()
        target = f"--gpu-name=sm_{capability}{'a' if capability >= 90 else ''}"
        command = [get_ptxas(capability).path, "-v", target, file.name, "-o", "/dev/null"]
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    text = said.stdout + said.stderr
    spilt = re.findall(r"(\d+) bytes spill (?:stores|loads)", text)
    return int(re.search(r"Used (\d+) registers", text)[1]), sum(map(int, spilt))


def main(cases):
    recorders = [Recorder(getattr(module, name)) for module, name in KERNELS]
    for recorder, (module, name) in zip(recorders, KERNELS):
        setattr(module, name, recorder)
    for case in cases:
        capability, dtype, scores_type, head_dim, length = case.split(",")
        launched(getattr(torch, dtype), getattr(torch, scores_type), int(head_dim), int(length))
        for recorder in recorders:
            if recorder.arguments is None:
                continue
            compiled = recorder.compile(int(capability))
            registers, spilt = report_of_ptxas(compiled.asm["ptx"], int(capability))
            found = dict(case=case, kernel=recorder.kernel.__name__, registers=registers)
            print(json.dumps({**found, "spilt": spilt, "shared": compiled.metadata.shared}))
            recorder.arguments = None


if __name__ == "__main__":
    main(sys.argv[1:])
