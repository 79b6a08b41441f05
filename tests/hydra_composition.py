"""What hydra makes of fairseq's defaults, kept: else each in-process command takes 0.2 s for it."""

import copy
import functools

import hydra.experimental
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf


@functools.cache
def parsed(override):
    return OverridesParser.create().parse_overrides([override])[0]


@functools.cache
def defaults(name, choices):
    """The defaults of one choice of task, model, optimizer and so on."""
    return hydra.experimental.compose(name, overrides=list(choices), strict=False)


def compose(name, overrides, strict):
    """hydra's function of the same name; sweeps, which are refused, are left to it."""
    choices = [override for override in overrides if "." not in override.partition("=")[0]]
    values = [parsed(override) for override in overrides if override not in choices]
    if any(value.is_sweep_override() for value in values):
        return hydra.experimental.compose(name, overrides=overrides, strict=strict)
    cfg = copy.deepcopy(defaults(name, tuple(choices)))
    OmegaConf.set_struct(cfg, True)
    ConfigLoaderImpl._apply_overrides_to_config(values, cfg)
    OmegaConf.set_struct(cfg, strict)
    return cfg
