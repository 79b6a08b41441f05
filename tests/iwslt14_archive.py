"""A tiny archive with the name and the inner layout of IWSLT'14 German-English."""

from wmt14_archives import sentence, tar

TESTS = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")
SENTENCES_OF_A_TEST = 3
TALK = """<url>http://example.org/{n}</url>
<keywords>{lang}, words</keywords>
<talkid>{n}</talkid>
<title>Talk {n}: Über-Titel</title>
<description>About {n} &amp; more</description>
"""


def talks(lang, size):
    """Training text: a talk every 20 sentences, with one that is too long for its translation."""
    lines = []
    for number in range(size):
        if number % 20 == 0:
            lines.append(TALK.format(n=number, lang=lang))
        text = f"{sentence(lang, 1, number)} Old-Fashioned"
        lines.append((text * 3 if number == 7 and lang == "de" else text) + "\n")
    return "".join(lines).encode()


def xml(lang, corpus):
    segments = "".join(
        f'<seg id="{number}"> {sentence(lang, corpus, number)} It’s Here </seg>\n'
        for number in range(1, SENTENCES_OF_A_TEST + 1)
    )
    return (
        f'<refset><doc docid="1">\n<title>No Text</title>\n{segments}</doc>\n</refset>\n'.encode()
    )


def write_archive(folder, size=100):
    """Write ``de-en.tgz`` with so many training pairs besides titles and descriptions."""
    members = {"de-en/README": b"not a corpus\n"}
    for lang in ("de", "en"):
        members[f"de-en/train.tags.de-en.{lang}"] = talks(lang, size)
        for corpus, name in enumerate(reversed(TESTS)):  # an archive need not be in order
            members[f"de-en/IWSLT14.{name}.de-en.{lang}.xml"] = xml(lang, len(TESTS) - corpus)
    (folder / "de-en.tgz").write_bytes(tar(members, compress=True))
