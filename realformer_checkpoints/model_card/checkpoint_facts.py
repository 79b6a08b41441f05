"""Facts about the model and its training in a checkpoint, as fields of a model card."""

import math
import re
from datetime import timedelta
from typing import Any, Dict, List

from realformer_runtime.command_line import flag

from ..average_record import FILES, recorded_average
from ..reading import storage_key, stored_option
from .kinds import KINDS, TRANSLATION
from .markdown import NOT_RECORDED, base_name, code_span, escape_markdown, listed, number, one_line

BUFFER = re.compile(r"(^|\.)(version|_float_tensor)$")
LANGUAGE = re.compile(r"[A-Za-z0-9][\w@.-]{0,30}")  # also used in names of files
LANGUAGE_PAIR = re.compile(r"[A-Za-z]\w{0,9}-[A-Za-z]\w{0,9}")
CENTURY = 3e9  # seconds
MOST_FILES = 50  # named files of an average
# Fields about encoder and decoder, and the name of the option of each.
STACKS = {"layers": "layers", "width": "embed_dim", "ffn": "ffn_embed_dim"}
STACKS.update(heads="attention_heads", normalisation="normalize_before")
# Other fields: a group of fairseq's configuration, and words with options of it.
DESCRIPTIONS = """\
sublayer_scaling: model: {sublayer_scaling}
activation: model: {activation_fn}
dropout: model: {dropout} (residual), {attention_dropout} (attention), \
{activation_dropout} (activation)
optimizer: optimizer: {_name}, betas {adam_betas}, epsilon {adam_eps}, weight decay {weight_decay}
schedule: lr_scheduler: {_name}, total updates {total_num_update}, power {power}, \
end {end_learning_rate}
warmup: lr_scheduler: {warmup_updates}
clipping: optimization: {clip_norm}
processes: distributed_training: {distributed_world_size}
loss: criterion: {_name}, label smoothing {label_smoothing}
best: checkpoint: {best_checkpoint_metric}
"""
PRECISIONS = {"amp": "automatic mixed precision", "bf16": "bfloat16", "fp16": "float16"}


