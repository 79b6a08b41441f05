"""Codes of languages, and lines in other scripts that come back as they were."""

import json

import pytest
from commands import outcome
from translations import score_bleu, write

from realformer_fairseq.inference.fairseq_tokenizer import (
    RealFormerMosesConfig,
    RealFormerMosesTokenizer,
)
from realformer_runtime.command_line import UserError
from realformer_runtime.text import languages, tokenization
from realformer_runtime.text.languages import language_code
from realformer_runtime.text.tokenization import (
    line_detokenizer,
    line_tokenizer,
    moses_line_tokenizer,
)

ACCEPTED = """
    fr:fr,FR,Fr,fra,FRA,fre,fr_FR,fr-FR,fr_XX,fr-CA,fr_fr,fra_Latn,fr-Latn-CA,fr-1606nict
    de:de,deu,ger,de_DE,de-1996,de-CH-1996 en:en,eng,en_XX,en-GB,en-us,eng_Latn
    cs:cs,cz,ces,cze,cs_CZ
    pt:pt,por,pt-BR,pt_br,por_Latn zh:zh,zho,chi,cmn,zh_CN,zh-Hans,zh-hant-tw,zho_Hans nl:nl,dut,nld
    he:he,iw,heb,he_IL id:id,in,ind es:es,spa,es-419 el:el,gre,ell ro:ro,ron,rum,mo
    fa:fa,per,fas,pes
    ja:ja,jpn,ja_XX ko:ko,kor ar:ar,arb_Arab lv:lv,lvs_Latn et:et,ekk or:or,ory_Orya sw:swh_Latn
    mt:mlt ga:gle ca:cat yue:yue,yue_Hant tdt:tdt fil:fil_Latn src:src,SRC nb:nob no:nor sr:sr_Latn
"""
PAIRS = [entry.split(":") for entry in ACCEPTED.split()]


@pytest.mark.parametrize("code, spellings", PAIRS)
def test_a_language_has_one_code(code, spellings):
    assert {language_code(spelling) for spelling in [code, *spellings.split(",")]} == {code}


# Names, other things, no codes of two letters, and what may be two languages.
REFUSED = ["french", "Français", "f", "12", "", " fr", "fr ", "fr,de", "fr_FR.UTF-8", "fr-", "f_FR"]
REFUSED += ["jp", "cn", "xx", "en-fr", "de_en", "en-ca", "eng-fra", "fr_XX-en_XX", "ſr", "-fr"]


@pytest.mark.parametrize("text", REFUSED)
def test_other_text_is_refused(text):
    with pytest.raises(UserError) as error:
        language_code(text, "--target-lang")
    message = str(error.value)
    assert message.startswith(f"--target-lang: '{text}' ")
    assert "fr_FR" in message or text[:2] + "-" + text[3:].upper() in message


def test_the_table_has_each_code_once():
    """ISO 639-1 has 183 codes, and sh; 20 languages have a bibliographic code besides."""
    entries = [entry.split(":") for entry in languages.ISO_639]
    codes = [code for entry in entries for code in entry]
    lengths = [len(code) for code in codes]
    assert (lengths.count(2), lengths.count(3)) == (184, 204) and len(set(codes)) == len(codes)
    assert {*languages.CODES, "mni", "tdt", "yue"} >= languages.WITH_MOSES_RULES


TEXT = "L'ami de l’Été, p. ex., dit : « Aujourd'hui. »\n".encode()


@pytest.mark.parametrize("options", ["", "--moses", "--moses --normalize-punctuation", "--detok"])
def test_the_rules_are_those_of_the_language(options):
    options = options.replace("--detok", "--detokenize").split()
    expected = outcome(tokenization, "--lang", "fr", *options, text=TEXT)
    assert expected[0] is None
    for lang in ("FR", "fra", "fr_XX"):
        assert outcome(tokenization, "--lang", lang, *options, text=TEXT) == expected
    assert outcome(tokenization, "--lang", "en", *options, text=TEXT) != expected
    error, out, _ = outcome(tokenization, "--lang", "french", *options, text=TEXT)
    assert error.startswith("tokenization: --lang: 'french' is not a code") and out == b""


