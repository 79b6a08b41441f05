"""What the READMEs and docs/ say that a change of the code or of a file can make wrong."""

import re
import shlex

import pytest
from conftest import PROJECT
from fairseq import options

from realformer_fairseq import fairseq_patches
from realformer_fairseq.models.architectures import ARCHITECTURES
from realformer_fairseq.models.config import own_options
from realformer_fairseq.models.multilingual import NAME as MULTILINGUAL
from realformer_runtime import __version__
from realformer_runtime.command_line import flag

README = PROJECT / "README.md"
INTERNALS = PROJECT / "docs/internals.md"
FOLDERS_WITH_PAGES = ("benchmarks", "data-prep", "docs", "results")
PAGES = sorted(
    [*PROJECT.glob("*.md")]
    + [page for name in FOLDERS_WITH_PAGES for page in (PROJECT / name).rglob("*.md")]
)
CODE_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^()\s]+)\)")
# What a `code` span has to look like to be the path of a file of the project.
FOLDERS = "realformer_\\w+|scripts|data-prep|benchmarks|results|tests|docs"
OUR_PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")


def text_of(page):
    return page.read_text("utf-8")


def anchors(page):
    """As GitHub makes them of the headings."""
    headings = re.findall(r"^#+ (.+)$", CODE_BLOCK.sub("", text_of(page)), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_links_files_and_modules_of_a_page_exist(page):
    for link in LINK.findall(text_of(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
    for name in OUR_PATH.findall(text_of(page)):
        assert (PROJECT / name).exists(), name
    # The changelog has former names, too.
    modules = re.findall(r"python3? -m (realformer_[\w.]+\w)", text_of(page))
    for module in modules if page.name != "CHANGELOG.md" else ():
        path = PROJECT / module.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), module


def first_training():
    """The words after ``fairseq-train`` in the README's first example of it."""
    blocks = (block for language, block in CODE_BLOCK.findall(text_of(README)))
    block = next(block for block in blocks if "fairseq-train" in block)
    words = shlex.split(block.replace("\\\n", ""), comments=True)
    return words[words.index("fairseq-train") + 1 :]


def test_the_first_training_of_the_readme_is_complete():
    """As printed, with the data of scripts/demo.sh and the environment of scripts/setup.sh."""
    assert not [word for word in first_training() if "..." in word or "$" in word]
    args = options.parse_args_and_arch(options.get_training_parser(), first_training())
    assert args.data == "demo/corpus/data-bin" and (PROJECT / args.user_dir).is_dir()
    assert args.cpu and args.max_update <= 500
    assert (args.arch, args.residual_attention) == ("realformer_tiny", "mean")


def test_the_readme_fits_a_reader():
    assert len(text_of(README).splitlines()) < 250


def test_the_readme_has_every_option_architecture_and_script():
    named = set(re.findall(r"`([^`\n]+)`", text_of(README)))
    expected = {flag(own.name) for own in own_options()} | {MULTILINGUAL}
    expected |= {architecture.__name__ for architecture in ARCHITECTURES}
    for pattern in ("scripts/*.sh", "data-prep/*.sh"):
        expected |= {path.relative_to(PROJECT).as_posix() for path in PROJECT.glob(pattern)}
    assert expected <= named, expected - named


def test_the_version_is_that_of_the_code():
    assert f"realformer_fairseq {__version__}." in text_of(README)


def test_every_change_of_fairseq_is_described():
    rows = re.findall(r"^\| `\w+\.(\w+)` \|", text_of(INTERNALS), re.M)
    assert rows == [patch.name for patch in fairseq_patches.PATCHES]


def test_extras_are_those_of_setup():
    page = text_of(PROJECT / "docs/installation.md")
    setup = text_of(PROJECT / "setup.py").partition("extras_require")[2]
    extras = re.findall(r'^        "([\w-]+)": \[', setup, re.M)
    assert len(extras) > 4
    for extra in extras:
        assert f"`{extra}`" in page or f"[{extra}]" in page
