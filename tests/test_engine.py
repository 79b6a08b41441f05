"""The engine: the same hypotheses as fairseq's SequenceGenerator, for every model and search."""

import collections
import itertools

import numpy as np
import pytest
import torch
from beam_search import generate
from engine_models import batch_of, export, sentences
from fairseq.ngram_repeat_block import NGramRepeatBlock
from fairseq.sequence_generator import SequenceGeneratorWithAlignment
from models import EOS, MODES, PAD, TASK, build, logits, with_trained_omega

from realformer_runtime.engine.translation import Search
from realformer_runtime.engine.translator import Translator

SEARCH = dict(max_len_b=12)
LENGTHS = (7, 1, 4, 0, 9, 3)


def assert_same(found, expected):
    """The hypotheses of a batch, in their order, with scores to 1e-4."""
    assert len(found) == len(expected)
    for own, theirs in zip(found, expected):
        assert [each.tokens.tolist() for each in own] == [h["tokens"].tolist() for h in theirs]
        for each, hypothesis in zip(own, theirs):
            assert each.score == pytest.approx(float(hypothesis["score"]), abs=1e-4)
            scores = hypothesis["positional_scores"].numpy()
            np.testing.assert_allclose(each.positional_scores, scores, atol=1e-4)


def compare(folder, models, beam=5, fairseq=None, **search):
    subwords = sentences(LENGTHS)
    translator = Translator(folder, threads=1)
    found = translator.translate_tokens(subwords, beam=beam, nbest=beam, **SEARCH, **search)
    assert_same(found, generate(models, batch_of(subwords), beam, **(fairseq or search)))


