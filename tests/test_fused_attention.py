"""Attention in one kernel equals that of single operations.

Without a GPU Triton interprets the kernels on the CPU; with one it compiles them.
"""

import importlib.util
import itertools
import json
import os
import re
import sys
from types import SimpleNamespace

import pytest
import torch
from conftest import PROJECT, run
from models import assert_close, batch, build, logits, without_dropout

from realformer_fairseq.modules import (
    fused_attention,
    fused_attention_launch,
    fused_attention_operator,
)
from realformer_fairseq.modules.fused_attention_operator import OPERATORS
from realformer_fairseq.modules.residual_attention import ResidualMultiheadAttention
from realformer_fairseq.training.kernel_checks import attention_kernel

if importlib.util.find_spec("triton") is None:
    pytest.skip("triton is not installed (pip install '.[kernel]')", allow_module_level=True)


LARGEST_BLOCK = fused_attention_launch.largest_block
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
interpreted_only = pytest.mark.skipif(DEVICE == "cuda", reason="for machines without a GPU")


def is_triton(module):
    """Whether it makes the kernels or has some; not Triton's own library, which loads once."""
    names = re.match(r"triton(?!\._C)(\.|$)|.*\.fused_attention_(kernels|gradients)$", module)
    return names is not None


@pytest.fixture(autouse=True, scope="module")
def interpreted():
    """Triton imported afresh: it reads the variable then, and torch's optimizers import it."""
    with pytest.MonkeyPatch.context() as patch:
        if DEVICE == "cpu":
            patch.setenv("TRITON_INTERPRET", "1")
            for module in filter(is_triton, list(sys.modules)):
                patch.delitem(sys.modules, module)
        for module in (fused_attention_launch, fused_attention_operator):
            patch.setattr(module, "largest_block", lambda *_: 16)  # several a sentence
        fused_attention.lacking.cache_clear()
        yield
    fused_attention.lacking.cache_clear()


@pytest.fixture
def calls(monkeypatch):
    """The scores' types of the calls of the kernel."""
    found = []

    def launch(*args, **arguments):
        scores = arguments.get("scores")
        found.append(scores if scores is None else scores.dtype)
        original(*args, **arguments)

    original = fused_attention_launch.launch
    monkeypatch.setattr("realformer_fairseq.modules.fused_attention_operator.launch", launch)
    return found


FUTURE = torch.triu(torch.full((17, 17), float("-inf")), 1)
PADDING = torch.zeros(2, 17, dtype=torch.bool)
PADDING[0, :3] = True  # on the left, so that with FUTURE the first rows see no key
PADDING[1] = True
CASES = {
    "one-sentence": dict(batch=1, query=5, key=18, head_dim=4),
    "cross": dict(batch=2, query=18, key=17, head_dim=20, key_padding_mask=PADDING),
    "future": dict(batch=2, query=17, key=17, head_dim=16, attn_mask=FUTURE),
    "both-masks": dict(
        batch=2, query=17, key=17, head_dim=3, attn_mask=FUTURE, key_padding_mask=PADDING
    ),
}


def two_layers(kernel, mode, case, is_last, dtype=torch.float32, dropout=0.0):
    """Outputs, scores and all gradients of two attentions, the scores of one in the other."""
    torch.manual_seed(1)
    case = dict(case)
    size, sentences, heads = 2 * case.pop("head_dim"), case.pop("batch"), 2
    x = torch.randn(case.pop("query"), sentences, size).to(DEVICE, dtype).requires_grad_()
    y = torch.randn(case.pop("key"), sentences, size).to(DEVICE, dtype).requires_grad_()
    options = dict(residual_attention=mode, attention_kernel=kernel, dropout=dropout)
    layers = [
        ResidualMultiheadAttention(size, heads, **options).to(DEVICE, dtype) for _ in range(2)
    ]
    case = {name: mask.to(DEVICE) for name, mask in case.items()}
    case["need_weights"] = False
    out, _, scores = layers[0](x, y, y, **case)
    out, _, scores = layers[1](
        x + out, y, y, previous_scores=scores, layers_traversed=1, is_last=is_last, **case
    )
    results = [out] if is_last or mode == "none" else [out, scores]
    weights = [torch.randn(result.size()).to(result) for result in results]
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    return [*results, *torch.autograd.grad(results, [x, y, *parameters], weights)]