def test_scores_of_a_log_are_those_of_the_language(tmp_path):
    """Detokenised by the English rules, l' ami costs a third of the score."""
    log = write(tmp_path / "log", ["H-0\t-1\tl&apos; am@@ i d&apos; Anna n&apos; est pas là ."])
    ref = write(tmp_path / "ref", ["l'ami d'Anna n'est pas là."])
    figures = {}
    for lang in ("fr", "fr_FR", "FR", "fra", "en"):
        arguments = ["--hyp", log, "--ref", ref, "--json", tmp_path / "json"]
        assert score_bleu(*arguments, "--lang", lang) is None
        figures[lang] = json.loads((tmp_path / "json").read_text("utf-8"))
    assert figures["fr"] == figures["fr_FR"] == figures["FR"] == figures["fra"]
    assert figures["fr"]["sacreBLEU"]["score"] == pytest.approx(100)
    assert figures["en"]["sacreBLEU"]["score"] < 70


def test_fairseqs_commands_have_the_rules_of_the_language():
    tokenizer = RealFormerMosesTokenizer(
        RealFormerMosesConfig(source_lang="en_XX", target_lang="fr_XX")
    )
    assert tokenizer.encode("Don't.") == "Don &apos;t ."
    assert tokenizer.encode_target("l'église") == "l&apos; église"
    assert tokenizer.decode("l&apos; église") == "l'église"
    for flag in ("source_lang", "target_lang"):
        config = RealFormerMosesConfig(**{"source_lang": "en", "target_lang": "fr", flag: "french"})
        with pytest.raises(UserError, match=f"^--{flag.replace('_', '-')}: 'french'"):
            RealFormerMosesTokenizer(config)


@pytest.mark.parametrize("lang", ["fin", "sv_SE", "cat", "gle"])
def test_rules_that_moses_has_besides_are_known_by_every_code(lang):
    with pytest.raises(UserError, match="--moses does not know"):
        moses_line_tokenizer(lang)


@pytest.mark.parametrize(
    "lang, raw",
    [
        ("zh", "我们昨天去了北京，看了“长城”。"),
        ("zh_TW", "他說：「2024年，GDP增長5.2%！」（笑）……"),
        ("zho_Hans", "约翰·史密斯 says hello, 世界"),
        ("ja", "私は昨日、「東京」に行きました！コーヒーを3杯（熱い）"),
        ("ko", "나는 어제 서울에 갔습니다."),
        ("th", "ฉันไปกรุงเทพฯ เมื่อวานนี้ที่นี่มีน้ำ 5 แก้ว"),
        ("km", "ខ្ញុំចង់ទៅផ្ទះ។"),
        ("my", "မြန်မာစာဖြစ်သည်။"),
        ("ar", "ذهبتُ إلى القاهرة أمس، أليس كذلك؟"),
        ("fa", "می‌خواهم کتاب‌ها را بخوانم؛ خوب؟"),
        ("ur", "یہ ایک جملہ ہے۔"),
        ("he", "הלכתי אתמול לירושלים, שָׁלוֹם?"),
        ("hi", "मैं कल दिल्ली गया था।"),
        ("bn", "আমি বাংলায় গান গাই।"),
    ],
)
@pytest.mark.parametrize("make", [line_tokenizer, moses_line_tokenizer])
def test_other_scripts_come_back_as_they_were(make, lang, raw):
    assert line_detokenizer(lang)(make(lang)(raw)) == raw


def test_marks_of_direction_and_joiners_stay_in_text():
    for lang, raw in (
        ("he", "\u200fשלום\u200e abc \u202bא\u202c"),
        ("en", "👨\u200d👩 \u200e:\u2066x\u2069"),
    ):
        tokens = line_tokenizer(lang)(raw)
        assert "".join(tokens.split()) == "".join(raw.split())