ACTIVATIONS = ("relu_squared", "gelu", "gelu_accurate", "gelu_fast", "tanh", "linear")
MODELS = {
    **{mode: dict(residual_attention=mode) for mode in MODES},
    "transformer": dict(arch="transformer"),
    "chain of cross-attention": dict(residual_chains="cross"),
    "sum in the decoder": dict(residual_attention="sum", residual_chains="decoder"),
    "Pre-LN": dict(encoder_normalize_before=True, decoder_normalize_before=True),
    "Pre-LN without last norm": dict(decoder_normalize_before=True, no_decoder_final_norm=True),
    "learned positions": dict(encoder_learned_pos=True, decoder_learned_pos=True),
    "no positions": dict(no_token_positional_embeddings=True),
    "no scale, norm of embeddings": dict(no_scale_embedding=True, layernorm_embedding=True),
    "shared embeddings": dict(share_all_embeddings=True),
    "shared in the decoder": dict(share_decoder_input_output_embed=True),
    "widths": dict(encoder_embed_dim=24, encoder_attention_heads=3, decoder_ffn_embed_dim=7),
    "widths of the output": dict(decoder_input_dim=8, decoder_output_dim=12),
    "depths": dict(encoder_layers=1, decoder_layers=4, decoder_attention_heads=4),
    "LayerDrop": dict(encoder_layerdrop=0.5, decoder_layerdrop=0.5),
    **{
        name: dict(activation_fn=name) for name in ("gelu", "gelu_accurate", "tanh", "relu_squared")
    },
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_hypotheses_are_fairseqs(options, tmp_path):
    model = build(**options).eval()
    compare(export(model, tmp_path / "model"), [model])


@pytest.mark.parametrize("scaling", ["admin", "admin-analytic", "deepnorm"])
def test_omega_in_the_graph(scaling, tmp_path):
    model = with_trained_omega(sublayer_scaling=scaling)
    compare(export(model, tmp_path / "model"), [model])


@pytest.fixture(scope="module")
def model():
    return with_trained_omega(sublayer_scaling="none")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    return export(model, tmp_path_factory.mktemp("engine") / "model")


@pytest.mark.parametrize("beam", [1, 2, 3, 8, 20, 60])
def test_beams(folder, model, beam):
    """60 is more than there are words."""
    compare(folder, [model], beam=beam)


@pytest.mark.parametrize("beam", [18, 30, 43])
def test_beams_of_about_all_words(beam, tmp_path):
    """A model that likes to end: many of the candidates are ends."""
    model = with_trained_omega(share_decoder_input_output_embed=False)
    with torch.no_grad():
        features = model.decoder.output_projection.weight
        features[EOS] = 3 * features.mean(dim=0) + 2 * features[7]
    compare(export(model, tmp_path / "model"), [model], beam=beam)


def test_lengths_stay_within_the_model(tmp_path):
    model = build(max_source_positions=40, max_target_positions=12).eval()
    translator = Translator(export(model, tmp_path / "model"))
    for search in ({"match_source_len": True}, {"max_len_b": 200}):
        (found,) = translator.translate_tokens(sentences([30]), **search)
        assert len(found[0].tokens) <= 12


@pytest.mark.parametrize("size", [1, 2, 3])
def test_ngrams_do_not_repeat(folder, model, size, monkeypatch):
    """fairseq's rule, given the tokens that there are, where fairseq adds padding to them."""
    block = NGramRepeatBlock._no_repeat_ngram

    def block_among_tokens(self, tokens, lprobs, bsz, beam_size, step):
        return block(self, tokens[:, : step + 1], lprobs, bsz, beam_size, step)

    monkeypatch.setattr(NGramRepeatBlock, "_no_repeat_ngram", block_among_tokens)
    if size > 1:  # of 1 it forbids nothing
        compare(folder, [model], no_repeat_ngram_size=size)
    found = Translator(folder).translate_tokens(
        sentences(LENGTHS), no_repeat_ngram_size=size, nbest=5, **SEARCH
    )
    for hypothesis in itertools.chain(*found):
        words = hypothesis.tokens.tolist()
        ngrams = list(zip(*(words[first:] for first in range(size))))
        assert len(ngrams) == len(set(ngrams))


@pytest.mark.parametrize(
    ("search", "fairseq"),
    [
        ({"lenpen": 0.3}, {"len_penalty": 0.3}),
        ({"unnormalized": True}, {"normalize_scores": False}),
        ({"unkpen": -3.0}, {"unk_penalty": -3.0}),
        ({"min_len": 6}, {"min_len": 6}),
        ({"max_len_a": 0.7, "max_len_b": 0}, {"max_len_a": 0.7, "max_len_b": 0}),
        ({"temperature": 1.7}, {"temperature": 1.7}),
        ({"match_source_len": True}, {"match_source_len": True}),
    ],
    ids=str,
)
def test_search_options(folder, model, search, fairseq):
    subwords = sentences(LENGTHS)
    found = Translator(folder).translate_tokens(subwords, nbest=5, **{**SEARCH, **search})
    assert_same(found, generate([model], batch_of(subwords), **fairseq))


@pytest.mark.parametrize("lengths", [(0, 1, 2, 3, 1, 0), (3, 3, 3, 3, 3, 3)])
def test_prefixes(folder, model, lengths):
    subwords, start = sentences(LENGTHS), sentences(lengths, seed=2)
    tokens = [[TASK.target_dictionary.index(word) for word in words] for words in start]
    longest = max(map(len, tokens))
    prefix = torch.tensor([words + [PAD] * (longest - len(words)) for words in tokens])
    found = Translator(folder).translate_tokens(subwords, prefix=start, nbest=5, **SEARCH)
    assert_same(found, generate([model], batch_of(subwords), prefix_tokens=prefix))


def test_ensembles(folder, model, tmp_path):
    """Of models of other depths and widths."""
    other = with_trained_omega(3, encoder_layers=1, decoder_layers=2, decoder_embed_dim=8)
    both = f"{folder}:{export(other, tmp_path / 'other')}"
    compare(both, [model, other])
    compare(both, [model, other], beam=2, fairseq={"temperature": 0.7}, temperature=0.7)


def test_attention_and_alignment(folder, model):
    """Those of fairseq, which aligns in a second pass over what it has found."""
    subwords = sentences(LENGTHS)
    found = Translator(folder).translate_tokens(subwords, alignment=True, nbest=5, **SEARCH)
    source = batch_of(subwords)
    aligner = SequenceGeneratorWithAlignment(
        [model], TASK.target_dictionary, beam_size=5, print_alignment="hard", max_len_b=12
    )
    previous = torch.full((len(source), 1), EOS)
    net_input = {"src_tokens": source, "src_lengths": source.ne(PAD).sum(1)}
    sample = {"net_input": {**net_input, "prev_output_tokens": previous}, "target": previous}
    expected = aligner.generate([model], sample)
    for words, own, theirs in zip(subwords, found, expected):
        for each, hypothesis in zip(own, theirs):
            attention = hypothesis["attention"].numpy()[-len(words) - 1 :]
            np.testing.assert_allclose(each.attention, attention, atol=1e-5)
            assert each.alignment == [tuple(map(int, pair)) for pair in hypothesis["alignment"]]
    assert Translator(folder).translate_tokens(subwords)[0][0].alignment == []


def test_batches_do_not_change_hypotheses(folder):
    """But for the limit of the length, which fairseq takes from the longest of a batch."""
    translator, subwords = Translator(folder), sentences(range(20))
    expected = [translator.translate_tokens([words], **SEARCH)[0][0] for words in subwords]
    for max_tokens in (2, 21, 50, 2000):
        found = translator.translate_tokens(subwords, max_tokens=max_tokens, **SEARCH)
        for (own,), other in zip(found, expected):
            assert own.tokens.tolist() == other.tokens.tolist()
            assert own.score == pytest.approx(other.score, abs=1e-5)
    assert translator.translate_tokens([]) == []


def test_sampling_draws_from_the_model(folder, model):
    """First tokens as often as they are probable; among the best few only, if so asked."""
    translator, count = Translator(folder), 2000
    (words,) = sentences([5])
    draw = dict(sampling=True, beam=20, nbest=20, max_len_b=1, min_len=0)
    drawn = collections.Counter()
    for seed in range(count // 20):
        (found,) = translator.translate_tokens([words], seed=seed, **draw)
        drawn.update(hypothesis.tokens[0] for hypothesis in found)
    source = batch_of([words])
    with torch.no_grad():
        expected = logits(model, source, torch.tensor([[EOS]]))[0, 0]
    expected[PAD] = -float("inf")
    expected = torch.log_softmax(expected, -1).exp().numpy()
    frequencies = np.array([drawn[token] for token in range(len(expected))]) / count
    assert abs(frequencies - expected).max() < 4 * (0.25 / count) ** 0.5
    best = set(np.argsort(-expected)[:3])
    for chosen in (
        {"sampling_topk": 3},
        {"sampling_topp": float(np.sort(expected)[-2:].sum()) + 1e-4},
    ):
        (found,) = translator.translate_tokens([words], **draw, **chosen)
        assert {hypothesis.tokens[0] for hypothesis in found} <= best
    # Probabilities that are too small for numbers, as at the limit of the length.
    for cold in ({}, {"sampling_topk": 2}, {"sampling_topp": 0.5}):
        options = {**draw, "temperature": 1e-3, "max_len_b": 3, **cold}
        (found,) = translator.translate_tokens([words], **options)
        assert len(found) == 20
    again, twice = (translator.translate_tokens([words], **draw)[0] for _ in range(2))
    assert [h.tokens.tolist() for h in again] == [h.tokens.tolist() for h in twice]


def test_sampling_draws_on_from_batch_to_batch_and_from_call_to_call(folder):
    (words,) = sentences([5])
    translator, draw = Translator(folder), dict(sampling=True, beam=1, max_len_b=8)
    copies = translator.translate_tokens([words] * 8, max_tokens=len(words) + 1, **draw)
    assert len({tuple(each.tokens) for (each,) in copies}) > 1
    search = Search(translator, **draw)
    assert len({text for _ in range(8) for text in search.translate_sentences([[words]])}) > 1
