"""What requests to the service wait for together, and what becomes of it when the service stops."""

import socket
import struct

import pytest

pytest.importorskip("onnxruntime", reason="the engine needs it")

from translation_service import (
    GOOD,
    PATIENCE,
    InBackground,
    StubTranslator,
    ask,
    expected,
    started,
    translate,
    wait_until,
)

from realformer_runtime.engine import batching, http_handler
from realformer_runtime.engine.http_handler import Handler


@pytest.fixture
def held():
    """A service whose translator waits for its gate, with a first line that it has begun."""
    translator = StubTranslator()
    with started(translator) as service:
        translator.gate.clear()
        first = InBackground(translate, service, "first line")
        wait_until(lambda: translator.calls)
        yield service
        translator.gate.set()
        assert first.wait() == ["line first 5"]


def in_queue(service, count, *lines, **fields):
    """A request in the background, once ``count`` lines wait."""
    request = InBackground(translate, service, *lines, **fields)
    wait_until(lambda: service.batcher.waiting() == count)
    return request


def test_what_waits_with_the_same_options_is_translated_in_one_call(held):
    requests = [
        in_queue(held, 2, "a b"),
        in_queue(held, 3, "c d", beam=2),
        in_queue(held, 5, "e f", "g h", beam=5),
        in_queue(held, 6, "i j", beam=2, overlong="skip"),
    ]
    translator = held.batcher.translator
    translator.gate.set()
    results = [["b a 5"], ["d c 2"], ["f e 5", "h g 5"], ["j i 2"]]
    assert [request.wait() for request in requests] == results
    calls = [sentences for sentences, _ in translator.calls]
    assert calls == [["first line"], ["a b", "e f", "g h"], ["c d", "i j"]]
    assert len(translator.threads) == 1 and held.health()["waiting"] == 0


def test_a_long_request_lets_others_go_first(held):
    lines = [f"{number} a b c d e f g h" for number in range(12)]  # four make a batch of 40
    requests = [
        in_queue(held, 13, *lines),
        in_queue(held, 14, "x"),
        in_queue(held, 15, "y", beam=1),
    ]
    translator = held.batcher.translator
    translator.gate.set()
    assert requests[0].wait() == [expected(line) for line in lines]
    assert [request.wait() for request in requests[1:]] == [["x 5"], ["y 1"]]
    calls = [sentences for sentences, _ in translator.calls[1:]]
    assert calls == [lines[:4], ["x", *lines[4:7]], ["y"], lines[7:11], lines[11:]]


def test_many_short_lines_are_not_one_batch(held, monkeypatch):
    """Each hypothesis in work takes as much memory as the dictionary has words."""
    monkeypatch.setattr(batching, "MOST_HYPOTHESES", 20)
    request = in_queue(held, 11, *"abcdefghij", beam=10)
    held.batcher.translator.gate.set()
    assert request.wait() == [f"{letter} 10" for letter in "abcdefghij"]
    assert [len(sentences) for sentences, _ in held.batcher.translator.calls] == [1, *[2] * 5]


def test_a_request_draws_on_from_batch_to_batch(held):
    request = in_queue(held, 7, *["a b c d e f g h i"] * 6, sampling=True)
    held.batcher.translator.gate.set()
    request.wait()
    _, first, second = held.batcher.translator.calls
    assert first[1]["random"] is second[1]["random"]


def test_drawn_translations_do_not_depend_on_other_requests(held):
    requests = [in_queue(held, count, f"{count} a", sampling=True) for count in (2, 3)]
    held.batcher.translator.gate.set()
    assert [request.wait() for request in requests] == [["a 2 5"], ["a 3 5"]]
    calls = [sentences for sentences, _ in held.batcher.translator.calls]
    assert calls == [["first line"], ["2 a"], ["3 a"]]


def test_a_bad_request_in_a_batch_fails_alone(held, capfd):
    good = in_queue(held, 2, "a b")
    overlong = in_queue(held, 4, "c", "d " * 21, overlong="error")
    exploding = in_queue(held, 5, "explode")
    other = in_queue(held, 6, "e f")
    held.batcher.translator.gate.set()
    assert (good.wait(), other.wait()) == (["b a 5"], ["f e 5"])
    assert overlong.wait()[0] == 400 and "line 2 (21 subwords)" in overlong.result[1]
    assert exploding.wait()[0] == 500
    log = capfd.readouterr().err
    assert "RuntimeError at " in log and "secret" not in log and "explode" not in log
    assert "POST /translate: 500" in log


def test_too_much_that_waits_is_refused_until_it_is_done(held):
    in_queue(held, 100, *["a"] * 99)
    status, content, headers = ask(held, {"lines": ["b"]})
    assert status == 429 and "100 lines" in content["error"] and int(headers["Retry-After"]) > 0
    assert held.health()["waiting"] == 100
    held.batcher.translator.gate.set()
    wait_until(lambda: not held.batcher.waiting())
    assert translate(held, "b") == ["b 5"]


def test_a_client_that_has_gone_costs_nothing(held):
    for abruptly in (False, True):
        with socket.create_connection(("127.0.0.1", held.port), timeout=PATIENCE) as connection:
            connection.sendall(GOOD)
            wait_until(lambda: held.batcher.waiting() == 2)
            if abruptly:
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        wait_until(lambda: held.batcher.waiting() == 1)
    held.batcher.translator.gate.set()
    assert translate(held, "c d") == ["d c 5"]
    calls = [sentences for sentences, _ in held.batcher.translator.calls]
    assert calls == [["first line"], ["c d"]]


def test_stopping_answers_what_is_there_and_takes_nothing_more(held, monkeypatch):
    looked = []
    look = Handler.client_has_gone
    monkeypatch.setattr(Handler, "client_has_gone", lambda self: looked.append(1) or look(self))
    monkeypatch.setattr(http_handler, "LOOK_FOR_CLIENT", 0.01)
    request = InBackground(ask, held, {"lines": ["a b"]})
    wait_until(lambda: held.batcher.waiting() == 2)
    with socket.create_connection(("127.0.0.1", held.port), timeout=PATIENCE) as partial:
        partial.sendall(GOOD[:-1])
        wait_until(lambda: len(held.connections) == 3)
        stop = InBackground(held.stop)
        assert partial.recv(1000).startswith(b"HTTP/1.1 503 ")
    with pytest.raises(OSError):
        translate(held, "c")
    looked.clear()
    wait_until(lambda: len(looked) > 1)
    held.batcher.translator.gate.set()
    status, content, headers = request.wait()
    assert (status, content, headers["Connection"]) == (200, {"translations": ["b a 5"]}, "close")
    stop.wait()


def test_while_it_stops_it_says_so():
    with started() as service:
        service.batcher.refuse_more()
        status, content, headers = ask(service, {"lines": ["a"]})
        assert (status, content) == (503, {"error": batching.STOPPING})
        assert headers["Connection"] == "close"
        assert ask(service, b"", "/health", "GET")[1]["status"] == "stopping"


def test_what_takes_too_long_is_given_up():
    translator = StubTranslator()
    translator.gate.clear()
    with started(translator) as service:
        request = InBackground(translate, service, "a")
        wait_until(lambda: service.batcher.waiting())
        service.stop(grace=0)
        assert request.wait() == (503, batching.STOPPING)
        translator.gate.set()
