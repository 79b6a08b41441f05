"""Verbs: English and French forms, argument structure and selectional restrictions."""

from typing import NamedTuple

from .english_morphology import EnglishVerb, verb


class Verb(NamedTuple):
    """A pair of verbs.

    ``case`` says how French marks the object: "direct", "à" or "de" ("" without object).
    ``swap`` marks verbs whose French subject is the English object ("I miss her"), and
    ``punctual`` those that sound wrong in the English progressive.
    """

    en: EnglishVerb
    fr: str
    objects: str = ""
    case: str = ""
    en_preposition: str = ""
    fr_rest: str = ""
    reflexive: bool = False
    stative: bool = False
    swap: bool = False
    punctual: bool = False

    @property
    def key(self) -> str:
        """A name that is unique among the verbs."""
        return self.en.key + "/" + self.fr

    @property
    def is_personal(self) -> bool:
        """Whether the object can be a person."""
        return "person" in self.objects or "kin" in self.objects


def _object(english: str, french: str, objects: str, preposition: str = "", **more) -> Verb:
    base, _, rest = english.partition("+")
    more.setdefault("case", "direct")
    return Verb(verb(base, rest), french, objects, en_preposition=preposition, **more)


def _plain(english: str, french: str, **more) -> Verb:
    base, _, rest = english.partition("+")
    return Verb(verb(base, rest), french, **more)


TRANSITIVE: tuple[Verb, ...] = (
    _object("eat ate eaten", "manger", "food foodstuff"),
    _object("drink drank drunk", "boire", "drink"),
    _object("buy bought bought", "acheter", "food foodstuff drink text clothes machine tool gift"),
    _object("sell sold sold", "vendre", "fruit clothes machine furniture building flower"),
    _object("read read read", "lire", "text"),
    _object("write wrote written", "écrire", "letter poem story article book"),
    _object("see saw seen", "voir", "person animal thing building sight", punctual=True),
    _object("find found found", "trouver", "tool clothes text trinket animal", punctual=True),
    _object("lose lost lost", "perdre", "tool clothes watch phone ring toy", punctual=True),
    _object("look", "chercher", "tool clothes kin animal text phone toy ring", "for"),
    _object("look", "regarder", "person building animal thing", "at"),
    _object("wait", "attendre", "person kin", "for"),
    _object("take took taken", "prendre", "tool clothes text food dish"),
    _object("open", "ouvrir", "opening container"),
    _object("close", "fermer", "opening container"),
    _object("wash", "laver", "clothes dish vehicle fruit"),
    _object("wear wore worn", "porter", "clothes"),
    _object("break broke broken", "casser", "fragile toy window chair", punctual=True),
    _object("repair", "réparer", "machine furniture instrument"),
    _object("clean", "nettoyer", "room building furniture vehicle"),
    _object("use", "utiliser", "machine tool"),
    _object("draw drew drawn", "dessiner", "animal person building"),
    _object("choose chose chosen", "choisir", "clothes text furniture fruit"),
    _object("help", "aider", "person kin"),
    _object("invite", "inviter", "person kin"),
    _object("meet met met", "rencontrer", "person", punctual=True),
    _object("call", "appeler", "person kin"),
    _object("hear heard heard", "entendre", "person animal instrument", punctual=True),
    _object("visit", "visiter", "sight"),
    _object("play", "jouer", "instrument", case="de"),
    _object("talk", "parler", "person kin", "to", case="à"),
    _object("answer", "répondre", "person kin", case="à"),
    _object("obey", "obéir", "kin teacher doctor king queen", case="à"),
    _object("visit", "rendre", "person kin", case="à", fr_rest="visite"),
)

#: Verbs of state: no progressive, and an imperfect where English has a simple past.
STATIVE: tuple[Verb, ...] = tuple(
    _object(*entry, stative=True, **more)
    for entry, more in (
        (("know knew known", "connaître", "person sight"), {}),
        (("love", "aimer", "kin animal food foodstuff drink"), {}),
        (("hate", "détester", "foodstuff drink fruit"), {}),
        (("have had had", "avoir", "tool machine clothes animal furniture building piano"), {}),
        (("need", "avoir", "tool foodstuff drink machine"), {"case": "de", "fr_rest": "besoin"}),
        (
            ("be was been+afraid", "avoir", "animal person", "of"),
            {"case": "de", "fr_rest": "peur"},
        ),
    )
)

