"""``RealFormerMaskedLM.from_pretrained`` on a folder."""

import pytest
import torch
from fairseq.data.data_utils import collate_tokens
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.models.roberta import RobertaModel
from models import Task, arguments
from subword_nmt.learn_bpe import learn_bpe

from realformer_fairseq import RealFormerMaskedLM
from realformer_fairseq.checkpoints.google_import import as_stored
from realformer_fairseq.inference.wordpiece import NAME as WORDPIECE
from realformer_runtime.command_line import UserError

WORDS = ["the", "cat", "walk@@", "ing", "walk", "##ing", "[UNK]", ".", "s", "'", "l'", "ami"]
SIZES = dict(max_positions=24, encoder_embed_dim=16, encoder_ffn_embed_dim=24, encoder_layers=3)


def save(folder, arch="realformer_masked_lm", bpe=(), **options):
    """A model with a head of three classes and random weights, its dictionary, and BPE codes."""
    folder.mkdir(exist_ok=True)
    (folder / "dict.txt").write_text("".join(f"{word} 1\n" for word in WORDS))
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    with open(folder / "code", "w", encoding="utf-8") as codes:
        learn_bpe(["the cat ing walk the cat ing walk"], codes, 12)
    task = Task()
    task.source_dictionary = task.target_dictionary = type(task.source_dictionary).load(
        str(folder / "dict.txt")
    )
    task.source_dictionary.add_symbol("<mask>")
    args = arguments(arch, **{**SIZES, "encoder_attention_heads": 2, **options})
    torch.manual_seed(1)
    model = ARCH_MODEL_REGISTRY[arch].build_model(args, task)
    model.register_classification_head("kind", num_classes=3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
        # Of these fairseq's fill_mask gives the probability to the word that is next.
        model.encoder.lm_head.bias[:3] = -20
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in {**SIZES, **options}.items()]
    words = [".", "--task=masked_lm", "--criterion=masked_lm", f"--arch={arch}", *flags, *bpe]
    cfg = as_stored([*words, "--encoder-attention-heads=2"])
    torch.save({"args": None, "cfg": cfg, "model": model.state_dict()}, folder / "model.pt")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save(tmp_path_factory.mktemp("hub") / "a model", residual_attention="sum", token_types=2)


@pytest.fixture
def load(folder, tmp_path, monkeypatch):
    """Loads the model from another folder."""
    monkeypatch.chdir(tmp_path)
    return lambda **options: RealFormerMaskedLM.from_pretrained(folder, **options).eval()


def test_without_scores_it_is_fairseqs_interface(tmp_path):
    roberta = save(tmp_path / "roberta", "roberta")
    ours = save(tmp_path / "ours", residual_attention="none")
    state = torch.load(ours / "model.pt")
    torch.save({**state, "model": torch.load(roberta / "model.pt")["model"]}, ours / "model.pt")
    theirs = RobertaModel.from_pretrained(str(roberta), bpe="subword_nmt").eval()
    hub = RealFormerMaskedLM.from_pretrained(ours, bpe="subword_nmt").eval()
    tokens = hub.encode("the cat", "walk")
    assert tokens.tolist() == theirs.encode("the cat", "walk").tolist()
    assert hub.decode(tokens) == theirs.decode(tokens) == ["the cat", "walk"]
    for return_all_hiddens in (False, True):
        expected = theirs.extract_features(tokens, return_all_hiddens)
        torch.testing.assert_close(hub.extract_features(tokens, return_all_hiddens), expected)
    torch.testing.assert_close(hub.predict("kind", tokens), theirs.predict("kind", tokens))
    torch.testing.assert_close(
        hub.predict("kind", tokens, return_logits=True), theirs.predict("kind", tokens, True)
    )
    for found, expected in zip(
        hub.fill_mask("the <mask> walk", topk=3), theirs.fill_mask("the <mask> walk", topk=3)
    ):
        assert found[1:] == (pytest.approx(expected[1], abs=1e-6), expected[2])


@pytest.mark.parametrize("residual", ["mean", "sum"])
def test_a_padded_batch_is_its_sentences(residual, tmp_path):
    path = save(tmp_path / "x", residual_attention=residual, token_types=2)
    hub = RealFormerMaskedLM.from_pretrained(path).eval()
    sentences = [hub.encode("the cat ."), hub.encode("the", "cat cat"), hub.encode("walk")]
    types = [torch.arange(len(tokens)) % 2 for tokens in sentences]
    pad = hub.task.source_dictionary.pad()
    batch, segments = collate_tokens(sentences, pad), collate_tokens(types, 0)
    with torch.no_grad():
        features = hub.extract_features(batch, token_types=segments)
        classes = hub.predict("kind", batch, token_types=segments)
        for row, (tokens, own) in enumerate(zip(sentences, types)):
            alone = hub.extract_features(tokens, token_types=own)[0]
            torch.testing.assert_close(features[row, : len(tokens)], alone, atol=1e-5, rtol=1e-5)
            assert not torch.allclose(hub.extract_features(tokens)[0], alone, atol=1e-2)
            kind = hub.predict("kind", tokens, token_types=own)[0]
            torch.testing.assert_close(classes[row], kind, atol=1e-5, rtol=1e-5)


def expect(hub, piece):
    """Make a piece the most probable everywhere."""
    with torch.no_grad():
        hub.model.encoder.lm_head.bias[hub.task.source_dictionary.index(piece)] = 1e4