class CheckpointFacts:
    """Facts in a state that ``load_checkpoint`` has read."""

    def __init__(self, state: Dict[str, Any]):
        self.state = state
        self.architecture = self.line("model", "arch") or self.line("model", "_name")
        # Whether loading the model needs this plugin.
        own = self.option("model", "residual_attention") is not None
        self.is_realformer = own or "realformer" in self.architecture
        self.task = self.line("task", "_name")
        self.kind = KINDS.get(self.task, TRANSLATION)
        pair = [self.option("task", side) for side in ("source_lang", "target_lang")]
        one = all(isinstance(lang, str) and LANGUAGE.fullmatch(lang) for lang in pair)
        pairs = self.option("task", "lang_pairs")  # of a multilingual model
        several = LANGUAGE_PAIR.findall(pairs) if isinstance(pairs, str) else []
        self.languages: List[str] = pair if one else []  # empty for several language pairs
        self.language_pairs = ["-".join(pair)] if one else several

    def option(self, group: str, name: str) -> Any:
        """An option of the training; ``_name`` is the kind of optimizer, criterion and so on."""
        older = name == "_name" and not isinstance(self.state.get("cfg"), dict)
        return stored_option(self.state, group, group if older else name)

    def line(self, group: str, name: str) -> str:
        return one_line(self.option(group, name))

    def numbers(self, group: str, name: str) -> List[Any]:
        """The values of an option that has one number or one for each epoch."""
        value = self.option(group, name)
        values = value if isinstance(value, (list, tuple)) else [value]
        return [x for x in values if isinstance(x, (int, float))]

    def described(self, group: str, description: str) -> str:
        """Fill in ``betas {adam_betas}, ...``, leaving out options that are not recorded."""
        parts = re.findall(r"([^{]*){(\w+)}([^,]*)(?:, )?", description)
        return listed(
            before + number(self.option(group, name)) + after
            for before, name, after in parts
            if self.line(group, name)
        )

    def stored(self, *keys: str) -> Any:
        """A value in the nested dictionaries of the state, None if there is none."""
        value = self.state
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def embedding_rows(self) -> List[Any]:
        """Rows of the embeddings of encoder and decoder, None for adaptive embeddings."""
        paths = self.kind.paths or self.kind.stacks
        tables = [self.state["model"].get(f"{path}.embed_tokens.weight") for path in paths]
        return [None if table is None or not table.dim() else table.size(0) for table in tables]

    def count_parameters(self) -> int:
        """Number of trained parameters, tied ones counted once."""
        fixed_omega = self.line("model", "sublayer_scaling") == "deepnorm"
        trained = {
            storage_key(tensor): tensor.numel()
            for name, tensor in self.state["model"].items()
            if not BUFFER.search(name) and not (fixed_omega and name.endswith(".omega"))
        }
        return sum(trained.values())

    def fields(self) -> Dict[str, str]:
        lines = [line.split(": ") for line in DESCRIPTIONS.splitlines()]
        found = {field: self.described(group, words) for field, group, words in lines}
        several = len(self.kind.stacks) > 1
        for field, name in STACKS.items():
            words = (f"{{{x}_{name}}}" + f" in the {x}" * several for x in self.kind.stacks)
            found[field] = self.described("model", ", ".join(words))
        chains = "{residual_attention}" + ", in {residual_chains}" * several
        found["residual_attention"] = self.described("model", chains)
        norms = found["normalisation"].replace("False", "Post-LN").replace("True", "Pre-LN")
        languages = escape_markdown(", ".join(self.language_pairs))
        residual, on_cpus = found["residual_attention"], self.option("common", "cpu") is True
        if not self.is_realformer:
            found["sublayer_scaling"] = residual = "none"
        if residual.startswith("none"):
            residual = "none"
        return {
            **found,
            "architecture": escape_markdown(self.architecture),
            "what": ", ".join([self.kind.what, languages][: 1 + (self.kind is TRANSLATION)]),
            "tokens": self.kind.tokens,
            "longest": self.longest(),
            "languages": languages,
            "normalisation": norms,
            "residual_attention": re.sub(",(?! )", ", ", residual),
            "embeddings": self.embeddings(),
            "parameters": number(self.count_parameters()),
            "clipping": "none" if found["clipping"] == "0" else found["clipping"],
            "learning_rate": listed(map(number, self.numbers("optimization", "lr"))),
            "batch": self.batch(),
            "processes": found["processes"] + ", on CPUs (--cpu)" * on_cpus,
            "precision": self.precision(),
            "seed": escape_markdown(self.option("common", "seed")),
            "start": self.start(),
            "average": self.average(),
            **self.progress(found["best"]),
        }

    def embeddings(self) -> str:
        """Which of the model's tables are one, and how many segments there are."""
        if self.option("model", "share_all_embeddings") is True:
            return "one table for source, target and output"
        tied = self.option("model", "share_decoder_input_output_embed")
        if self.kind.stacks == ("encoder",):
            untied = self.option("model", "untie_weights_roberta")
            tied = not untied if isinstance(untied, bool) else None
        read = "target" if self.kind is TRANSLATION else "input"
        words = {"False": "not tied", "True": f"one table for {read} and output"}
        segments = self.option("model", "token_types") or None
        more = [f"{number(segments)} for segments"] if one_line(segments) else []
        return ", ".join([words.get(one_line(tied), NOT_RECORDED), *more])

    def longest(self) -> str:
        """The longest input; without a limit of its own a language model has the task's."""
        found = self.described("model", self.kind.longest)
        if found == NOT_RECORDED and self.kind is not TRANSLATION:
            found = self.described("task", "{tokens_per_sample} subwords")
        return found

    def batch(self) -> str:
        """The most tokens or sentences in an update, with their factors."""
        tokens, sentences = (self.option("dataset", x) for x in ("max_tokens", "batch_size"))
        limit, unit = (tokens, "tokens") if isinstance(tokens, int) else (sentences, "sentences")
        batches = self.numbers("optimization", "update_freq")
        world = self.option("distributed_training", "distributed_world_size")
        words = f"{number(limit)} {unit} x {listed(map(number, batches))} batches"
        words += f" x {number(world)} processes"
        factors = [limit, *batches, world]
        if len(batches) == 1 and all(isinstance(x, int) for x in factors):
            words += f" = at most {number(math.prod(factors))} {unit}"
        return words if one_line(limit) else NOT_RECORDED

    def precision(self) -> str:
        for kind, words in PRECISIONS.items():
            for name in (f"memory_efficient_{kind}", kind):
                if self.option("common", name) is True:
                    return f"{words} ({flag(name)})"
        return "float32" if self.line("common", "fp16") else NOT_RECORDED

    def start(self) -> str:
        """The checkpoint that the training started from."""
        names = ("finetune_from_model", "restore_file")
        tuned, restored = (self.option("checkpoint", name) for name in names)
        if not tuned and restored in (None, "", "checkpoint_last.pt"):  # that is in --save-dir
            return "random" if restored else NOT_RECORDED
        return code_span(base_name(tuned or restored))

    def average(self) -> str:
        """The files that the parameters are averaged from."""
        if self.state.get(FILES) is None:
            return "no average"
        record = recorded_average(self.state)
        if not record or not record.files:
            return NOT_RECORDED
        names = [base_name(name) for name in record.files[:MOST_FILES]]
        more = len(record.files) - MOST_FILES
        rest = f" and {more} more" if more > 0 else ""
        lines = map(code_span, record._replace(files=names).lines())
        return f"mean of {len(record.files)}: {', '.join(lines)}{rest}"

    def progress(self, metric: str) -> Dict[str, str]:
        """The progress of the training by a metric; for an average, that of its last file."""
        history = self.state.get("optimizer_history") or [{}]
        epoch = self.stored("extra_state", "train_iterator", "epoch")
        batches = self.stored("extra_state", "train_iterator", "iterations_in_epoch")
        epochs = NOT_RECORDED
        if isinstance(epoch, int) and isinstance(batches, int):
            rest = f" and {number(batches)} batches of the next" if batches else ""
            epochs = f"{number(epoch - 1)} whole ones{rest}"
        seconds = self.stored("extra_state", "previous_training_time")
        timed = isinstance(seconds, (int, float)) and 0 <= seconds < CENTURY
        best = self.stored("extra_state", "best")
        return {
            "updates": number(history[-1].get("num_updates")),
            "epochs": epochs,
            "time": f"{timedelta(seconds=round(seconds))} (h:mm:ss)" if timed else NOT_RECORDED,
            "best": f"{escape_markdown(best)} ({metric})" if one_line(best) else NOT_RECORDED,
        }