_BY_KEY = {entry.key: entry for entry in STATIVE}
HAVE = _BY_KEY["have/avoir"]
NEED = _BY_KEY["need/avoir"]
HATE = _BY_KEY["hate/détester"]
FEAR = _BY_KEY["be afraid/avoir"]
ACQUAINTED = _BY_KEY["know/connaître"]
MISS = _object("miss", "manquer", "kin person", stative=True, swap=True, case="à")
LIKE = _object("like", "plaire", "text clothes building", stative=True, swap=True, case="à")

#: Give-type verbs: direct object and recipient.
DITRANSITIVE: tuple[Verb, ...] = (
    _object("give gave given", "donner", "tool text food clothes trinket"),
    _object("show", "montrer", "text tool building clothes vehicle trinket"),
    _object("send sent sent", "envoyer", "text flower gift"),
    _object("lend lent lent", "prêter", "machine tool clothes instrument"),
    _object("bring brought brought", "apporter", "dish food foodstuff drink text"),
    _object("offer", "offrir", "food drink text machine"),
)

INTRANSITIVE: tuple[Verb, ...] = (
    _plain("work", "travailler"),
    _plain("sleep slept slept", "dormir"),
    _plain("sing sang sung", "chanter"),
    _plain("dance", "danser"),
    _plain("swim swam swum", "nager"),
    _plain("run ran run", "courir"),
    _plain("walk", "marcher"),
    _plain("cry", "pleurer"),
    _plain("laugh", "rire"),
    _plain("smile", "sourire"),
    _plain("play", "jouer"),
    _plain("travel", "voyager"),
    _plain("arrive", "arriver"),
    _plain("leave left left", "partir"),
    _plain("stay", "rester"),
    _plain("fall fell fallen", "tomber", punctual=True),
    _plain("get got got+up", "lever", reflexive=True),
    _plain("get got got+dressed", "habiller", reflexive=True),
    _plain("wake woke woken+up", "réveiller", reflexive=True),
    _plain("go went gone+to bed", "coucher", reflexive=True),
    _plain("rest", "reposer", reflexive=True),
    _plain("hurry", "dépêcher", reflexive=True),
    _plain("go went gone+for a walk", "promener", reflexive=True),
)

BE_AGED = _plain("be was been", "avoir", stative=True)
GO = _plain("go went gone", "aller")
COME = _plain("come came come", "venir")
RETURN = _plain("come came come+back", "revenir")
RAIN = _plain("rain", "pleuvoir")
SNOW = _plain("snow", "neiger")
LIVE = _plain("live", "habiter", stative=True)
BE = _plain("be was been", "être", stative=True)

#: States that English puts with "be" and French with "avoir".
BODILY: tuple[Verb, ...] = tuple(
    _plain("be was been+" + english, "avoir", fr_rest=french, stative=True)
    for english, french in (
        ("hungry", "faim"),
        ("thirsty", "soif"),
        ("cold", "froid"),
        ("hot", "chaud"),
        ("sleepy", "sommeil"),
        ("right", "raison"),
        ("wrong", "tort"),
    )
)

SAY = _plain("say said said", "dire", stative=True)
THINK = _plain("think thought thought", "penser", stative=True)
KNOW = _plain("know knew known", "savoir", stative=True)
HOPE = _plain("hope", "espérer", stative=True)


class Modal(NamedTuple):
    """A verb that takes an infinitive; ``en_to`` says whether English puts "to" before it."""

    en: EnglishVerb
    fr: str
    en_to: bool = True


WANT = Modal(verb("want"), "vouloir")
CAN = Modal(verb("can could -"), "pouvoir", en_to=False)
MUST = Modal(verb("have had had"), "devoir")

ALL_VERBS = TRANSITIVE + STATIVE + DITRANSITIVE + INTRANSITIVE + BODILY + (MISS, LIKE)
VERB = {entry.key: entry for entry in ALL_VERBS}
STAY = VERB["stay/rester"]
