"""Tiny archives with the names and the inner layout of the WMT'14 ones, and a server for them."""

import gzip
import hashlib
import http.server
import io
import itertools
import json
import os
import tarfile
import threading
import time
from contextlib import contextmanager

from conftest import PROJECT

RECIPES = PROJECT / "data-prep/public_corpora/recipes"
# Downloads of the tests, and of the scripts that they start, go to the server below.
os.environ["no_proxy"] = "127.0.0.1"

# Lines with white space of every kind, empty ones, an entity, a reserved character, and pairs that
# cleaning must drop: too long, too unequal, nothing that is seen.
STRANGE = [
    ("a\u00a0b c", "a\u00a0b c"),
    ("x\u2028y z", "x\u2028y z"),
    ("x\u0085y z", "x\u0085y\u2029z"),
    ("form\x0cfeed here", "form\x0bfeed ici"),
    ("carriage\rreturn", "carriage\r retour"),
    ("file\x1cseparator a", "unit\x1fseparator b"),
    ("", ""),
    ("   ", "quelque chose"),
    ("words", "\u00a0\u2003"),
    ("\u3164\ufe0f", "mots"),
    ("a | b &amp; c", "a | b &amp; c"),
    ("“quoted” ‘words’ …", "« mots » d’ici"),
    ("much too long " * 100, "beaucoup trop long " * 100),
    ("short", "une phrase qui est beaucoup plus longue que cela"),
]
WORDS = {
    "en": "the cat sees a large house and the old bridge over that small river today".split(),
    "fr": "le chat voit une grande maison et le vieux pont sur cette petite rivière".split(),
    "de": "die Katze sieht ein großes Haus und die alte Brücke über dem kleinen Fluss".split(),
}


def sentence(lang, corpus, number):
    words = WORDS[lang]
    chosen = [words[(number * step + corpus) % len(words)] for step in range(1, 5 + number % 7)]
    return " ".join([*chosen, f"{corpus}-{number},", "isn't" if lang == "en" else "n'est", "it?"])


def corpus_sides(corpus, size, languages):
    """The lines of each language; a strange pair every 17 lines."""
    strange = itertools.cycle(STRANGE)
    return zip(
        *(
            next(strange)
            if number % 17 == 16
            else tuple(sentence(lang, corpus, number) for lang in languages)
            for number in range(size)
        )
    )


def sgm(lang, size):
    """Two documents, a headline tag, an entity, a curly apostrophe, space around the text."""
    lines = [
        f'<srcset setid="newstest2014" srclang="any">\n<doc docid="1" origlang="{lang}">\n<hl>'
    ]
    for number in range(1, size + 1):
        if number == size // 2:
            lines.append('</hl>\n</doc>\n<doc docid="2">\n<p>')
        space = "  \t" if number % 2 else ""
        content = f"{sentence(lang, 9, number)} l’ami &amp; co"
        lines.append(f'<seg id="{number}">{space}{content}{space}</seg>')
    return "\n".join([*lines, "</p>\n</doc>\n</srcset>", ""]).encode()


def tar(members, compress):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0) if compress else raw.getvalue()


def build(pair, folder, sizes, change=lambda recipe: None):
    """Write archives and a recipe with the corpora that ``sizes`` names and the tests' sums.

    Args:
        sizes: lines by corpus
        change: what else is to be different in the recipe

    Returns:
        the path of the recipe and, by language, the lines of all training corpora in order
    """
    recipe = json.loads((RECIPES / f"{pair}.json").read_text())
    recipe["training"] = [corpus for corpus in recipe["training"] if corpus["name"] in sizes]
    recipe["text_bytes"], recipe["cleaned"], recipe["test"]["lines"] = 1000, {}, 12
    languages = recipe["languages"]
    sgms = {name: sgm(lang, 12) for lang, name in recipe["test"]["members"].items()}
    contents = {"test-full.tgz": {"test-full/newstest2014-csen-src.cs.sgm": b"", **sgms}}
    lines = {lang: [] for lang in languages}
    for number, corpus in enumerate(recipe["training"]):
        corpus["lines"] = sizes[corpus["name"]]
        members = contents[corpus["archive"]] = {"training/README": b"not a corpus\n"}
        for lang, side in zip(languages, corpus_sides(number, corpus["lines"], languages)):
            lines[lang] += side
            name, content = corpus["members"][lang], "".join(f"{line}\n" for line in side).encode()
            packed = gzip.compress(content, mtime=0) if name.endswith(".gz") else content
            members[f"./{name}"] = packed
    recipe["archives"] = [entry for entry in recipe["archives"] if entry["name"] in contents]
    for entry in recipe["archives"]:
        content = tar(contents[entry["name"]], compress=entry["name"].endswith(".tgz"))
        (folder / entry["name"]).write_bytes(content)
        found = {
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "md5": hashlib.md5(content).hexdigest(),
        }
        entry.update({key: value for key, value in found.items() if key in entry})
    change(recipe)
    path = folder / "recipe.json"
    path.write_text(json.dumps(recipe))
    return path, lines


class Server(http.server.ThreadingHTTPServer):
    """Serves a folder's files by their bare names, with ranges and faults.

    Attributes:
        requests: path and Range of each request, in order
        faults: for a name, one fault a request: a status, or minus the number of bytes after
            which the connection is cut
        stall: seconds to wait before such a cut
    """

    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.requests, self.faults, self.stall = folder, [], {}, 0
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.rpartition("/")[2]
        path, wanted = self.server.folder / name, self.headers.get("Range")
        self.server.requests.append((self.path, wanted))
        faults = self.server.faults.get(name)
        fault = faults.pop(0) if faults else 0
        if fault > 0 or not path.is_file():
            return self.send_error(fault if fault > 0 else 404)
        content = path.read_bytes()
        tag = f'"{hashlib.md5(content).hexdigest()}"'
        start = 0
        if wanted and self.headers.get("If-Range") == tag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        self.wfile.write(content[start : start - fault if fault else None])
        if fault:
            self.wfile.flush()
            time.sleep(self.server.stall)

    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    server = Server(folder)
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
