"""Puts the folders that tests import from on the path, and keeps torch to one thread.

Also a prepared corpus and a trained model, made once, for the tests of the command line.
"""

import contextlib
import gc
import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
# The scripts use the environment that runs the tests, wherever VENV would be.
os.environ["VENV"] = sys.prefix
gc.disable()  # until all is imported: there is next to nothing to find in modules
sys.path[:0] = [str(PROJECT), str(PROJECT / "data-prep"), str(PROJECT / "tests")]
pytest.register_assert_rewrite("beam_search")

# What is most likely to be wrong after a change of the model runs first, and then what takes long:
# else one core would be busy with that while the others have nothing left.
ORDER = """
    residual_attention model incremental_decoding sublayer_scaling features pinned_checkpoint
    fast_decoding admin_profile training several_processes

    wmt14_preparation demo translation reproduce_table7 option_checks translation_command
    published_checkpoints fold_omega train_scripts
""".split()


def pytest_configure(config):
    """Else pytest-xdist would start with the files of most tests."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items):
    """The model's own tests run first, so that a mistake shows within the first minute."""
    order = {f"test_{name}": place for place, name in enumerate(ORDER)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


def pytest_collection_finish():
    """The garbage collector leaves alone what was imported, and fairseq's defaults are made once.

    Files that import no fairseq do not pay for it here.
    """
    if options := sys.modules.get("fairseq.dataclass.utils"):
        from hydra_composition import compose

        options.compose = compose
    gc.collect()
    gc.freeze()
    gc.enable()


# Options that the trainings of the tests share. Updates of a few sentences, two narrow layers.
TRAINING = """
    --arch realformer_tiny --encoder-layers 2 --decoder-layers 2 --encoder-embed-dim 32
    --encoder-ffn-embed-dim 64 --decoder-ffn-embed-dim 64 --share-all-embeddings --dropout 0.1
    --attention-dropout 0.1 --task translation --source-lang en --target-lang fr
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam
    --adam-betas (0.9,0.98) --lr 5e-3 --lr-scheduler inverse_sqrt --warmup-updates 5
    --max-tokens 300 --required-batch-size-multiple 1 --num-workers 0 --seed 1 --cpu
    --log-format simple --log-interval 1
""".split()


def run(*command, check=True, **options):
    """Run a command, its output captured as text; after two minutes it is ended and fails."""
    options = {"capture_output": True, "text": True, "cwd": "/", "timeout": 120, **options}
    result = subprocess.run([str(word) for word in command], **options)
    if check and result.returncode != 0:
        raise AssertionError(f"{command} exited with {result.returncode}:\n{result.stderr[-3000:]}")
    return result


def wait_for(condition, process=None, seconds=240):
    """What the condition gives, once it is something."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end and (process is None or process.poll() is None)
        time.sleep(0.2)
    return found


def fails(*command, **options):
    """The one line on stderr of a command that must fail."""
    result = run(*command, check=False, **options)
    assert result.returncode == 1, result.stderr
    errors = [line for line in result.stderr.splitlines() if line and not line.startswith("==")]
    assert len(errors) == 1, result.stderr
    return errors[0]


@pytest.fixture(scope="session")
def raw_corpus(tmp_path_factory) -> Path:
    """240 pairs of the sample corpus' sentences, as a folder of plain text."""
    from sample_corpus.generate import pairs

    folder = tmp_path_factory.mktemp("raw corpus")
    chosen = itertools.islice(pairs(), 240)
    for split, size in (("train", 200), ("valid", 20), ("test", 20)):
        part = list(itertools.islice(chosen, size))
        for lang in ("en", "fr"):
            text = "".join(getattr(pair, lang) + "\n" for pair in part)
            (folder / f"{split}.{lang}").write_text(text, "utf-8")
    return folder


MERGES = 150


def write_lines(path, lines):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def preprocess(text, folder):
    """fairseq-preprocess, in this process, with one dictionary for both languages."""
    languages = ["--source-lang", "en", "--target-lang", "fr", "--joined-dictionary"]
    preprocess_text(text, folder, *languages, splits=("train", "valid", "test"))


def preprocess_text(text, folder, *languages, splits=("train", "valid")):
    """fairseq-preprocess, in this process; text of one language unless languages are given."""
    from fairseq import options
    from fairseq_cli import preprocess

    line = [*(languages or ["--only-source"]), "--destdir", str(folder)]
    line += [f"--{split}pref={text / split}" for split in splits]
    args = options.get_preprocessing_parser().parse_args(line)
    preprocess.logger.setLevel("INFO")  # it writes a log of its own into the folder
    with contextlib.redirect_stdout(sys.stderr):
        preprocess.main(args)


@pytest.fixture(scope="session")
def prepared(raw_corpus, tmp_path_factory) -> Path:
    """The same, as our scripts prepare it, but without a shell; a path with spaces."""
    from subword_nmt.learn_bpe import learn_bpe

    from realformer_runtime.text.bpe_encoding import line_encoder
    from realformer_runtime.text.tokenization import line_tokenizer

    out = tmp_path_factory.mktemp("prepared") / "small corpus"
    shutil.copytree(raw_corpus, out / "raw")
    for path in (out / "raw").iterdir():
        tokenize = line_tokenizer(path.suffix[1:])
        lines = path.read_text("utf-8").splitlines()
        write_lines(out / "tok" / path.name, map(tokenize, lines))
    tokenized = {path: path.read_text("utf-8").splitlines() for path in (out / "tok").iterdir()}
    text = [*tokenized[out / "tok/train.en"], *tokenized[out / "tok/train.fr"]]
    with open(out / "code", "w", encoding="utf-8") as codes:
        learn_bpe(text, codes, MERGES)
    encode = line_encoder(str(out / "code"))
    for path, lines in tokenized.items():
        write_lines(out / "bpe" / path.name, map(encode, lines))
    preprocess(out / "bpe", out / "data-bin")
    shutil.copy(out / "code", out / "data-bin/code")
    return out


@pytest.fixture(scope="session")
def trained(prepared, tmp_path_factory) -> Path:
    """Checkpoints of 20 updates, one every 10, and the training's log."""
    from fairseq_mains import log_of_training

    folder = tmp_path_factory.mktemp("trained")
    options = ["--max-update", 20, "--save-interval-updates", 10, "--no-epoch-checkpoints"]
    log = log_of_training(prepared / "data-bin", folder, *options)
    (folder / "train.log").write_text(log)
    return folder
