"""Rules for questions."""

from . import verbs
from .nouns import nouns_of
from .rules_states import described
from .sampling import Sampler
from .structure import Clause, NounPhrase, Phrase, Question, Sentence, Trace, Word, trace_of
from .tenses import inflected, simply_tensed


def _ask(clause: Clause, word=None) -> Sentence:
    return Sentence((Question(clause, word),), "?")


def yes_or_no(s: Sampler) -> Sentence:
    """Ask "Did you see the doctor?"."""
    if s.chance(0.2):
        subject, adjective = described(s)
        subject = s.named() if subject.person == 1 else subject
        return _ask(simply_tensed(s, Clause(subject, verbs.BE, predicate=adjective)))
    subject = s.subject(asked=True)
    if s.chance(0.25):
        return _ask(simply_tensed(s, Clause(subject, s.pick(verbs.INTRANSITIVE))))
    verb = s.pick(verbs.TRANSITIVE + verbs.STATIVE)
    direct = s.object_of(verb, subject)
    if s.chance(0.3) and verb not in (verbs.HAVE, verbs.HATE):
        direct = s.clitic_object(verb, subject)
    return _ask(simply_tensed(s, Clause(subject, verb, direct=direct)))


#: Question words, with the verbs they go with (None: any) without and with an object.
_ADVERBIAL = (
    (Phrase("why", "pourquoi"), None, None),
    (Phrase("why", "pourquoi"), None, None),
    (
        Phrase("when", "quand"),
        "partir arriver voyager coucher reposer",
        "buy write read sell meet visit call clean",
    ),
    (
        Phrase("where", "où"),
        "travailler dormir jouer danser chanter rester",
        "buy find lose see meet repair wait wash",
    ),
    (
        Phrase("where", "où"),
        "travailler dormir jouer danser chanter rester",
        "buy find lose see meet repair wait wash",
    ),
    (Phrase("how", "comment"), "voyager", "open close repair break find clean draw"),
)


def _asked_action(s: Sampler, subject, wanted) -> Clause:
    """Choose a clause with an object, for a question about its circumstances."""
    pool = verbs.TRANSITIVE
    verb = s.pick([v for v in pool if wanted is None or v.en.base in wanted.split()])
    personal = verb.is_personal
    direct = s.object_of(verb, subject)
    if s.chance(0.25) and not personal:
        direct = s.clitic_object(verb, subject)
    return Clause(subject, verb, direct=direct)


def adverbial(s: Sampler) -> Sentence:
    """Ask "Why is she crying?", "Where did Paul buy this hat?"."""
    word, alone, with_object = s.pick(_ADVERBIAL)
    subject = s.subject(asked=True)
    actions = [v for v in verbs.INTRANSITIVE if alone is None or v.fr in alone.split()]
    clause = Clause(subject, s.pick(actions))
    if s.chance(0.6):
        clause = _asked_action(s, subject, with_object)
    if word.en in ("when", "how"):
        return _ask(clause.but(tense=s.pick(("past", "future"))), word)
    if word.en == "why" and s.chance(0.25):
        return _ask(clause.but(tense="past", polarity="not"), word)
    return _ask(simply_tensed(s, clause), word)


def at_what_time(s: Sampler) -> Sentence:
    """Ask "At what time did you get up?"."""
    wanted = "partir arriver lever réveiller coucher".split()
    verb = s.pick([v for v in verbs.INTRANSITIVE if v.fr in wanted])
    tense = s.pick(("present", "past", "past", "future"))
    clause = Clause(s.subject(asked=True), verb, tense)
    return _ask(clause, Phrase("at what time", "à quelle heure"))


_WITH_PERSON = tuple(
    verb
    for verb in verbs.TRANSITIVE
    if verb.is_personal and verb.case == "direct" and "tool" not in verb.objects
)
_WITH_THING = tuple(
    verb
    for verb in verbs.TRANSITIVE
    if verb.case == "direct" and not verb.objects.startswith(("person", "kin"))
)


def object_word(s: Sampler) -> Sentence:
    """Ask "What is she drawing?" or "Who did Paul meet?" (about the object)."""
    subject = s.subject(asked=True)
    trace = Trace(3, "sg", "m")
    if s.chance(0.4):
        clause = Clause(subject, s.pick(_WITH_PERSON), direct=trace)
        return _ask(simply_tensed(s, clause), Word("who", "qui"))
    clause = Clause(subject, s.pick(_WITH_THING), direct=trace)
    return _ask(simply_tensed(s, clause), Word("what", "que"))


def which_or_how_many(s: Sampler) -> Sentence:
    """Ask "Which dress did she choose?" or "How many eggs are you buying?"."""
    verb = s.pick(_WITH_THING)
    noun = s.pick(nouns_of(verb.objects))
    mass = "mass" in noun.kinds
    many = not mass and "building" not in noun.kinds and s.chance(0.45)
    number = "pl" if many or (not mass and s.chance(0.3)) else "sg"
    asked = NounPhrase(noun, "many" if many else "which", number, s.adjectives(noun, 0.15))
    clause = Clause(s.subject(asked=True), verb, direct=trace_of(asked))
    return _ask(simply_tensed(s, clause), asked)


def who(s: Sampler) -> Sentence:
    """Ask "Who broke the lamp?"."""
    subject = Word("who", "qui")
    verb = s.pick(verbs.TRANSITIVE + verbs.STATIVE)
    clause = Clause(subject, verb, direct=s.object_of(verb))
    if s.chance(0.2):
        clause = Clause(subject, s.pick(verbs.INTRANSITIVE))
    return Sentence((inflected(s, clause),), "?")


def where_is(s: Sampler) -> Sentence:
    """Ask "Where is my umbrella?"."""
    noun = s.pick(nouns_of("thing kin animal public"))
    plural = "thing" in noun.kinds and s.chance(0.3)
    owned = "kin" in noun.kinds or ("thing" in noun.kinds and s.chance(0.6))
    adjectives = () if owned else s.adjectives(noun)
    found = NounPhrase(noun, s.owner() if owned else "def", "pl" if plural else "sg", adjectives)
    start = Phrase("where are", "où sont") if plural else Phrase("where is", "où est")
    return Sentence((start, found), "?")


def how_old(s: Sampler) -> Sentence:
    """Ask "How old is your sister?" ("Quel âge votre sœur a-t-elle ?")."""
    tense = s.weighted((("present", 3), ("past", 1)))
    clause = Clause(s.subject(asked=True), verbs.BE_AGED, tense)
    return _ask(clause, Phrase("how old", "quel âge"))