@pytest.mark.parametrize(
    "options, text, piece, filled",
    [
        ({}, "the <mask> .", "cat", "the cat ."),
        ({}, "<mask>", "cat", "cat"),
        ({}, "the<mask>", "cat", "the cat"),
        ({"bpe": "subword_nmt"}, "the  <mask> ing", "walk@@", "the walking"),
        ({"bpe": "subword_nmt"}, "the <mask> ing", "cat", "the cat ing"),
        ({"tokenizer": "realformer_moses"}, "The <mask>'s walk. ", "cat", "The cat's walk. "),
        ({"tokenizer": "realformer_moses"}, "The walk <mask>", ".", "The walk."),
        ({"bpe": WORDPIECE}, "The walk <mask>.", "##ing", "The walking."),
        ({"bpe": WORDPIECE}, "THE <mask>, [x]", "cat", "THE cat, [x]"),
        ({"bpe": WORDPIECE}, "<mask> walk ", "cat", "cat walk "),
    ],
)
def test_the_filled_text_has_spaces_where_words_start(options, text, piece, filled, load):
    if options.get("bpe") == WORDPIECE:
        pytest.importorskip("tokenizers")
    hub = load(**options)
    expect(hub, piece)
    (found,) = hub.fill_mask(text, topk=1)
    assert found == (filled, 1.0, piece.replace("@@", ""))


def test_what_is_no_text_is_not_filled_in(load):
    hub = load()
    for special in ("<s>", "<pad>", "</s>"):
        expect(hub, special)
    found = [piece for _, _, piece in hub.fill_mask("the <mask>", topk=1000)]
    assert sorted(found) == sorted([*WORDS, "<unk>", "<mask>"])


@pytest.mark.parametrize(
    "options, text, pieces, decoded",
    [
        ({}, "the cat  zzz", ["the", "cat", "<unk>"], "the cat <unk>"),
        ({"bpe": "subword_nmt"}, "walk ing", ["walk", "ing"], "walk ing"),
        ({"tokenizer": "realformer_moses"}, "the cat's.", ["the", "cat", "<unk>", "."], None),
        ({"bpe": WORDPIECE}, "The WALKING cät.", ["the", "walk", "##ing", "cat", "."], None),
        ({"bpe": WORDPIECE, "wordpiece_cased": True}, "The cat", ["<unk>", "cat"], "<unk> cat"),
    ],
)
def test_text_is_encoded_and_decoded(options, text, pieces, decoded, load):
    if options.get("bpe") == WORDPIECE:
        pytest.importorskip("tokenizers")
    hub = load(**options)
    tokens = hub.encode(text)
    assert [hub.task.source_dictionary[t] for t in tokens] == ["<s>", *pieces, "</s>"]
    if decoded:
        assert hub.decode(tokens) == decoded


def test_the_stored_bpe_is_used_unless_another_is_given(tmp_path):
    stored = ["--bpe=subword_nmt", "--bpe-codes=/not/here/code"]
    path = save(tmp_path / "stored", bpe=stored)
    hub = RealFormerMaskedLM.from_pretrained(path)  # code is beside the model
    assert hub.bpe.encode("the cow") == "the c@@ o@@ w"
    hub = RealFormerMaskedLM.from_pretrained(path, bpe=None)
    assert hub.bpe.encode("the cow") == "the cow"
    hub = RealFormerMaskedLM.from_pretrained(path, bpe="characters")
    assert hub.bpe.encode("cow") == "c o w"
    (path / "code").unlink()
    with pytest.raises(UserError, match="bpe: .*/not/here/code"):
        RealFormerMaskedLM.from_pretrained(path)


def test_a_new_head_can_be_registered_and_an_unknown_one_is_named(load):
    hub = load()
    tokens = hub.encode("the cat")
    with pytest.raises(UserError, match="no classification head 'tone'; there are: kind"):
        hub.predict("tone", tokens)
    hub.register_classification_head("tone", num_classes=5)
    assert hub.predict("tone", tokens).exp().sum().item() == pytest.approx(1)


@pytest.mark.parametrize("text, count", [("the cat", 0), ("<mask> <mask>", 2)])
def test_a_text_without_one_mask_is_refused(text, count, load):
    with pytest.raises(UserError, match=f"'{text}' has {count} <mask>, not one"):
        load().fill_mask(text)


def test_a_segment_that_the_model_has_not_is_named(load):
    hub = load()
    tokens = hub.encode("the cat")
    with pytest.raises(ValueError, match="token_types: the model's segments are 0 to 1"):
        hub.extract_features(tokens, token_types=torch.full_like(tokens, 2))


@pytest.mark.parametrize("call", ["extract_features", "fill_mask"])
def test_a_text_above_the_limit_is_refused(call, load):
    hub = load()
    argument = "<mask>" + " cat" * 30
    with pytest.raises(ValueError, match="3[23] tokens are more than the model's limit of 24"):
        getattr(hub, call)(hub.encode(argument) if call == "extract_features" else argument)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"checkpoint_file": "x.pt"}, "checkpoint_file: no such file: '.*x.pt'"),
        ({"checkpoint_file": "code"}, "code: refused: truncated, or not a fairseq checkpoint"),
        ({"data_name_or_path": "/no/such"}, "data_name_or_path: no such folder: '/no/such'"),
        ({"data_name_or_path": "./there"}, "no such folder: '.*a model/./there'"),
        ({"data_name_or_path": "/"}, "data_name_or_path: no such file: '/dict.txt'"),
        ({"bpe": "none"}, "bpe: 'none' is none of .*subword_nmt"),
    ],
)
def test_what_is_not_there_is_named(options, message, load):
    with pytest.raises(UserError, match=message):
        load(**options)


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(UserError, match="no such folder: '/no/such'"):
        RealFormerMaskedLM.from_pretrained("/no/such")
