"""Verbs, and their uses with the modal verbs, adverbs and times that go together."""

import re
from typing import NamedTuple, Optional


class Verb(NamedTuple):
    """A verb, with the particle after it and the French preposition of its object.

    ``key`` has the particle. Past and gerund are given if they are not regular. ``objects`` are
    kinds of nouns, or nouns. ``traits`` are "habit" (goes with "often"), "now" (with the
    progressive), "state" (its past is an imperfect) or else "event", "generic" ("I love cheese"),
    "giving" (has a recipient), "place" (the objects are where it is done) and "noun" (the object
    is never a pronoun).
    """

    key: str
    base: str
    past: str
    gerund: str
    particle: str
    reflexive: str
    fr: str
    fr_particle: str
    preposition: str
    objects: str
    traits: str


#: English/past/gerund particle = French particle preposition: objects; traits
_ENTRY = re.compile(
    r"(\w+)/?(\w*)/?(\w*) ?([^=]*)=(se )?(\w+) ?(\w*?) ?(à|de)?(?:: (.*?))?(?:; (.*))?"
)


def _verb(entry: str) -> Verb:
    base, past, gerund, particle, *fields, traits = _ENTRY.fullmatch(entry).groups("")
    traits += "" if "state" in traits else " event"
    return Verb(f"{base} {particle}".strip(), base, past, gerund, particle, *fields, traits)


def _verbs(table: str) -> list[Verb]:
    return [_verb(entry) for entry in re.split(r"\n| \| ", table.strip())]


TRANSITIVE = _verbs("""
eat/ate=manger: fruit snack food; habit now | drink/drank=boire: drink; habit now
buy/bought=acheter: fruit snack food drink text clothes machine furniture gift; habit now
sell/sold=vendre: fruit clothes machine vehicle furniture flower; habit now
write/wrote=écrire: letter story poem article novel; habit now | read/read=lire: text; now
see/saw=voir: person animal vehicle building | find/found=trouver: carried text clothes animal
look for=chercher: carried clothes text animal toy; now | wait for=attendre: person kin; now
look at=regarder: person animal vehicle building picture flower; now | answer=répondre à: person kin
take/took=prendre: carried clothes text fruit snack
open=ouvrir: opening suitcase bottle present; now | close=fermer: opening suitcase bottle; now
wash=laver: clothes dish vehicle fruit; habit now | wear/wore=porter: clothes ring; habit now
break/broke=casser: dish toy chair machine watch | hide/hid=cacher: carried gift letter snack; now
repair=réparer: machine vehicle furniture instrument toy watch; habit now
clean=nettoyer: room furniture vehicle; habit now | lose/lost=perdre: carried clothes toy phone
draw/drew=dessiner: animal building flower vehicle person; habit now | meet/met=rencontrer: person
choose/chose=choisir: clothes furniture fruit snack text gift ring; now
help=aider: person kin; habit now | invite=inviter: person kin; habit | thank=remercier: person kin
call=appeler: person kin; habit now | talk to=parler à: person kin; habit now
visit=visiter: sight castle; now | play=jouer de: instrument; habit now noun
go/went to=aller à: sight place; habit noun | come/came back from=revenir de: sight place; noun
stay at=rester à: hotel hospital library restaurant school theatre; noun
""")
STATES = _verbs("""
know/knew=connaître: person sight; state | have/had=avoir: vehicle animal map key; state noun
love=aimer: fruit food drink animal kin; state generic
hate=détester: fruit food drink animal; state generic
need=avoir besoin de: carried machine vehicle; state noun
be/was afraid of=avoir peur de: animal; state noun
""")
GIVING = _verbs("""
give/gave=donner: carried text fruit snack clothes gift; giving now
show=montrer: text vehicle building clothes gift ring; giving now
send/sent=envoyer: letter book flower present; giving now
lend/lent=prêter: machine vehicle text clothes instrument umbrella; giving
bring/brought=apporter: dish snack food drink gift; giving now
""")
ACTIONS = _verbs("""
work=travailler: school hospital library market bank garden office; place habit now
sing/sang=chanter: church theatre street garden; place habit now | leave/left=partir
dance=danser: street park beach kitchen restaurant; place habit now | get/got/getting up=se lever
run/ran/running=courir: park forest street beach; place habit now | go/went to bed=se coucher
play=jouer: garden park beach street bedroom; place habit now | go/went out=sortir
sleep/slept=dormir: bedroom hotel garden; place habit now | hurry=se dépêcher; now
swim/swam/swimming=nager: lake sea; place habit now | cry=pleurer: bedroom kitchen street; place now
rest=se reposer: garden bedroom beach; place habit now | laugh=rire: kitchen restaurant; place now
arrive=arriver: station airport hotel; place | fall/fell=tomber: street kitchen garden; place
get/got/getting dressed=se habiller; now | smile=sourire; now
""")
FEELINGS = _verbs("""
be/was hungry=avoir faim; state | be/was thirsty=avoir soif; state | be/was cold=avoir froid; state
be/was hot=avoir chaud; state | be/was sleepy=avoir sommeil; state
""")
BE, MOODS, *OTHERS = _verbs("""
be/was=être; state | be/was=être: sad tired sick worried angry; state | say/said=dire
think/thought=penser; state | can/could=pouvoir; state | want to=vouloir; state
have/had to=devoir; state | be/was going to=aller; state | rain=pleuvoir; habit now
snow=neiger; habit now
""")
VERB = {verb.key: verb for verb in TRANSITIVE + STATES + GIVING + ACTIONS + FEELINGS + OTHERS}

