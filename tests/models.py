"""Small models and batches that the tests share."""

import argparse
import copy

import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

import realformer_fairseq  # noqa: F401  registers the architectures
from benchmarks.eager_realformer import make_eager

MODES = ("mean", "sum", "none")


def make_dictionary(types: int = 40) -> Dictionary:
    dictionary = Dictionary()
    for number in range(types):
        dictionary.add_symbol(f"w{number}")
    return dictionary


class Task:
    """What building a model and generating with it ask of a fairseq task."""

    def __init__(self):
        self.source_dictionary = self.target_dictionary = make_dictionary()


TASK = Task()
PAD, EOS = TASK.source_dictionary.pad(), TASK.source_dictionary.eos()


def arguments(arch: str = "realformer_tiny", **options) -> argparse.Namespace:
    """Of a model of few and narrow layers; ``options`` as on the command line."""
    sizes = dict(
        encoder_embed_dim=16,
        encoder_ffn_embed_dim=24,
        decoder_embed_dim=16,
        decoder_ffn_embed_dim=24,
        encoder_layers=3,
        decoder_layers=3,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        max_source_positions=64,
        max_target_positions=64,
    )
    args = argparse.Namespace(arch=arch, **{**sizes, **options})
    ARCH_CONFIG_REGISTRY[arch](args)
    return args


def build(arch: str = "realformer_tiny", seed: int = 1, **options):
    torch.manual_seed(seed)
    return ARCH_MODEL_REGISTRY[arch].build_model(arguments(arch, **options), TASK)


def build_with_weights_of(model, **options):
    """Another model with the same parameters."""
    other = build(**options)
    other.load_state_dict(model.state_dict())
    return other


def with_trained_omega(seed=1, **options):
    """A model whose weights, biases, norms and omegas are all unlike those it starts with."""
    model = build(seed=seed, **options).eval()
    torch.manual_seed(seed + 1)
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if name.endswith(".omega"):
                value.copy_(0.5 + 2 * torch.rand_like(value))
            elif "layer_norm" in name or name.endswith("bias"):
                value.add_(0.3 * torch.rand_like(value))
    return model


def batch(seed: int = 1):
    """Source ``(3, 8)``, left-padded as fairseq's translation task does; target ``(3, 6)``."""
    generator = torch.Generator().manual_seed(seed)
    types = len(TASK.source_dictionary)
    source = torch.randint(4, types, (3, 8), generator=generator)
    source[:, -1] = EOS
    source[1, :3] = PAD
    previous = torch.randint(4, types, (3, 6), generator=generator)
    previous[:, 0] = EOS
    previous[2, 4:] = PAD
    return source, previous


def assert_close(actual, expected):
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def logits(model, source, previous):
    return model(source, source.ne(PAD).sum(1), previous)[0]


def eager_scores(model, stack, attention, *inputs):
    """Scores of each layer ``(B, heads, T, S)``, by attention written the obvious way."""
    eager, found = make_eager(copy.deepcopy(model)), []
    for layer in getattr(eager, stack).layers:
        module = getattr(layer, attention)
        module.register_forward_hook(lambda _, __, output: found.append(output[2]))
    with torch.no_grad():
        eager(*inputs)
    return found


def assert_same_gradients(one, other):
    """Of the same random numbers, and of all parameters."""
    for model in (one, other):
        torch.manual_seed(4)
        logits(model, *batch()).pow(2).mean().backward()
    expected = {name: p.grad for name, p in one.named_parameters()}
    for name, parameter in other.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], msg=name)


def without_dropout(model):
    """Training mode, in which fairseq takes other code paths, but deterministic."""
    model.train()
    for module in model.modules():
        if isinstance(getattr(module, "p", None), float):
            module.p = 0.0
    return model
