"""The built-in sample corpus: reference sentences and properties of the whole corpus."""

import hashlib
import os
import re
from itertools import islice

import pytest
from conftest import PROJECT, run
from sample_corpus.french_inflection import conjugate, principal_parts
from sample_corpus.generate import SIZES, build, pairs
from sample_corpus.noun_phrases import noun_phrase
from sample_corpus.nouns import ADJECTIVES, NOUNS
from sample_corpus.patterns import say, with_relative
from sample_corpus.structure import HE, IT, ME, SHE, THEY, WE, WHO, YOU, Clause
from sample_corpus.verbs import BE, NEVER, NOT, OFTEN, VERB

#: sha256 of the six files, in the order train, valid, test and English before French.
PINNED = "7bcca5335fa319a6151e22e738b3629966f2f997d39f7a202df28c4f1d5b651e"


def np(words, determiner="the", number=1):
    """Say a noun phrase of English adjectives and a noun."""
    *adjectives, noun = words.split()
    (found,) = (known for known in NOUNS if known.en == noun)
    return noun_phrase(found, determiner, number > 1, [ADJECTIVES[word] for word in adjectives])


def do(subject, verb, tense="present", direct=None, recipient=None, **more):
    """Build a clause of an English verb."""
    return Clause(subject, VERB[verb], tense, direct=direct, recipient=recipient, **more)


def be(subject, adjective, tense="present", **more):
    """Build "subject is adjective"."""
    return Clause(subject, BE, tense, predicate=ADJECTIVES[adjective], **more)


def ask(*clause, **more):
    """Build a clause whose verb is before its subject."""
    return do(*clause, mood="question", **more)


def bid(*clause, **more):
    """Build a command."""
    return do(YOU, *clause, mood="command", **more)


PAUL, ANNA, WOMEN = np("Paul", ""), np("Anna", ""), np("woman", number=2)
LETTERS, SHIRTS = np("letter", number=2), np("shirt", number=2)
HERO, ORANGES = np("hero"), np("orange", "how many", 2)
EST_CE_QUE, WHAT = ("", "est-ce que"), ("what", "qu'est-ce que")
WHY, WHERE = ("why", "pourquoi"), ("where", "où")
IF, THAT, COMMA = ("if", "si"), ("that", "que"), (",", ",")

