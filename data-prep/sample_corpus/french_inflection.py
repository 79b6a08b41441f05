"""French inflection, elision and contraction."""

import re
from functools import cache

#: Present of je, il, nous, vous, ils or the stems of je, nous, ils; past participle; future stem.
_TABLE = """
être suis est sommes êtes sont été ser, avoir ai a avons avez ont eu aur
aller vais va allons allez vont allé ir, dire dis dit disons dites disent dit dir
connaître connais connaît connaissons connaissez connaissent connu connaîtr
pouvoir peux peut pouvons pouvez peuvent pu pourr
vouloir veux veut voulons voulez veulent voulu voudr
acheter achèt achet achèt acheté achèter, appeler appell appel appell appelé appeller
attendre attend attend attend attendu attendr, boire boi buv boiv bu boir
choisir choisi choisiss choisiss choisi choisir, courir cour cour cour couru courr
devoir doi dev doiv dû devr, dormir dor dorm dorm dormi dormir, écrire écri écriv écriv écrit écrir
envoyer envoi envoy envoi envoyé enverr, lever lèv lev lèv levé lèver, lire li lis lis lu lir
nettoyer nettoi nettoy nettoi nettoyé nettoier, ouvrir ouvr ouvr ouvr ouvert ouvrir
partir par part part parti partir, perdre perd perd perd perdu perdr
pleuvoir pleu pleuv pleuv plu pleuvr, prendre prend pren prenn pris prendr
répondre répond répond répond répondu répondr, revenir revien reven revienn revenu reviendr
rire ri ri ri ri rir, sortir sor sort sort sorti sortir, sourire souri souri souri souri sourir
vendre vend vend vend vendu vendr, voir voi voy voi vu verr
"""
_ENTRIES = [entry.split() for entry in re.split(", |\n", _TABLE.strip())]
_IRREGULAR = {infinitive: forms for infinitive, *forms in _ENTRIES}
_IMPERFECT, _FUTURE = "ais ait ions iez aient".split(), "ai a ons ez ont".split()
#: What a word begins with if there is elision before it.
VOWEL = re.compile("(?=[aeiouyhâéèêîôœ])", re.IGNORECASE)
_ELIDED = re.compile(
    rf"(?<!-)\b(j|m|s|l|d|n|qu|c)[ea] {VOWEL.pattern}|\b(s)i (?=ils?\b)", re.IGNORECASE
)
_CONTRACTED = {"à le": "au", "à les": "aux", "de le": "du", "de les": "des"}


def plural(word: str) -> str:
    """Form the plural of a noun or of a masculine adjective."""
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith("eau") else "s")


def agree(masculine: str, gender: str, is_plural: bool, feminine: str = "") -> str:
    """Return the form of an adjective or participle that agrees."""
    form = masculine
    if gender == "f":
        form = feminine or re.sub("e?$", "e", masculine, count=1)
    return plural(form) if is_plural else form


@cache
def principal_parts(infinitive: str) -> list[str]:
    """Return the five forms of the present, the past participle and the stem of the future."""
    stem = infinitive[:-2]
    forms = _IRREGULAR.get(infinitive, [stem, stem, stem, stem + "é", infinitive])
    if len(forms) == 7:
        return forms
    je, nous, ils, *others = forms
    endings = ["s", "" if je.endswith("d") else "t"]
    if infinitive.endswith(("er", "vrir")):
        endings = ["e", "e"]
    return [je + endings[0], je + endings[1], nous + "ons", nous + "ez", ils + "ent", *others]


def conjugate(infinitive: str, tense: str, person: int) -> str:
    """Return a form of the present, imperfect, future or conditional; persons as in Nominal."""
    *present, _, future = principal_parts(infinitive)
    form = present[person]
    if tense == "imperfect":
        form = ("ét" if infinitive == "être" else present[2][:-3]) + _IMPERFECT[person]
    elif tense != "present":
        form = future + (_FUTURE if tense == "future" else _IMPERFECT)[person]
    return re.sub("g(?=(ons|ais|ait|aient)$)", "ge", form)


def polish(text: str) -> str:
    """Elide and contract, and take the marks of h aspiré away."""
    text = _ELIDED.sub(lambda match: (match[1] or match[2]) + "'", text)
    text = re.sub(r"\b(à|de) les? ", lambda match: _CONTRACTED[match[0][:-1]] + " ", text)
    return text.replace("*", "")
