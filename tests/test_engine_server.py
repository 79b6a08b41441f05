"""Translation over HTTP: requests that are answered or refused, and clients that misbehave."""

import contextlib
import json
import random
import re
import socket
import struct

import pytest

pytest.importorskip("onnxruntime", reason="the engine needs it")

from translation_service import (
    BODY,
    GET,
    GOOD,
    JSON,
    PATIENCE,
    POST,
    WITH_LENGTH,
    InBackground,
    answer_of,
    ask,
    connection_to,
    expected,
    is_there,
    raw,
    started,
    translate,
    wait_until,
)

from realformer_runtime.engine import http_connection, server

UTF8_JSON = 'Application/JSON; charset="UTF-8"'


@pytest.fixture(scope="module")
def shared():
    """A service that tests leave as it is."""
    with started() as service:
        yield service


def test_lines_are_translated_in_order_with_the_options_of_the_request(shared):
    assert translate(shared, "a b", "", "é\u2028<b>", "a\nb") == ["b a 5", "5", "<b> é 5", "b a 5"]
    assert translate(shared, "a b", beam=2, lenpen=1, sampling=False) == ["b a 2"]
    long = " ".join("abcdefghijklmnopqrstuvw")
    assert translate(shared, long, overlong="split") == [expected(long)]
    assert translate(shared, long, "x", overlong="skip") == ["5", "x 5"]
    assert translate(shared) == []
    before = shared.health()["translated"]
    assert translate(shared, "c", "d") and shared.health()["translated"] == before + 2


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"\xff", 400, "not UTF-8"),
        (b'{"lines": ["a"], "lenpen": NaN}', 400, "NaN"),
        (b'{"lines": ["a"], "lenpen": 1e999}', 400, "lenpen: Infinity is not a finite number"),
        (b'{"lines": ["a"], "beam": %s}' % (b"9" * 9999), 400, "digits"),
        (b"[" * 90_000, 400, "deep"),
        (b'{"lines": ["a"], "lines": ["b"]}', 400, "twice"),
        (["a"], 400, "not an object"),
        ({}, 400, "lines: "),
        ({"lines": "a"}, 400, "lines: "),
        ({"lines": ["a", 1]}, 400, "lines: "),
        ({"lines": ["a", "\ud800"]}, 400, "number 2"),
        ({"lines": ["a"], "overlong": "cut"}, 400, 'overlong: "cut" is not one of split'),
        ({"lines": ["a"], "overlong": ["split"]}, 400, "overlong: "),
        ({"lines": ["a"], "beams\n": 1}, 400, '"beams\\n": no such field'),
        ({"lines": ["a"], "nbest": 1}, 400, "nbest"),
        ({"lines": ["a"], "max_tokens": 10}, 400, "max_tokens"),
        ({"lines": ["a"], "beam": "5"}, 400, 'beam: "5" is not a whole number'),
        ({"lines": ["a"], "beam": True}, 400, "beam: true is not a whole number"),
        ({"lines": ["a"], "beam": 2.0}, 400, "beam: 2.0"),
        ({"lines": ["a"], "beam": None}, 400, "beam: null"),
        ({"lines": ["a"], "beam": 0}, 400, "beam: '0'"),
        ({"lines": ["a"], "beam": 51}, 400, "beam: 51 is above 50"),
        ({"lines": ["a"], "sampling": 1}, 400, "sampling: 1 is not true or false"),
        ({"lines": ["a"], "temperature": 0}, 400, "temperature"),
        ({"lines": ["a " * 21, "b " * 22], "overlong": "error"}, 400, "line 2 (22 subwords)"),
        ({"lines": ["a" * 10_001]}, 413, "10000 characters"),
        ({"lines": [""] * 101}, 413, "101 lines"),
        ({"lines": ["a" * 100_000]}, 413, "100000"),
        ({"lines": ["explode"]}, 500, "error of the service"),
    ],
)
def test_a_body_that_is_refused(shared, body, status, words):
    found, content, _ = ask(shared, body)
    assert found == status and words in content["error"]
    assert list(content) == ["error"] and "\n" not in content["error"]
    assert "secret" not in content["error"] and is_there(shared)