#: What is expected, by phenomenon, and the parts that it is said from.
REFERENCES = {
    # Agreement: gender and number, irregular forms, bel
    "She is worried. | Elle est inquiète.": [be(SHE, "worried")],
    "We saw these beautiful horses. | Nous avons vu ces beaux chevaux.": [
        do(WE, "see", "past", np("beautiful horse", "this", 2))
    ],
    "He bought a beautiful white shirt. | Il a acheté une belle chemise blanche.": [
        do(HE, "buy", "past", np("beautiful white shirt", "a"))
    ],
    "A beautiful bird is sleeping. | Un bel oiseau dort.": [
        do(np("beautiful bird", "a"), "sleep", "progressive")
    ],
    "I eat good eggs. | Je mange de bons œufs.": [do(ME, "eat", direct=np("good egg", "bare", 2))],
    # Past participles with être, and with avoir after their object
    "The women arrived. | Les femmes sont arrivées.": [do(WOMEN, "arrive", "past")],
    "Anna went to bed. | Anna s'est couchée.": [do(ANNA, "go to bed", "past")],
    "She read the letters. | Elle a lu les lettres.": [do(SHE, "read", "past", LETTERS)],
    "She read them. | Elle les a lues.": [do(SHE, "read", "past", LETTERS.pronoun)],
    "How many oranges did you eat? | Combien d'oranges avez-vous mangées ?": [
        ORANGES,
        ask(YOU, "eat", "past", ORANGES.gap),
    ],
    # Tenses and modal verbs
    "I knew Anna. | Je connaissais Anna.": [do(ME, "know", "past", ANNA)],
    "You used to smile. | Vous souriiez.": [do(YOU, "smile", "habitual")],
    "She can get up. | Elle peut se lever.": [do(SHE, "get up", modal=VERB["can"])],
    "I am going to sleep. | Je vais dormir.": [do(ME, "sleep", modal=VERB["be going to"])],
    "He is hungry. | Il a faim.": [do(HE, "be hungry")],
    # Negation
    "I never eat meat. | Je ne mange jamais de viande.": [
        do(ME, "eat", direct=np("meat", "none"), adverb=NEVER)
    ],
    "She cannot find it. | Elle ne peut pas le trouver.": [
        do(SHE, "find", direct=IT, modal=VERB["can"], adverb=NOT)
    ],
    "They often laugh. | Ils rient souvent.": [do(THEY, "laugh", adverb=OFTEN)],
    # Object clitics and their position
    "I give it to her. | Je le lui donne.": [do(ME, "give", direct=IT, recipient=SHE)],
    "She did not give them to me. | Elle ne me les a pas donnés.": [
        do(SHE, "give", "past", THEY, ME, adverb=NOT)
    ],
    "I talk to him. | Je lui parle.": [do(ME, "talk to", direct=HE)],
    "Give it to me. | Donnez-le-moi.": [bid("give", direct=IT, recipient=ME)],
    "Give it to Anna. | Donnez-le à Anna.": [bid("give", direct=IT, recipient=ANNA)],
    "Do not give it to him. | Ne le lui donnez pas.": [
        bid("give", direct=IT, recipient=HE, adverb=NOT)
    ],
    # Elision and h aspiré
    "I love Anna's story. | J'aime l'histoire d'Anna.": [do(ME, "love", direct=np("story", ANNA))],
    "He helps me. | Il m'aide.": [do(HE, "help", direct=ME)],
    "I think that he does not love Anna. | Je pense qu'il n'aime pas Anna.": [
        *(do(ME, "think"), THAT, do(HE, "love", direct=ANNA, adverb=NOT))
    ],
    "The hero saw the harp. | Le héros a vu la harpe.": [do(HERO, "see", "past", np("harp"))],
    # Contractions
    "I went to the market. | Je suis allé au marché.": [do(ME, "go to", "past", np("market"))],
    "We talked to the women. | Nous avons parlé aux femmes.": [do(WE, "talk to", "past", WOMEN)],
    "They drank some water. | Ils ont bu de l'eau.": [do(THEY, "drink", "past", np("water", "a"))],
    # Questions
    "Do you smile? | Est-ce que vous souriez ?": [EST_CE_QUE, do(YOU, "smile", mood="asked")],
    "Where did Paul sleep? | Où Paul a-t-il dormi ?": [WHERE, ask(PAUL, "sleep", "past")],
    "Why did the women not get up? | Pourquoi les femmes ne se sont-elles pas levées ?": [
        *(WHY, ask(WOMEN, "get up", "past", adverb=NOT))
    ],
    "What does Anna eat? | Qu'est-ce qu'Anna mange ?": [WHAT, do(ANNA, "eat", mood="asked")],
    "Who broke it? | Qui l'a cassé ?": [do(WHO, "break", "past", IT)],
    # Relative clauses
    "The woman who is singing is happy. | La femme qui chante est heureuse.": [
        be(with_relative(np("woman"), do(np("woman").gap, "sing", "progressive")), "happy")
    ],
    "The shirts that Anna bought are red. | Les chemises qu'Anna a achetées sont rouges.": [
        be(with_relative(SHIRTS, do(ANNA, "buy", "past", SHIRTS.gap)), "red")
    ],
    # Subordinate clauses
    "If it rains, we will leave. | S'il pleut, nous partirons.": [
        *(IF, do(IT, "rain"), COMMA, do(WE, "leave", "future"))
    ],
    "If he had a car, he would come back from the beach. | "
    "S'il avait une voiture, il reviendrait de la plage.": [
        *(IF, do(HE, "have", "past", np("car", "a")), COMMA),
        do(HE, "come back from", "conditional", np("beach")),
    ],
}


@pytest.mark.parametrize("expected", REFERENCES)
def test_reference_sentence(expected):
    said = say(REFERENCES[expected], "?" if "?" in expected else ".")
    assert " | ".join(said) == expected


#: The forms of je, il, nous, vous, ils.
CONJUGATED = """
acheter present achète achète achetons achetez achètent
boire present bois boit buvons buvez boivent
choisir present choisis choisit choisissons choisissez choisissent
ouvrir present ouvre ouvre ouvrons ouvrez ouvrent
perdre present perds perd perdons perdez perdent
être imperfect étais était étions étiez étaient
manger imperfect mangeais mangeait mangions mangiez mangeaient
envoyer future enverrai enverra enverrons enverrez enverront
aller conditional irais irait irions iriez iraient
"""


@pytest.mark.parametrize("line", CONJUGATED.strip().splitlines())
def test_conjugation(line):
    infinitive, tense, *forms = line.split()
    assert [conjugate(infinitive, tense, person) for person in range(5)] == forms


