"""Nouns with their gender, and the adjectives that suit them."""

import re
from functools import cache
from typing import NamedTuple

#: By the kind that verbs and adjectives ask for: English=French gender. A plural that is not
#: regular follows a slash, and an asterisk marks an h aspiré.
_NOUNS = """
name: Paul=Paul m, Mary=Marie f, Anna=Anna f, Lucas=Lucas m, Sophie=Sophie f, Henry=Henri m
name: Emily=Émilie f, Thomas=Thomas m, Alice=Alice f, Peter=Pierre m
kin: mother=mère f, father=père m, sister=sœur f, brother=frère m, son=fils m, daughter=fille f
kin: uncle=oncle m, aunt=tante f, grandmother=grand-mère f
person: man/men=homme m, woman/women=femme f, child/children=enfant m, boy=garçon m, friend=ami m
person: neighbour=voisin m, doctor=médecin m, nurse=infirmière f, teacher=professeur m
person: baker=boulanger m, student=étudiant m, actress=actrice f, lawyer=avocat m
person: hero/heroes=*héros m, waitress=serveuse f
animal: dog=chien m, cat=chat m, bird=oiseau m, horse=cheval m, cow=vache f, rabbit=lapin m
animal: mouse/mice=souris f, goat=chèvre f, hedgehog=*hérisson m, owl=*hibou/*hiboux m
fruit: apple=pomme f, pear=poire f, orange=orange f, strawberry=fraise f, apricot=abricot m
snack: cake=gâteau m, egg=œuf m, sandwich=sandwich m, biscuit=biscuit m, omelette=omelette f
food: bread=pain m, cheese=fromage m, meat=viande f, soup=soupe f, rice=riz m, fish=poisson m
drink: water=eau f, milk=lait m, coffee=café m, tea=thé m, juice=jus m, beer=bière f
text: book=livre m, letter=lettre f, newspaper=journal m, story=histoire f, poem=poème m
text: article=article m, novel=roman m
clothes: dress=robe f, shirt=chemise f, coat=manteau m, hat=chapeau m, shoe=chaussure f
clothes: scarf/scarves=écharpe f, skirt=jupe f, sweater=pull m, glove=gant m
carried: key=clé f, umbrella=parapluie m, bag=sac m, wallet=portefeuille m, suitcase=valise f
carried: knife/knives=couteau m, ring=bague f, watch=montre f, axe=*hache f, map=carte f
dish: glass=verre m, cup=tasse f, plate=assiette f, bottle=bouteille f
furniture: table=table f, chair=chaise f, bed=lit m, wardrobe=armoire f, sofa=canapé m
vehicle: car=voiture f, bicycle=vélo m, boat=bateau m, lorry=camion m
machine: computer=ordinateur m, phone=téléphone m, lamp=lampe f
instrument: piano=piano m, guitar=guitare f, harp=*harpe f, violin=violon m
opening: door=porte f, window=fenêtre f, gate=portail m, drawer=tiroir m
gift: toy=jouet m, flower=fleur f, present=cadeau m, picture=tableau m
building: house=maison f, castle=château m, bridge=pont m, tower=tour f
sight: museum=musée m, church=église f, theatre=théâtre m, library=bibliothèque f
sight: hotel=hôtel m, hospital=hôpital m, school=école f
place: market=marché m, station=gare f, bakery=boulangerie f, restaurant=restaurant m
place: beach=plage f, bank=banque f, airport=aéroport m
open: garden=jardin m, park=parc m, forest=forêt f, street=rue f, lake=lac m, sea=mer f
room: kitchen=cuisine f, bedroom=chambre f, office=bureau m
"""
#: Position of the French adjective, kinds or nouns: English=French/feminine unless regular. Those
#: of a "predicate" are not used beside a noun.
_ADJECTIVES = """
before building sight place open room furniture vehicle horse suitcase bag dog: big=grand
before animal furniture building vehicle fruit snack dish carried lamp gift market: small=petit
before clothes furniture building sight instrument ring bird poem gift: beautiful=beau/belle
before man woman friend doctor animal furniture clothes machine sight key: old=vieux/vieille
before clothes machine vehicle text hotel museum restaurant neighbour: new=nouveau/nouvelle
before food drink fruit snack text: good=bon/bonne, bad=mauvais
before dress skirt shirt cup plate flower ring kitchen garden: pretty=joli
before person: young=jeune
before text: long=long/longue
after clothes vehicle dish furniture umbrella bag house door: red=rouge, green=vert, blue=bleu
after clothes vehicle dish furniture cat dog horse: white=blanc/blanche, black=noir
after clothes vehicle dish furniture umbrella bag house: yellow=jaune, grey=gris
after furniture suitcase bag axe piano: heavy=lourd
after furniture machine clothes vehicle instrument ring watch: expensive=cher/chère
after clothes dish vehicle room window: clean=propre, dirty=sale
after machine vehicle toy dish chair window: broken=cassé
after soup rice meat water coffee tea milk: hot=chaud, cold=froid
after fruit: ripe=mûr, sweet=sucré
after bread fish juice milk egg fruit: fresh=frais/fraîche
after clothes cheese actress: Italian=italien/italienne
after text: interesting=intéressant, short=court, boring=ennuyeux/ennuyeuse
after sight bakery restaurant bank station airport house: modern=moderne
after open sight place: quiet=calme, noisy=bruyant
after person: shy=timide, polite=poli
after person kin name dog cat horse: intelligent=intelligent, curious=curieux/curieuse
after person kin name cat: lazy=paresseux/paresseuse
predicate person kin name: happy=heureux/heureuse, sad=triste, tired=fatigué, tall=grand
predicate person kin name: angry=furieux/furieuse, busy=occupé, ready=prêt, proud=fier/fière
predicate person kin name: jealous=jaloux/jalouse, nice=gentil/gentille, worried=inquiet/inquiète
predicate person kin name animal: sick=malade
predicate opening bank bakery museum library suitcase: open=ouvert, closed=fermé
predicate glass bottle suitcase wallet drawer: empty=vide
"""
_NOUN = re.compile("([^,]+?)(?:/([^,]+))?=([^,]+?)(?:/([^,]+))? ([mf])(?:, |$)")
_ADJECTIVE = re.compile("([^,]+?)=([^,/]+)/?([^,/]*)(?:, |$)")
HUMAN, MASS = ("name", "kin", "person"), ("food", "drink")