@pytest.mark.parametrize(
    "mode, case",
    [
        *(("mean", case) for case in CASES),
        ("sum", "cross"),
        ("sum", "both-masks"),
        ("none", "future"),
    ],
)
def test_output_scores_and_gradients_are_those_of_single_operations(mode, case, calls):
    is_last = case == "future"
    expected = two_layers("eager", mode, CASES[case], is_last)
    assert calls == []
    actual = two_layers("fused", mode, CASES[case], is_last)
    for one, other in zip(actual, expected):
        assert_close(one, other)
    scores = None if mode == "none" else torch.float32
    assert calls[:2] == [scores, None if is_last else scores]  # the top layer writes none


@pytest.fixture
def bfloat16(monkeypatch):
    """The interpreter of Triton 3.9 multiplies its bits as whole numbers, and does not round."""
    if DEVICE == "cuda":
        return
    from triton.runtime import interpreter

    builder, tl = interpreter.InterpreterBuilder, interpreter.tl
    product, cast = builder.create_dot, builder.cast_impl

    def create_dot(self, a, b, *rest):
        if a.dtype == tl.bfloat16:
            a, b = cast(self, a, tl.float32), cast(self, b, tl.float32)
        return product(self, a, b, *rest)

    def cast_impl(self, source, target):
        if target.scalar != tl.bfloat16 or source.dtype.scalar != tl.float32:
            return cast(self, source, target)
        bits = torch.from_numpy(source.data).bfloat16().view(torch.int16).numpy()
        return interpreter.TensorHandle(bits.view("uint16"), tl.bfloat16)

    monkeypatch.setattr(builder, "create_dot", create_dot)
    monkeypatch.setattr(builder, "cast_impl", cast_impl)


@pytest.mark.parametrize(
    "mode, dtype", [("mean", torch.float16), ("mean", torch.bfloat16), ("sum", torch.bfloat16)]
)
def test_halves_are_as_near_to_float32_as_with_single_operations(mode, dtype, bfloat16):
    case = CASES["both-masks"]
    exact = two_layers("eager", mode, case, False)
    ours, eager = (two_layers(kernel, mode, case, False, dtype) for kernel in ("fused", "eager"))
    assert [x.dtype for x in ours] == [x.dtype for x in eager]
    assert ours[1].dtype == (torch.float32 if mode == "sum" else dtype)
    error, usual = (
        torch.stack([(x.float() - y).norm() / y.norm() for x, y in zip(found, exact)][:4])
        for found in (ours, eager)
    )  # of output, scores and the gradients of both inputs
    assert (error < 1.2 * usual).all() and (error < 2 * torch.finfo(dtype).eps).all()


@pytest.mark.parametrize("head_dim", [64, 128])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_blocks_of_heads_of_real_models(head_dim, dtype, bfloat16, monkeypatch):
    """In the sizes that are compiled for a GPU, with several blocks a sentence."""
    for module in (fused_attention_launch, fused_attention_operator):
        monkeypatch.setattr(module, "largest_block", LARGEST_BLOCK)
    case = dict(batch=1, query=70, key=100, head_dim=head_dim)
    exact = two_layers("eager", "mean", case, False)
    for found, expected in zip(two_layers("fused", "mean", case, False, dtype), exact):
        error = (found.float() - expected).norm() / expected.norm()
        assert error < (1e-5 if dtype == torch.float32 else 0.03)


def operands(length, keys, size, dtype=torch.float32, sentences=2, heads=2):
    torch.manual_seed(2)
    shapes = [(length, sentences, size), *[(keys, sentences, size)] * 2]
    shapes.append((sentences * heads, length, keys))
    return [torch.randn(shape, dtype=dtype).to(DEVICE).requires_grad_() for shape in shapes]


