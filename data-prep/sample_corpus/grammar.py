"""The grammar: every rule with its weight, and the sampling of one sentence."""

from typing import Callable

from . import rules_actions as actions
from . import rules_objects as objects
from . import rules_questions as questions
from . import rules_relative as relative
from . import rules_states as states
from . import rules_subordinate as subordinate
from .sampling import Sampler
from .structure import Sentence

Rule = Callable[[Sampler], Sentence]

RULES: tuple[tuple[Rule, float], ...] = (
    (objects.transitive, 18),
    (objects.with_pronoun, 6),
    (objects.giving, 6),
    (objects.giving_it, 5),
    (objects.missing, 2),
    (objects.liking, 2.5),
    (objects.nothing, 2),
    (objects.already, 3),
    (objects.modal, 6),
    (objects.superlative, 2.5),
    (actions.intransitive, 6),
    (actions.reflexive, 4),
    (actions.motion, 4),
    (actions.going_there, 1.5),
    (actions.living, 1.5),
    (actions.nobody, 0.8),
    (states.description, 7),
    (states.comparison, 4.5),
    (states.role, 1.2),
    (states.presentation, 2.5),
    (states.existence, 4),
    (states.weather, 1.5),
    (states.hour, 0.5),
    (states.age, 1),
    (states.feeling, 2),
    (objects.command, 4.5),
    (questions.yes_or_no, 5),
    (questions.adverbial, 4),
    (questions.at_what_time, 1),
    (questions.object_word, 2.5),
    (questions.which_or_how_many, 3),
    (questions.who, 2),
    (questions.where_is, 1.5),
    (questions.how_old, 0.7),
    (subordinate.because_of_feeling, 2),
    (subordinate.because_of_event, 2),
    (subordinate.when, 3),
    (subordinate.childhood, 1.5),
    (subordinate.unreal_condition, 2),
    (subordinate.condition, 2.5),
    (subordinate.reported, 4),
    (subordinate.contrast, 1.5),
    (relative.relative_object, 4),
    (relative.relative_subject, 3),
    (relative.antecedent, 3.5),
)

#: Every rule as often as its weight says, in tenths.
_DRAWN = tuple(rule for rule, weight in RULES for _ in range(round(weight * 10)))


def sample(sampler: Sampler) -> Sentence:
    """Draw a rule by weight and let it draw a sentence."""
    return sampler.pick(_DRAWN)(sampler)