def test_only_verbs_in_er_are_conjugated_as_such():
    for verb in VERB.values():
        assert (principal_parts(verb.fr)[5][-1] == "é") == verb.fr.endswith("er"), verb.fr


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The files as the command writes them, under a hash seed of their own, without an output."""
    directory = tmp_path_factory.mktemp("corpus") / "new"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{PROJECT / 'data-prep'}:{PROJECT}",
        "PYTHONHASHSEED": "1",
    }
    command = 'python3 -m sample_corpus --out "$0" >&-'
    said = run("bash", "-c", command, directory, env=environment).stderr
    assert said == "".join(f"{name}: {size} sentence pairs\n" for name, size in SIZES.items())
    return directory


@pytest.fixture(scope="module")
def corpus():
    """The pairs as this process makes them, whose hash seed is another one."""
    return build()


@pytest.fixture(scope="module")
def everything(corpus):
    return [pair for chosen in corpus.values() for pair in chosen]


def test_files_are_always_the_same(written, corpus):
    digest, names = hashlib.sha256(), []
    for split, size in SIZES.items():
        assert len(corpus[split]) == size
        for language in ("en", "fr"):
            names.append(f"{split}.{language}")
            content = (written / names[-1]).read_bytes()
            digest.update(content)
            lines = [f"{getattr(pair, language)}\n" for pair in corpus[split]]
            assert content.decode() == "".join(lines)
    assert digest.hexdigest() == PINNED
    assert sorted(path.name for path in written.iterdir()) == sorted(names)  # no temporary file


def test_an_english_sentence_has_one_translation(everything):
    assert len({pair.en for pair in everything}) == len(everything)


def test_sets_are_disjoint_in_both_languages(corpus):
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        for language in ("en", "fr"):
            ours, theirs = (
                {getattr(pair, language) for pair in corpus[split]} for split in (one, other)
            )
            assert not ours & theirs


def combinations(chosen):
    return frozenset().union(*(pair.combinations for pair in chosen))


@pytest.mark.parametrize("split", ["valid", "test"])
def test_most_sentences_combine_words_as_training_does_not(corpus, split):
    known = combinations(corpus["train"])
    new = [pair for pair in corpus[split] if pair.combinations - known]
    assert len(new) >= 0.94 * SIZES[split]
    assert len(combinations(new) - known) >= 80
    training = " ".join(pair.en for pair in corpus["train"])
    for adjective, noun in combinations(new) - known:
        if adjective in ADJECTIVES:
            assert f" {adjective} {noun}" not in training


def test_valid_and_test_share_no_new_combination(corpus):
    known, valid, test = (combinations(corpus[split]) for split in ("train", "valid", "test"))
    assert not (valid - known) & (test - known)


@pytest.mark.parametrize("split", ["valid", "test"])
@pytest.mark.parametrize("language", ["en", "fr"])
def test_every_word_occurs_in_training(corpus, split, language):
    known, used = (
        set(re.findall(r"\w+", " ".join(getattr(pair, language) for pair in corpus[name])))
        for name in ("train", split)
    )
    assert used <= known and len(known) > 600


ASPIRATED = "héros|hérisson|hibou|harpe|hache"
VOWEL = f"(?:[aeiouyâéèêîôœ]|(?!{ASPIRATED})h)"
MISTAKES = {
    "spaces": r"  | [.,]|^ | $|[^ ]\?|' ",
    "elision": rf"(?<!-)\b(?:[jmsldnc]e|la|que) {VOWEL}|\bsi ils?\b",
    "elision before a consonant": rf"'(?:{ASPIRATED}|[^aeiouyhâéèêîôœ])",
    "contraction": r"(?:^|(?<= ))(?:à|de) les? ",
    "de les": r"\bdu (?:les?|la)\b",
    "form before a vowel": rf"\b(?:ce|ma|sa|beau|nouveau) {VOWEL}|\bvieux {VOWEL}\w*[^sx\W] ",
    "bel and the like before a consonant": rf"\b(?:cet|bel|vieil|nouvel) (?!{VOWEL})",
    "des before an adjective": r"(?<!peur )(?<!besoin )\bdes (?:bons|belles|beaux|vieux|petite?s) ",
    "plurals": r"\w(?:xs|zs|ss|[^n]als|eaus)\b",
    "t between vowels": r"[ae]-(?:il|elle)|[^ae]-t-",
    "marks of the grammar": r"[*_=/|]",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_french_has_no(mistake, everything):
    wrong = [pair.fr for pair in everything if re.search(MISTAKES[mistake], pair.fr, re.I)]
    assert wrong == []


def test_ne_and_its_second_part_come_together(everything):
    for pair in everything:
        first = re.search(r"\bn(?:e |')", pair.fr, re.I)
        assert bool(first) == bool(re.search(r"\b(?:pas|jamais|plus)\b", pair.fr)), pair.fr


def test_english_is_well_formed(everything):
    wrong = r"  | [.,?]|\ba [aeiou]|\ban [^aeiou]|[*_=/|]|\b(?!her\b)(\w+) \1\b"
    for pair in everything:
        assert re.fullmatch(r"[A-Z].*[.?]", pair.en) and not re.search(wrong, pair.en, re.I)
        assert pair.en[-1] == pair.fr[-1] and len(pair.en.split()) <= 20


def test_sentences_are_short_and_varied(corpus):
    lengths = [len(pair.en.split()) for pair in corpus["train"]]
    assert 6 <= sum(lengths) / len(lengths) <= 8
    questions = sum(pair.en[-1] == "?" for pair in corpus["train"])
    negated = sum(re.search(r"\bn(?:e |')", pair.fr, re.I) is not None for pair in corpus["train"])
    for count in (questions, negated):
        assert 0.1 < count / SIZES["train"] < 0.4


def test_other_seeds_give_other_sentences():
    first, second = (list(islice(pairs(seed), 2000)) for seed in (1, 2))
    assert first != second