def factors_of(dropout, seed, length, keys, sentences=2, heads=2):
    """What the kernel multiplies probabilities by: without queries they are all ``1 / keys``."""
    query = torch.zeros(length, sentences, heads * keys, device=DEVICE)
    identity = torch.eye(keys, device=DEVICE)[:, None].repeat(1, sentences, heads)
    numbers = (heads, 0.0, 0.0, dropout, seed, None)
    output, _, _ = OPERATORS.attend(
        query, torch.zeros_like(identity), identity, *[None] * 3, *numbers
    )
    return output.view(length, sentences * heads, keys).transpose(0, 1) * keys


def test_dropout_is_repeated_by_the_gradients():
    dropout, length, keys = 0.3, 18, 17
    factors = factors_of(dropout, 7, length, keys)
    dropped = factors == 0
    assert_close(factors[~dropped], torch.full_like(factors[~dropped], 1 / (1 - dropout)))
    assert 0.25 < dropped.float().mean() < 0.35
    assert torch.equal(dropped, factors_of(dropout, 7, length, keys) == 0)
    others = [*dropped, *(factors_of(dropout, 8, length, keys) == 0)]  # of each head and seed
    assert not any(torch.equal(one, other) for one, other in itertools.combinations(others, 2))

    inputs = operands(length, keys, 6)
    query, key, value, previous = inputs
    attended = OPERATORS.attend(*inputs, None, None, 2, 0.5, 0.5, dropout, 7, None)[0]
    q, k, v = (x.view(len(x), 4, 3).transpose(0, 1) for x in (query, key, value))
    probabilities = (0.5 * previous + 0.5 * q @ k.transpose(1, 2)).softmax(-1)
    expected = (probabilities * factors @ v).transpose(0, 1).reshape(length, 2, 6)
    assert_close(attended, expected)
    weights = torch.randn_like(expected)
    for one, other in zip(*(torch.autograd.grad(x, inputs, weights) for x in (attended, expected))):
        assert_close(one, other)


def test_of_the_size_of_scores_only_those_below_are_kept():
    inputs, kept = operands(5, 6, 4), []
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x)
    with hooks:
        OPERATORS.attend(*inputs, None, None, 2, 0.5, 0.5, 0.1, 3, torch.float32)
    large = [x for x in kept if x.numel() >= inputs[3].numel()]
    assert len(large) == 1 and large[0].data_ptr() == inputs[3].data_ptr()


@pytest.mark.parametrize("is_first", [False, True])
def test_the_operator_is_one_of_torch(is_first):
    *tensors, previous = operands(3, 4, 4)
    masks = torch.zeros(3, 4), torch.zeros(2, 4, dtype=torch.bool)
    masks = [mask.to(DEVICE) for mask in masks]
    arguments = (None, *masks) if is_first else (previous, None, None)
    numbers = (2, 0.5, 0.5, 0.0, 3, None if is_first else torch.float32)
    torch.library.opcheck(OPERATORS.attend.default, (*tensors, *arguments, *numbers))


@interpreted_only
def test_gradients_are_derivatives():
    inputs = operands(3, 4, 2, torch.float64, sentences=1, heads=1)
    numbers = (1, 0.75, 0.25, 0.0, 3, torch.float64)

    def attend(*tensors):
        return OPERATORS.attend(*tensors, None, None, *numbers)[:2]

    assert torch.autograd.gradcheck(attend, inputs, fast_mode=True)


def pair(**options):
    """A model that computes eagerly, and one with its weights and the kernel."""
    models = [build(attention_kernel=kernel, **options) for kernel in ("eager", "fused")]
    models[1].load_state_dict(models[0].state_dict())
    return [model.to(DEVICE) for model in models]


def test_a_model_trains_with_it(calls):
    """But for the top cross-attention, whose probabilities fairseq returns."""
    eager, fused = map(without_dropout, pair(encoder_layers=2, decoder_layers=2))
    for model in (eager, fused):
        logits(model, *(x.to(DEVICE) for x in batch())).pow(2).mean().backward()
    forward, backward = calls[:5], calls[5:]
    assert forward.count(None) == 2 and len(backward) == 5
    expected = {name: parameter.grad for name, parameter in eager.named_parameters()}
    for name, parameter in fused.named_parameters():
        assert_close(parameter.grad, expected[name])


