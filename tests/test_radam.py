"""fairseq's interface around torch.optim.RAdam."""

import pytest
import torch
from fairseq import optim, options

import realformer_fairseq  # noqa: F401  registers the optimizer


def optimizer_of(parameter, *arguments):
    parser = options.get_training_parser()
    line = ["data", "--optimizer", "radam", "--arch", "realformer_tiny", *arguments]
    return optim.build_optimizer(options.parse_args_and_arch(parser, line), [parameter])


def steps(optimizer, parameter, set_gradient):
    for step in range(8):
        parameter.grad = set_gradient(step)
        optimizer.step()
        if step == 3:
            for group in optimizer.param_groups:
                group["lr"] = 0.005
    return parameter.detach().clone()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_steps_are_torchs(weight_decay):
    torch.manual_seed(0)
    start, gradients = torch.randn(7), torch.randn(8, 7)
    results = []
    for wrapped in (True, False):
        parameter = torch.nn.Parameter(start.clone())
        if wrapped:
            line = ["--adam-betas", "(0.8, 0.95)", "--adam-eps", "1e-6", "--lr", "0.02"]
            optimizer = optimizer_of(parameter, *line, "--weight-decay", str(weight_decay))
            assert isinstance(optimizer.optimizer, torch.optim.RAdam)
        else:
            given = dict(lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=weight_decay)
            optimizer = torch.optim.RAdam([parameter], decoupled_weight_decay=True, **given)
        results.append(steps(optimizer, parameter, gradients.__getitem__))
    assert torch.equal(*results)
    assert not torch.equal(results[0], start)


def test_state_is_restored_and_the_learning_rate_overridden():
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = optimizer_of(parameter, "--lr", "0.1")
    for _ in range(6):
        parameter.grad = torch.ones(3)
        optimizer.step()
    other = optimizer_of(torch.nn.Parameter(torch.ones(3)), "--lr", "0.2")
    other.load_state_dict(optimizer.state_dict(), other.optimizer_config)
    state, restored = (o.optimizer.state_dict()["state"][0] for o in (optimizer, other))
    assert state["step"] == restored["step"] == 6
    assert torch.equal(state["exp_avg"], restored["exp_avg"])
    assert other.get_lr() == 0.2


def test_half_precision_may_flatten_the_parameters():
    optimizer = optimizer_of(torch.nn.Parameter(torch.ones(3)))
    assert optimizer.supports_flat_params
    assert not optimizer.supports_memory_efficient_fp16
    defaults = dict(lr=0.25, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    assert optimizer.optimizer_config == defaults