class Noun(NamedTuple):
    """A noun; plurals are given if they are not regular."""

    en: str
    en_plural: str
    fr: str
    fr_plural: str
    gender: str
    kind: str


class Adjective(NamedTuple):
    """An adjective; ``position`` is where French puts it, ``suits`` are kinds of nouns or nouns."""

    en: str
    masculine: str
    feminine: str
    position: str
    suits: list[str]


def _rows(table: str) -> list[list[str]]:
    return [line.split(": ") for line in table.strip().splitlines()]


NOUNS = [Noun(*entry, kind) for kind, row in _rows(_NOUNS) for entry in _NOUN.findall(row)]
ADJECTIVES = {
    entry[0]: Adjective(*entry, position, suits)
    for head, row in _rows(_ADJECTIVES)
    for position, *suits in [head.split()]
    for entry in _ADJECTIVE.findall(row)
}


@cache
def nouns_of(wanted: str) -> list[Noun]:
    """Return the nouns that have one of the kinds, or are one of the words, in a string."""
    words = wanted.split()
    return [noun for noun in NOUNS if noun.kind in words or noun.en in words]


@cache
def adjectives_for(noun: Noun) -> list[Adjective]:
    """Return the adjectives that suit a noun."""
    return [it for it in ADJECTIVES.values() if noun.kind in it.suits or noun.en in it.suits]
