"""French conjugation: present, imperfect, future, conditional, participle, auxiliary."""

from typing import NamedTuple

#: Position of a (person, number) pair in a table of forms; "tu" is never used by the grammar.
PERSONS = ((1, "sg"), (3, "sg"), (1, "pl"), (2, "pl"), (3, "pl"))

_IMPERFECT = ("ais", "ait", "ions", "iez", "aient")
_FUTURE = ("ai", "a", "ons", "ez", "ont")


class Paradigm(NamedTuple):
    """The principal parts from which every form follows."""

    present: tuple[str, ...]
    participle: str
    future_stem: str
    imperfect_stem: str


#: Irregular verbs: present for je, il, nous, vous, ils; past participle; future stem.
_IRREGULAR = {
    "aller": ("vais va allons allez vont", "allé", "ir"),
    "attendre": ("attends attend attendons attendez attendent", "attendu", "attendr"),
    "avoir": ("ai a avons avez ont", "eu", "aur"),
    "boire": ("bois boit buvons buvez boivent", "bu", "boir"),
    "connaître": ("connais connaît connaissons connaissez connaissent", "connu", "connaîtr"),
    "courir": ("cours court courons courez courent", "couru", "courr"),
    "croire": ("crois croit croyons croyez croient", "cru", "croir"),
    "devoir": ("dois doit devons devez doivent", "dû", "devr"),
    "dire": ("dis dit disons dites disent", "dit", "dir"),
    "dormir": ("dors dort dormons dormez dorment", "dormi", "dormir"),
    "écrire": ("écris écrit écrivons écrivez écrivent", "écrit", "écrir"),
    "entendre": ("entends entend entendons entendez entendent", "entendu", "entendr"),
    "être": ("suis est sommes êtes sont", "été", "ser"),
    "faire": ("fais fait faisons faites font", "fait", "fer"),
    "lire": ("lis lit lisons lisez lisent", "lu", "lir"),
    "offrir": ("offre offre offrons offrez offrent", "offert", "offrir"),
    "ouvrir": ("ouvre ouvre ouvrons ouvrez ouvrent", "ouvert", "ouvrir"),
    "partir": ("pars part partons partez partent", "parti", "partir"),
    "perdre": ("perds perd perdons perdez perdent", "perdu", "perdr"),
    "plaire": ("plais plaît plaisons plaisez plaisent", "plu", "plair"),
    "pleuvoir": ("- pleut - - -", "plu", "pleuvr"),
    "pouvoir": ("peux peut pouvons pouvez peuvent", "pu", "pourr"),
    "prendre": ("prends prend prenons prenez prennent", "pris", "prendr"),
    "rendre": ("rends rend rendons rendez rendent", "rendu", "rendr"),
    "répondre": ("réponds répond répondons répondez répondent", "répondu", "répondr"),
    "revenir": ("reviens revient revenons revenez reviennent", "revenu", "reviendr"),
    "rire": ("ris rit rions riez rient", "ri", "rir"),
    "savoir": ("sais sait savons savez savent", "su", "saur"),
    "sortir": ("sors sort sortons sortez sortent", "sorti", "sortir"),
    "sourire": ("souris sourit sourions souriez sourient", "souri", "sourir"),
    "vendre": ("vends vend vendons vendez vendent", "vendu", "vendr"),
    "venir": ("viens vient venons venez viennent", "venu", "viendr"),
    "voir": ("vois voit voyons voyez voient", "vu", "verr"),
    "vouloir": ("veux veut voulons voulez veulent", "voulu", "voudr"),
}

#: Verbs in -er whose stem changes before a silent ending (and, mostly, in the future).
_STEM_CHANGES = {
    "acheter": ("achèt", "achèter"),
    "appeler": ("appell", "appeller"),
    "ennuyer": ("ennui", "ennuier"),
    "envoyer": ("envoi", "enverr"),
    "lever": ("lèv", "lèver"),
    "nettoyer": ("nettoi", "nettoier"),
    "préférer": ("préfèr", "préférer"),
    "espérer": ("espèr", "espérer"),
    "promener": ("promèn", "promèner"),
}

_ETRE_VERBS = frozenset("aller arriver entrer partir rester revenir sortir tomber venir".split())


def _first_group(infinitive: str) -> Paradigm:
    stem = infinitive[:-2]
    weak, future = _STEM_CHANGES.get(infinitive, (stem, infinitive))
    soft = stem[:-1] + "ç" if stem.endswith("c") else stem + "e" if stem.endswith("g") else stem
    present = (weak + "e", weak + "e", soft + "ons", stem + "ez", weak + "ent")
    return Paradigm(present, stem + "é", future, stem)


def _second_group(infinitive: str) -> Paradigm:
    stem = infinitive[:-1]
    present = (stem + "s", stem + "t", stem + "ssons", stem + "ssez", stem + "ssent")
    return Paradigm(present, stem, infinitive, stem + "ss")


def _irregular(infinitive: str) -> Paradigm:
    forms, participle, future = _IRREGULAR[infinitive]
    present = tuple(forms.split())
    imperfect = {"être": "ét", "pleuvoir": "pleuv"}.get(infinitive, present[2][:-3])
    return Paradigm(present, participle, future, imperfect)


_PARADIGMS: dict[str, Paradigm] = {}


def paradigm(infinitive: str) -> Paradigm:
    """Return the principal parts of a verb, regular or not."""
    if infinitive not in _PARADIGMS:
        build = _first_group if infinitive.endswith("er") else _second_group
        build = _irregular if infinitive in _IRREGULAR else build
        _PARADIGMS[infinitive] = build(infinitive)
    return _PARADIGMS[infinitive]


def _imperfect(infinitive: str, slot: int) -> str:
    stem, ending = paradigm(infinitive).imperfect_stem, _IMPERFECT[slot]
    if stem.endswith("g") and ending[0] == "a":
        stem += "e"
    if stem.endswith("c") and ending[0] == "a":
        stem = stem[:-1] + "ç"
    return stem + ending


def conjugate(infinitive: str, tense: str, person: int, number: str) -> str:
    """Return one simple finite form ("present", "imperfect", "future" or "conditional")."""
    slot = PERSONS.index((person, number))
    if tense == "present":
        return paradigm(infinitive).present[slot]
    if tense == "imperfect":
        return _imperfect(infinitive, slot)
    endings = {"future": _FUTURE, "conditional": _IMPERFECT}[tense]
    return paradigm(infinitive).future_stem + endings[slot]


def participle(infinitive: str) -> str:
    """Return the masculine singular past participle."""
    return paradigm(infinitive).participle


def auxiliary(infinitive: str, reflexive: bool) -> str:
    """Return the auxiliary of the compound tenses."""
    return "être" if reflexive or infinitive in _ETRE_VERBS else "avoir"


def invert(finite: str, pronoun: str) -> str:
    """Put a subject pronoun after its verb, with the euphonic t ("va-t-il", "mange-t-elle")."""
    link = "-t-" if pronoun[0] in "ie" and finite[-1] in "aec" else "-"
    return finite + link + pronoun