Bilingual = tuple[str, str]

NONE, OFTEN, ALWAYS = ("", ""), ("often", "souvent"), ("always", "toujours")
NOT, NEVER, NO_LONGER = ("not", "pas"), ("never", "jamais"), ("no longer", "plus")
NEGATIVE = (NOT, NEVER, NO_LONGER)
_MAYBE_NOT = (NONE, NONE, NONE, NOT)
_ABLE = (VERB["want to"], VERB["can"])

_times = re.compile("([^,]+)=([^,]+)(?:, |$)").findall

#: The first three suit what one does every day.
_PAST = _times(
    "yesterday=hier, this morning=ce matin, on Friday=vendredi, on Monday=lundi, "
    "yesterday evening=hier soir, last week=la semaine dernière, two days ago=il y a deux jours"
)
_FUTURE = _times(
    "tomorrow=demain, tonight=ce soir, on Sunday=dimanche, on Monday=lundi, "
    "tomorrow morning=demain matin, next week=la semaine prochaine, in three days=dans trois jours"
)
_HABITS = _times("every day=tous les jours, on Sundays=le dimanche, in summer=en été")
_NOW = _times("now=maintenant, at the moment=en ce moment")


class Use(NamedTuple):
    """A tense and what goes with it; the verb must have the trait."""

    tense: str
    trait: str
    adverbs: tuple[Bilingual, ...] = (NONE,)
    times: list[Bilingual] = []
    modals: tuple[Optional[Verb], ...] = (None,)


USES = {
    "past": Use("past", "event", _MAYBE_NOT, _PAST),
    "future": Use("future", "event", (NONE, NONE, NOT, NEVER), _FUTURE),
    "going": Use("present", "now", _MAYBE_NOT, _FUTURE, (VERB["be going to"],)),
    "can": Use("present", "now", _MAYBE_NOT, modals=_ABLE),
    "could": Use("past", "now", _MAYBE_NOT, modals=_ABLE),
    "must": Use("present", "now", modals=(VERB["have to"],)),
    "now": Use("progressive", "now", _MAYBE_NOT, _NOW),
    "habit": Use("present", "habit", (NONE, OFTEN, ALWAYS, NEVER, NO_LONGER, NOT), _HABITS),
    "used": Use("habitual", "habit", times=_HABITS),
    "ongoing": Use("past progressive", "now"),
    "would": Use("conditional", ""),
    "not_now": Use("progressive", "now", (NOT,)),
    "not": Use("past", "event", (NOT,)),
    "is": Use("present", "state", (NONE, NONE, NONE, NOT, NO_LONGER)),
    "was": Use("past", "state", _MAYBE_NOT),
}