def test_a_connection_goes_on_after_a_request_that_is_refused(shared):
    requests = [
        ("GET", "/nowhere", b"x", {}, 404, None),
        ("DELETE", "/translate", b"", {}, 405, "POST"),
        ("POST", "/health", b"x" * 50_000, {}, 405, "GET, HEAD"),
        ("OPTIONS", "/translate", b"", {"Origin": "http://evil.example"}, 405, "POST"),
        ("POST", "/translate", BODY, {"Content-Type": "text/plain"}, 415, None),
        ("POST", "/translate", BODY, {}, 415, None),
        ("POST", "/translate", BODY, {**JSON, "Host": "evil.example:80"}, 403, None),
        ("POST", "/translate", b"{", JSON, 400, None),
        ("POST", "/translate?x", BODY, {"Content-Type": UTF8_JSON}, 200, None),
    ]
    with contextlib.closing(connection_to(shared)) as connection:
        connection.connect()
        sock = connection.sock
        for method, path, body, headers, status, allow in requests:
            connection.request(method, path, body, headers)
            found, content, answered = answer_of(connection)
            assert (found, answered["Allow"]) == (status, allow), content
            assert not [name for name in answered if name.startswith("Access-Control")]
            assert answered["X-Content-Type-Options"] == "nosniff"
            assert connection.sock is sock


def test_the_log_has_no_text_of_users(shared, capfd):
    ask(shared, {"lines": ["secret"]}, "/translate?secret")
    ask(shared, {"secret": "secret"})
    ask(shared, b"", "/secret", "GET")
    raw(shared, b"SECRET / HTTP/1.1\r\n\r\n")
    raw(shared, b"secret\r\n\r\n")
    log = capfd.readouterr().err
    assert len(log.splitlines()) == 5 and "secret" not in log.lower()


def test_head_has_no_body(shared):
    answer = raw(shared, GET.replace(b"GET", b"HEAD") + b"Connection: close\r\n\r\n")
    assert re.search(b"Content-Length: [1-9]", answer) and answer.endswith(b"\r\n\r\n")
    assert answer.count(b"\r\n\r\n") == 1


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9000", "[::1]:8080", "LOCALHOST:1"])
def test_names_of_loopback_are_served(shared, host):
    assert ask(shared, b"", "/health", "GET", {"Host": host})[0] == 200


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\xfc\r\n\r\n", 400),
        (b"one two three four\r\n\r\n", 400),
        (b"GET /health\r\n\r\n", 200),
        (b"GET /health HTTP/0.9\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"BREW / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nGET", 501),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (GET + b"X: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (GET + b"X: x\r\n" * 200 + b"\r\n", 431),
        (GET + b"Content-Length : 5\r\n\r\n", 400),
        (GET + b"Host: localhost\r\nConnection: close\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", 400),
        (b"GET /health HTTP/1.0\r\n\r\n", 200),
        (POST + b"\r\n", 411),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (POST + b"Content-Length: 3\r\n" + WITH_LENGTH % (3, b"abc"), 400),
        (POST + b"Content-Length: +3\r\n\r\nabc", 400),
        (POST + b"Content-Length: -1\r\n\r\n", 400),
        (POST + b"Content-Length: \xb2\r\n\r\n", 400),
        (POST + WITH_LENGTH % (200_000, b"x" * 200_000), 413),
        (POST + WITH_LENGTH % (10**17, b"x"), 413),
        (POST + b"Expect: 100-continue\r\n" + WITH_LENGTH % (200_000, b""), 413),
    ],
)
def test_after_what_cannot_be_read_the_connection_ends(shared, data, status):
    """Else what follows would be taken for a request."""
    head, _, body = raw(shared, data).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status) and b"Connection: close" in head
    assert list(json.loads(body)) == ["error"] or status == 200
    assert is_there(shared)


