"""Beam search with models that are in memory, and the scores that its hypotheses must have."""

import torch
from fairseq.sequence_generator import SequenceGenerator
from models import EOS, PAD, TASK, assert_close, logits


def generate(models, source, beam=5, **options):
    prefix_tokens = options.pop("prefix_tokens", None)
    generator = SequenceGenerator(
        models, TASK.target_dictionary, beam_size=beam, **{"max_len_b": 12, **options}
    )
    sample = {"net_input": {"src_tokens": source, "src_lengths": source.ne(PAD).sum(1)}}
    with torch.no_grad():
        return generator.generate(models, sample, prefix_tokens=prefix_tokens)


def forced_scores(models, source, tokens):
    """Log-probability of each target token ``(T,)``, from full forward passes.

    Of several models the mean of the probabilities, as in fairseq's ensembles.
    """
    previous = torch.cat([torch.tensor([EOS]), tokens[:-1]]).unsqueeze(0)
    with torch.no_grad():
        lprobs = [torch.log_softmax(logits(m, source, previous), -1) for m in models]
    mean = torch.logsumexp(torch.stack(lprobs), 0) - torch.log(torch.tensor(float(len(models))))
    return mean[0].gather(1, tokens.unsqueeze(1)).squeeze(1)


def assert_forced_scores(models, source, generated, beam=5):
    """Each hypothesis has the scores that forcing it gives, for its sentence without padding."""
    for sentence, hypotheses in zip(source, generated):
        assert len(hypotheses) == beam
        words = sentence[sentence.ne(PAD)].unsqueeze(0)
        for hypothesis in hypotheses:
            forced = forced_scores(models, words, hypothesis["tokens"])
            assert_close(hypothesis["positional_scores"], forced)
