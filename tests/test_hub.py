"""``RealFormerModel.from_pretrained`` on a folder; ``translate`` is in test_translation.py."""

import copy
from types import SimpleNamespace

import pytest
import torch
from fairseq.hub_utils import GeneratorHubInterface
from fairseq.models.transformer import TransformerModel
from hubs import from_pretrained

from realformer_fairseq import RealFormerModel
from realformer_fairseq.models.hub_files import check_files
from realformer_runtime.command_line import UserError


@pytest.fixture(scope="module")
def hub(trained, prepared):
    return from_pretrained(trained, prepared)


@pytest.fixture(scope="module")
def pairs(prepared):
    return [(prepared / f"raw/test.{lang}").read_text().splitlines()[:5] for lang in ("en", "fr")]


def test_the_score_of_a_translation_is_that_of_a_forward_pass(hub, pairs, prepared):
    """With the tokens that preparation made of the same text."""
    sources, targets = (
        (prepared / f"bpe/test.{lang}").read_text().splitlines() for lang in ("en", "fr")
    )
    for number, found in enumerate(hub.score(*pairs)):
        source = hub.src_dict.encode_line(sources[number], add_if_not_exist=False).long()
        target = hub.tgt_dict.encode_line(targets[number], add_if_not_exist=False).long()
        assert torch.equal(found["tokens"], target)
        previous = torch.cat([target[-1:], target[:-1]])
        with torch.no_grad():
            out, _ = hub.models[0](source[None], None, previous[None])
        expected = torch.log_softmax(out[0], -1).gather(1, target[:, None])[:, 0]
        torch.testing.assert_close(found["positional_scores"], expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(found["score"], expected.mean(), atol=1e-5, rtol=1e-5)


def test_an_ensembles_score_is_the_mean_of_probabilities(trained, prepared, pairs):
    files = "checkpoint_1_10.pt", "checkpoint_last.pt"
    one, other, both = (
        from_pretrained(trained, prepared, checkpoint=name).score(pairs[0][0], pairs[1][0])
        for name in (*files, ":".join(files))
    )
    mean = (one["positional_scores"].exp() + other["positional_scores"].exp()) / 2
    torch.testing.assert_close(both["positional_scores"].exp(), mean)
    assert not torch.allclose(one["positional_scores"], other["positional_scores"])


def test_sampling_is_repeatable_and_in_order(hub, pairs):
    options = dict(sampling=True, max_len_b=8)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(hub.sample(pairs[0], **options))
    assert found[0] == found[1] != found[2]
    assert len(found[0]) == 5 and all(isinstance(text, str) for text in found[0])
    torch.manual_seed(1)
    assert hub.sample(pairs[0][0], sampling=True, sampling_topk=1, max_len_b=8) == hub.translate(
        pairs[0][0], beam=1, max_len_a=0, max_len_b=8
    )


def test_sample_is_fairseqs(hub, pairs):
    plain = GeneratorHubInterface(hub.cfg, hub.task, [copy.deepcopy(hub.models[0])])
    assert hub.sample(pairs[0], beam=2) == plain.sample(pairs[0], beam=2)


def test_a_model_moved_and_back_translates_the_same(hub, pairs):
    before = hub.translate(pairs[0], max_len_a=0, max_len_b=8)
    hub.double().float()
    assert hub.translate(pairs[0], max_len_a=0, max_len_b=8) == before


@pytest.mark.parametrize(
    "sentences, translations, message",
    [
        (["one", "two"], ["un"], "2 sentences, but 1 translations"),
        ("one", ["un"], "both as lists"),
        ("one " * 1100, "un", "longer than the limit of 1023 subwords: 'one one"),
        ("one", "un " * 1100, "longer than the limit of 1023 subwords: 'un un"),
    ],
)
def test_what_cannot_be_scored_is_named(hub, sentences, translations, message):
    with pytest.raises(UserError, match=message):
        hub.score(sentences, translations)


@pytest.mark.parametrize(
    "path, checkpoint, data, message",
    [
        ("nowhere", "checkpoint_last.pt", "", "no such folder: '.*nowhere'"),
        ("", "checkpoint_last.pt:b.pt", "", "no such file: '.*b.pt'"),
        ("", "train.log", "", "train.log: refused: truncated, or not a fairseq checkpoint"),
        ("", "checkpoint_last.pt", "./elsewhere", "data_name_or_path: no such file: '.*dict.en.t"),
        ("", "checkpoint_last.pt", "/no/such", "data_name_or_path: no such file: '/no/such/dict"),
    ],
)
def test_what_is_not_there_is_named(trained, prepared, path, checkpoint, data, message):
    data = data or str(prepared / "data-bin")
    with pytest.raises(UserError, match=message):
        RealFormerModel.from_pretrained(trained / path, checkpoint, data_name_or_path=data)


def test_fairseqs_own_from_pretrained_loads_ours(trained, prepared, pairs, hub):
    """A model knows itself by its checkpoint, whichever class is asked."""
    other = from_pretrained(trained, prepared, model=TransformerModel)
    assert type(other.models[0]) is RealFormerModel
    torch.testing.assert_close(
        other.models[0].state_dict(), hub.models[0].state_dict(), rtol=0, atol=0
    )


def test_languages_are_the_checkpoints(trained, prepared, pairs, hub):
    """fairseq's default is English, on both sides."""
    options = {"bpe": "subword_nmt", "bpe_codes": str(prepared / "code")}
    other = RealFormerModel.from_pretrained(
        trained,
        "checkpoint_last.pt",
        prepared / "data-bin",
        tokenizer="realformer_moses",
        **options,
    )
    text = "L’ami d’Anna."
    assert other.tokenizer.encode_target(text) == hub.tokenizer.encode_target(text)
    assert other.detokenize("l&apos; ami d&apos; Anna .") == "l'ami d'Anna."


def test_a_translation_is_not_made_of_the_sources_characters(hub, pairs, monkeypatch):
    """U+200C, which Persian writes within words, is left out where the source does not know it."""
    expected = hub.score(pairs[0][0], pairs[1][0])
    monkeypatch.setattr(hub, "tokenizer", SimpleNamespace(encode=hub.tokenizer.encode_target))
    monkeypatch.setattr(hub, "_in_known_characters", lambda text: text[:1])
    found = hub.score("the", pairs[1][0])
    assert torch.equal(found["tokens"], expected["tokens"])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"lenpn": 1}, "lenpn is no option .is lenpen meant"),
        ({"nbest": 2}, "nbest: has no effect here"),
        ({"beam": 0}, "beam is 1 or more"),
        ({"beam": "5"}, "beam is a whole number"),
        ({"lenpen": None}, "lenpen is a number"),
    ],
)
def test_an_option_of_no_use_is_named(hub, options, message):
    with pytest.raises(UserError, match=message):
        hub.translate("the", **options)
    hub.translate("", nbest=1, print_alignment=None)


@pytest.mark.parametrize("data", [__file__, "https://example.org/data.tar.gz"])
def test_archives_and_addresses_of_data_are_left_to_fairseq(data, trained):
    check_files(str(trained), "checkpoint_last.pt", data)
