"""Codes of languages, and what the rules for text need to know of a language.

A language has one code here, however it is written: two letters of ISO 639-1 where it has them, as
Moses' and sacreBLEU's rules are named, else the three letters of ISO 639-3.
"""

import re
from typing import Optional

from sacremoses.corpus import NonbreakingPrefixes

from ..command_line import UserError

# ISO 639-1, ISO 639-3 and, where it differs, the bibliographic code of ISO 639-2.
ISO_639 = """
    aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak
    be:bel bg:bul bi:bis bm:bam bn:ben bo:bod:tib br:bre bs:bos ca:cat ce:che ch:cha co:cos
    cr:cre cs:ces:cze cu:chu cv:chv cy:cym:wel da:dan de:deu:ger dv:div dz:dzo ee:ewe el:ell:gre
    en:eng eo:epo es:spa et:est eu:eus:baq fa:fas:per ff:ful fi:fin fj:fij fo:fao fr:fra:fre
    fy:fry ga:gle gd:gla gl:glg gn:grn gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat
    hu:hun hy:hye:arm hz:her ia:ina id:ind ie:ile ig:ibo ii:iii ik:ipk io:ido is:isl:ice it:ita
    iu:iku ja:jpn jv:jav ka:kat:geo kg:kon ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor
    kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit
    lu:lub lv:lav mg:mlg mh:mah mi:mri:mao mk:mkd:mac ml:mal mn:mon mr:mar ms:msa:may mt:mlt
    my:mya:bur na:nau nb:nob nd:nde ne:nep ng:ndo nl:nld:dut nn:nno no:nor nr:nbl nv:nav ny:nya
    oc:oci oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus pt:por qu:que rm:roh rn:run
    ro:ron:rum ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag sh:hbs si:sin sk:slk:slo sl:slv
    sm:smo sn:sna so:som sq:sqi:alb sr:srp ss:ssw st:sot su:sun sv:swe sw:swa ta:tam te:tel
    tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso tt:tat tw:twi ty:tah ug:uig
    uk:ukr ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid yo:yor za:zha
    zh:zho:chi zu:zul
""".split()
# Three letters of the one language that people mean by two letters; those are of a group.
STANDARD_LANGUAGES = """
    ar:arb et:ekk fa:pes lv:lvs ms:zsm ne:npi or:ory sw:swh zh:cmn
""".split()
# Codes that ISO 639 has withdrawn, and Moses' own for Czech.
OLD_CODES = "cs:cz he:iw id:in jv:jw ro:mo yi:ji".split()
CODES = {
    other: code
    for code, *others in (entry.split(":") for entry in ISO_639 + STANDARD_LANGUAGES + OLD_CODES)
    for other in (code, *others)
}

# BCP 47's language, script, region and variants, joined by a hyphen or, as in ``fr_XX`` of mBART
# and ``fra_Latn`` of NLLB, by an underscore.
TAG = re.compile(
    "([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|[0-9]{3}))?"
    "(?:[-_](?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*",
    re.ASCII | re.IGNORECASE,
)
PAIR = re.compile("([a-z]{2})[-_]([a-z]{2})")
ACCEPTED = "a code of ISO 639, as fr, fra, fr_FR or fra_Latn"

# Moses has a list of abbreviations for these, and takes the English one for all others.
WITH_MOSES_RULES = frozenset(NonbreakingPrefixes().available_langs.values())
CHINESE = frozenset("zh yue wuu lzh".split())
WITHOUT_SPACES = CHINESE | frozenset("ja th lo km my bo dz".split())


def language_code(text: str, flag: str = "--lang") -> str:
    """The code of a language that is written in any of the usual ways; the ``type`` of an option.

    A code of three letters that is not in the table is kept: Moses' rules have a default. Codes of
    two letters are all in the table, so that another one is a mistake.

    Args:
        text: a code, perhaps with script, region and variants
        flag: the option, for the message

    Raises:
        UserError: not one language
    """
    tag = TAG.fullmatch(text)
    pair = PAIR.fullmatch(text)
    if pair and pair[1] != pair[2] and pair[2] in WITH_MOSES_RULES | WITHOUT_SPACES | {"ko"}:
        region = f"{pair[1]}-{pair[2].upper()}"
        raise UserError(
            f"{flag}: '{text}' may be two languages: give {pair[1]}, {pair[2]} or, "
            f"for a region, {region}"
        )
    code = tag[1].lower() if tag else ""
    if not tag or len(code) == 2 and code not in CODES:
        raise UserError(f"{flag}: '{text}' is not {ACCEPTED}")
    return CODES.get(code, code)


def code_or_none(name: str) -> Optional[str]:
    """The code of a language, or None for a name that is no code, as ``src_bpe``."""
    try:
        return language_code(name)
    except UserError:
        return None
