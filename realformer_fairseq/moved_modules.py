"""Import paths of version 0.1.0 that have moved. They work until 0.3, with a warning."""

import importlib
import importlib.abc
import importlib.util
import sys
import warnings

# Modules that left realformer_fairseq under the same name, by their new package.
SAME_NAME = {
    "realformer_fairseq.models": "architectures decoder encoder model multilingual",
    "realformer_fairseq.modules": """decoder_layer decoding_cache dropout encoder_layer linear
        residual_attention residual_scores sublayer_scaling""",
    "realformer_runtime": "atomic_output command_line installed_versions text",
}
RENAMED = {
    "analysis.figures": "realformer_checkpoints.figures",
    "analysis.learning_curve": "realformer_checkpoints.learning_curve",
    "analysis.omega_by_depth": "realformer_checkpoints.omega_by_depth",
    "analysis.training_log": "realformer_checkpoints.training_log",
    "cached_projections": "realformer_fairseq.modules.residual_attention",
    "checkpoints.averaging": "realformer_checkpoints.averaging",
    "checkpoints.checkpoint_choice": "realformer_checkpoints.selection",
    "checkpoints.checkpoint_loading": "realformer_checkpoints.safe_types",
    "checkpoints.checkpoint_numbers": "realformer_checkpoints.safe_numbers",
    "checkpoints.checkpoint_writing": "realformer_checkpoints.writing",
    "checkpoints.fold_omega": "realformer_fairseq.checkpoints.folding",
    "checkpoints.mapped_checkpoint": "realformer_checkpoints.reading",
    "checkpoints.parameter_mean": "realformer_checkpoints.parameter_mean",
    "evaluation": "realformer_runtime.scores",
    "evaluation.hypothesis_files": "realformer_runtime.scores.hypothesis_files",
    "evaluation.model_card": "realformer_checkpoints.model_card",
    "evaluation.scoring": "realformer_runtime.scores.scoring",
    "evaluation.translation_measures": "realformer_runtime.scores.measures",
    "inference.hub_interface": "realformer_fairseq.models.hub_interface",
    "inference.overlong_sentences": "realformer_runtime.text.overlong_sentences",
    "model_config": "realformer_fairseq.models.config",
    "text.fairseq_tokenizer": "realformer_fairseq.inference.fairseq_tokenizer",
    "training.checkpoint_options": "realformer_fairseq.training.checkpoint_comparison",
    "training.preemption": "realformer_fairseq.training.stop_signals",
    "training.resume": "realformer_fairseq.training.resuming",
    "training.training_plan": "realformer_fairseq.training.plan",
    "training.whole_checkpoints": "realformer_fairseq.training.resume_choice",
}
TEXT = """bpe_encoding byte_pair_encoding moses_parity parallel_lines tokenization
    utf8_lines wordwise_tokenizer"""


def new_paths() -> dict:
    """The new import path of each old one."""
    paths = {f"text.{name}": f"realformer_runtime.text.{name}" for name in TEXT.split()}
    for package, names in SAME_NAME.items():
        paths.update({name: f"{package}.{name}" for name in names.split()})
    return {f"{__package__}.{old}": new for old, new in {**paths, **RENAMED}.items()}


class MovedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook that loads the module of the new path in place of the old one."""

    def __init__(self):
        self.paths = new_paths()

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name in self.paths else None

    def exec_module(self, module):
        sys.modules[module.__name__] = importlib.import_module(self.warned_path(module.__name__))

    def get_code(self, old):
        """What ``python -m`` runs: the module at its new path."""
        new = self.warned_path(old)
        run = f"import runpy; runpy.run_module({new!r}, run_name='__main__', alter_sys=True)"
        return compile(run, old, "exec")

    def warned_path(self, old: str) -> str:
        """The new path, after a warning."""
        new = self.paths[old]
        message = f"{old} is {new} now; the old path goes with version 0.3"
        warnings.warn(message, FutureWarning, stacklevel=3)
        return new


def find_moved_modules() -> None:
    """Register the import hook, once."""
    if not any(type(finder).__name__ == MovedModules.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())