def test_autocast_makes_halves_of_what_it_takes(calls):
    layer = ResidualMultiheadAttention(8, 2, attention_kernel="fused").to(DEVICE)
    x = torch.randn(3, 1, 8).to(DEVICE)
    with torch.autocast(DEVICE, torch.float16):
        out, _, scores = layer(x, x, x, need_weights=False)
    assert out.dtype == scores.dtype == torch.float16 and calls == [torch.float16]


@interpreted_only
def test_what_it_is_not_for_is_computed_as_ever(calls):
    """Steps of a search, probabilities on request, TorchScript, and what has no Triton or GPU."""
    eager, fused = (model.eval() for model in pair(encoder_layers=1, decoder_layers=1))
    source, previous = batch()
    lengths = source.ne(1).sum(1)
    found = [model.encoder(source, lengths) for model in (eager, fused)]
    assert calls == [None]
    calls.clear()
    steps = [m.decoder(previous[:, :1], found[0], incremental_state={})[0] for m in (eager, fused)]
    assert torch.equal(*steps)
    x = torch.randn(3, 1, 16)
    fused.decoder.layers[0].self_attn(x, x, x, need_weights=True)
    scripted = torch.jit.script(fused.encoder)(source, lengths)
    assert torch.equal(scripted["encoder_out"][0], found[0]["encoder_out"][0])
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TRITON_INTERPRET")
        fused_attention.lacking.cache_clear()
        assert torch.equal(*(logits(model, source, previous) for model in (eager, fused)))
    fused_attention.lacking.cache_clear()
    large = ResidualMultiheadAttention(2 * 132, 2, attention_kernel="fused")
    large(*[torch.randn(2, 1, 264)] * 3, need_weights=False)
    assert calls == []


@interpreted_only
def test_a_training_with_heads_that_are_too_large_is_refused():
    sizes = dict(encoder_embed_dim=512, encoder_attention_heads=3, decoder_attention_heads=4)
    model = SimpleNamespace(attention_kernel="fused", **sizes, decoder_embed_dim=512)
    found = list(attention_kernel(SimpleNamespace(common=SimpleNamespace(cpu=True), model=model)))
    assert [refused for refused, _ in found] == [False, True, False]
    assert "--encoder-embed-dim 512 by --encoder-attention-heads 3" in found[1][1]


def compiled(*cases):
    """What compiling for GPUs that are not there says of each kernel."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    environment.pop("TRITON_INTERPRET", None)
    script = PROJECT / "tests/kernel_compilation.py"
    lines = run(sys.executable, script, *cases, env=environment, timeout=1000).stdout.splitlines()
    return [json.loads(line) for line in lines]


def assert_fit(found, kernels):
    """No kernel needs more shared memory than it may by default, or spills registers."""
    assert len(found) == kernels
    for kernel in found:
        assert kernel["spilt"] == 0 and kernel["shared"] <= 48 * 1024, kernel


@interpreted_only
def test_it_compiles_for_a100_and_h100(tmp_path, monkeypatch):
    """The gradients of short sentences are one kernel, those of long ones two."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert_fit(compiled("80,float16,float32,64,100", "90,bfloat16,bfloat16,64,30"), 3 + 2)


@interpreted_only
@pytest.mark.slow
def test_all_that_it_takes_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    types = ["float32,float32", "float16,float16", "float16,float32"]
    types += ["bfloat16,bfloat16", "bfloat16,float32"]
    sizes = itertools.product((80, 90), types, (16, 32, 64, 128), (30, 100))
    cases = [",".join(map(str, case)) for case in sizes]
    # float32 of 64 and 128 dimensions has blocks of 16, so that 30 are several
    assert_fit(compiled(*cases), 3 * len(cases) - (len(cases) // 2 - 4))