def test_a_client_that_writes_all_before_it_reads_gets_the_answer(monkeypatch):
    monkeypatch.setattr(server, "LINGER", PATIENCE)
    with started() as service:
        answer = raw(service, POST + WITH_LENGTH % (1 << 24, b"x" * (1 << 24)))
        assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_that_waits_to_be_asked_for_and_requests_in_one_piece(shared):
    head = POST + b"Expect: 100-continue\r\nConnection: close\r\n" + WITH_LENGTH % (len(BODY), b"")
    with socket.create_connection(("127.0.0.1", shared.port), timeout=PATIENCE) as connection:
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert b"b a 5" in connection.recv(1000)
    answers = raw(shared, GOOD + GET + b"\r\n" + GOOD + GET + b"Connection: close\r\n\r\n")
    assert answers.count(b"HTTP/1.1 200 OK") == 4 and answers.count(b"b a 5") == 2


def test_clients_that_say_nothing_are_left(monkeypatch):
    monkeypatch.setattr(http_connection, "IDLE", 0.2)
    with started() as service:
        assert raw(service, b"") == raw(service, b"GET /hea") == b""


def test_slow_clients_are_left(monkeypatch):
    """Every byte is in time, but not the whole."""
    monkeypatch.setattr(http_connection, "RECEIVE", 0.2)
    with started() as service:
        assert raw(service, GET) == b""
        with socket.create_connection(("127.0.0.1", service.port), timeout=0.02) as connection:
            connection.sendall(POST + WITH_LENGTH % (50_000, b""))
            answer = b""
            for _ in range(500):
                with contextlib.suppress(socket.timeout):
                    answer = connection.recv(1000)
                    break
                connection.sendall(b" ")
        assert answer.startswith(b"HTTP/1.1 408 ")


class Counted(set):
    """A set that keeps how large it ever was."""

    most = 0

    def add(self, member):
        super().add(member)
        self.most = max(self.most, len(self))


def test_connections_above_the_limit_wait(monkeypatch):
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 2)
    with started() as service:
        service.connections = Counted()
        idle = [connection_to(service) for _ in range(2)]
        for connection in idle:
            connection.request("GET", "/health")
            assert answer_of(connection)[0] == 200
        late = InBackground(translate, service, "a b")
        idle[0].close()
        assert late.wait() == ["b a 5"] and service.connections.most == 2
        idle[1].close()


LINES = ["the cat", "sleeps well", "é ß 日", "", "one two three"]


def good_request(service, number):
    lines = [f"{number} {random.choice(LINES)}" for _ in range(random.randint(1, 4))]
    beam = random.choice([1, 5])
    while True:
        result = translate(service, *lines, beam=beam)
        if not (isinstance(result, tuple) and result[0] == 429):
            return result == [expected(line, beam) for line in lines]


def bad_request(service, number):
    """What is no good request, without looking at what comes back."""
    whole = [
        random.randbytes(300),
        GOOD[: random.randrange(1, len(GOOD))],
        GOOD,
        POST + WITH_LENGTH % (10**9, b"x" * 100_000),
        POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        POST + WITH_LENGTH % (10, b'{"lines": '),
        POST + WITH_LENGTH % (11, b'["\xff\xfe\x00\x01"]  '),
        POST.replace(b"localhost", b"evil.example") + WITH_LENGTH % (len(BODY), BODY),
        b"TRACE / HTTP/1.1\r\n\r\n",
        POST + WITH_LENGTH % (22, b'{"lines": ["explode"]}'),
    ]
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection,
    ):
        connection.sendall(whole[number % len(whole)])
        if number % 3 == 0:
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        elif number % 3 == 1:
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1000)
    return True


def test_a_thousand_mixed_requests_from_20_threads(capfd):
    with started(most_waiting=40) as service:

        def client(first):
            numbers = range(first, 1000, 20)
            return [(bad_request if n % 4 < 2 else good_request)(service, n) for n in numbers]

        # A step of 20 leaves n % 4 alone: each thread is of one kind, and all run at a time.
        results = [InBackground(client, first) for first in range(20)]
        assert [sum(result.wait()) for result in results] == [50] * 20
        wait_until(lambda: not service.batcher.waiting())
        assert is_there(service) and translate(service, "a b") == ["b a 5"]
        wait_until(lambda: not service.connections)
    log = capfd.readouterr().err
    assert "Traceback" not in log and "the cat" not in log
    errors = {line.partition(" at ")[0] for line in log.splitlines() if " at " in line}
    assert errors == {"serve.sh: RuntimeError"}
