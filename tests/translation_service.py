"""A service around a translator that needs no model, and clients of it.

As a command it is ``realformer_runtime.engine.server`` with that translator.
"""

import contextlib
import http.client
import json
import socket
import threading
import time
from types import SimpleNamespace

from realformer_runtime.command_line import run_main
from realformer_runtime.engine import server
from realformer_runtime.engine.search_options import SearchOptions

PATIENCE = 60  # seconds; no test takes them
JSON = {"Content-Type": "application/json"}
POST = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
BODY = b'{"lines": ["a b"]}'
WITH_LENGTH = b"Content-Length: %d\r\n\r\n%s"
GOOD = POST + WITH_LENGTH % (len(BODY), BODY)


class StubTranslator:
    """Turns words around and says the beam: "a b" becomes "b a 5".

    Args:
        gate: translates while it is open, that is, set
        calls: the sentences and options of each call
    """

    def __init__(self, folder="", threads=None):
        self.manifest = SimpleNamespace(
            source_lang="en", target_lang="ar_EG", made_from={"checkpoint": "stub.pt"}
        )
        self.options = SearchOptions(max_tokens=40)
        self.gate = threading.Event()
        self.gate.set()
        self.calls = []
        self.threads = set()

    def subwords(self, line):
        self.threads.add(threading.get_ident())
        return line.split()

    def subword_limit(self, **search):
        return 20

    def translate_sentences(self, sentences, **search):
        self.threads.add(threading.get_ident())
        sentences = [" ".join(word for part in parts for word in part) for parts in sentences]
        self.calls.append((sentences, search))
        assert self.gate.wait(PATIENCE)
        if any("explode" in sentence for sentence in sentences):
            raise RuntimeError("a secret")
        return [expected(sentence, search["beam"]) for sentence in sentences]


def expected(line, beam=5):
    """The stub's translation."""
    return " ".join([*line.split()[::-1], str(beam)]) if line.strip() else str(beam)


@contextlib.contextmanager
def started(translator=None, host="127.0.0.1", most_bytes=100_000, most_waiting=100):
    """A service in this process, which is stopped with the block."""
    service = server.Service(host, 0, most_bytes)
    service.start(translator or StubTranslator(), most_waiting)
    try:
        yield service
    finally:
        service.stop(grace=0)


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def connection_to(service):
    return http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)


def answer_of(connection):
    """Status, content and headers of what comes next."""
    response = connection.getresponse()
    data = response.read()
    return response.status, json.loads(data) if data else None, response.headers


def ask(service, content, path="/translate", method="POST", headers=JSON):
    """Status, content and headers of the answer to ``content``, as JSON if it is not bytes."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    with contextlib.closing(connection_to(service)) as connection:
        connection.request(method, path, body, headers)
        return answer_of(connection)


def translate(service, *lines, **fields):
    status, content, _ = ask(service, {"lines": lines, **fields})
    return content["translations"] if status == 200 else (status, content["error"])


def raw(service, data):
    """All that comes back for some bytes, until the service closes."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        received = b""
        while piece := connection.recv(1 << 16):
            received += piece
    return received


def is_there(service):
    return ask(service, b"", "/health", "GET")[1]["status"] == "ok"


class InBackground:
    """A call in another thread.

    Args:
        result: the function's, once ``wait`` has returned
    """

    def __init__(self, function, *args, **kwargs):
        self.result = None

        def call():
            self.result = function(*args, **kwargs)

        self.thread = threading.Thread(target=call, daemon=True)
        self.thread.start()

    def wait(self):
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        return self.result


if __name__ == "__main__":
    server.Translator = StubTranslator
    run_main(server.main, server.PROGRAM)
