"""The service as a command, its page, and a model in it."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("onnxruntime", reason="the engine needs it")

from browser import BROWSER, opened
from commands import error_of
from conftest import PROJECT
from translation_service import (
    PATIENCE,
    InBackground,
    StubTranslator,
    ask,
    connection_to,
    is_there,
    started,
    translate,
    wait_until,
)

from realformer_runtime.engine import server
from realformer_runtime.engine.page import direction
from realformer_runtime.engine.translator import Translator

CTRL = 2  # of the DevTools protocol

STUB = [sys.executable, PROJECT / "tests/translation_service.py", "--onnx", "stub"]


@contextlib.contextmanager
def process(*command, **environment):
    """A service as a process of its own."""
    command = [str(word) for word in command]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), **environment}
    service = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8", env=environment)
    timer = threading.Timer(PATIENCE, service.kill)
    timer.start()
    try:
        yield service
    finally:
        timer.cancel()
        service.kill()
        service.wait(PATIENCE)
        service.stderr.close()


def at(line):
    """What a service says it is at, as ``connection_to`` wants it."""
    return SimpleNamespace(port=int(re.search("http://127.0.0.1:([0-9]+)/ is ready", line)[1]))


@pytest.mark.parametrize(
    ("number", "environment"),
    [
        (signal.SIGTERM, {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}),
        (signal.SIGINT, {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error"}),
    ],
)
def test_a_signal_ends_it_with_0(number, environment):
    with process(*STUB, "--port", 0, **environment) as service:
        place = at(service.stderr.readline())
        assert translate(place, "é 日") == ["日 é 5"]
        with contextlib.closing(connection_to(place)) as idle:
            idle.connect()
            assert is_there(place)
            service.send_signal(number)
            assert service.wait(PATIENCE) == 0
        log = service.stderr.read().splitlines()
    assert len(log) == 3 and log[-1] == "serve.sh: stopping", log
    assert "POST /translate: 200, 1 lines" in log[0] and "é" not in log[0]


def test_it_says_when_others_can_reach_it():
    with process(*STUB, "--port", 0, "--host", "0.0.0.0") as service:
        assert "password" in service.stderr.readline()
        place = at(service.stderr.readline().replace("0.0.0.0", "127.0.0.1"))
        # Its names are not known here.
        assert ask(place, b"", "/health", "GET", {"Host": "translation.example"})[0] == 200


def test_without_standard_streams():
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = SimpleNamespace(port=free.getsockname()[1])

    def answers():
        with contextlib.suppress(ConnectionRefusedError):
            return translate(place, "a b") == ["b a 5"]

    shell = ["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash"]
    with process(*shell, *STUB, "--port", place.port) as service:
        wait_until(answers)
        service.terminate()
        assert service.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["--onnx"]),
        (["--onnx", "/no/such"], ["--onnx", "/no/such"]),
        (["--onnx", "x", "--port", "65536"], ["--port", "65536", "65535"]),
        (["--onnx", "x", "--port", "-1"], ["--port", "-1"]),
        (["--onnx", "x", "--host", "192.0.2.1"], ["--host", "192.0.2.1"]),
        (["--onnx", "x", "--host", "x" * 70], ["--host", "x" * 70]),
        (["--onnx", "x", "--max-waiting", "0"], ["--max-waiting", "'0'"]),
    ],
)
def test_a_mistake_at_the_command_line_is_one_line(options, words):
    options = options if "--port" in options else [*options, "--port", "0"]
    error = error_of(server, *options)
    assert error.startswith("serve.sh: ") and "\n" not in error
    assert all(word in error for word in words), error


def test_a_port_in_use():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        error = error_of(server, "--onnx", "x", "--port", port)
    assert error == f"serve.sh: --host '127.0.0.1' --port {port}: Address already in use"


@pytest.fixture(scope="module")
def exported(trained, prepared, tmp_path_factory):
    """A small model, exported."""
    onnx_export = pytest.importorskip("realformer_fairseq.export.onnx_export")
    folder = tmp_path_factory.mktemp("exported") / "model"
    checkpoint = trained / "checkpoint_last.pt"
    options = ["--checkpoint", checkpoint, "--data", prepared / "data-bin", "--output", folder]
    assert error_of(onnx_export, *options) is None
    return folder


def test_a_model_translates_as_without_the_service(exported, prepared):
    translator = Translator(exported, threads=1)
    lines = (prepared / "raw/test.en").read_text("utf-8").splitlines()
    wanted = [translator.translate([line]) for line in lines]
    with started(Translator(exported, threads=1)) as service:
        found = [InBackground(translate, service, line) for line in lines]
        assert [request.wait() for request in found] == wanted
        assert translate(service, *lines, beam=1) == translator.translate(lines, beam=1)
        assert service.health()["model"]["made_from"]["checkpoint"] == "checkpoint_last.pt"


def test_the_script(exported):
    with process(PROJECT / "scripts/serve.sh", "--onnx", exported, "--port", 0) as service:
        assert len(translate(at(service.stderr.readline()), "a", "b")) == 2
        service.terminate()
        assert service.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("lang", "expected"),
    [
        ("ar", "rtl"),
        ("he_IL", "rtl"),
        ("iw", "rtl"),
        ("pes_Arab", "rtl"),
        ("pa-Arab", "rtl"),
        ("ku_Latn", "ltr"),
        ("fr_FR", "ltr"),
    ],
)
def test_the_direction_of_a_language(lang, expected):
    assert direction(lang) == expected


def test_the_page_runs_nothing_but_its_script():
    translator = StubTranslator()
    translator.manifest.source_lang = '"><script>alert(1)</script>'
    with started(translator) as service, contextlib.closing(connection_to(service)) as connection:
        connection.request("GET", "/")
        response = connection.getresponse()
        text = response.read().decode()
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    assert text.count("<script>") == 1 and "&lt;script&gt;" in text
    assert "http:" not in text and "https:" not in text and "{source" not in text


@pytest.mark.skipif(not BROWSER, reason="no Chromium is installed")
def test_the_page_in_a_browser(tmp_path):
    with started() as service, opened(service.url(), tmp_path) as page:

        def text(name):
            property = "textContent" if name == "status" else "value"
            return page.run(f"document.getElementById('{name}').{property}")

        assert page.run("document.title") == "Translate English to Arabic (Egypt)"
        fields = "[...document.querySelectorAll('textarea')]"
        assert page.run(f"{fields}.map(t => [t.lang, t.dir, t.labels[0].innerText])") == [
            ["en", "ltr", "Text in English"],
            ["ar-EG", "rtl", "Translation into Arabic (Egypt)"],
        ]
        page.write("a b\n\n<b>c</b> d")
        page.press("Enter", 13, CTRL)
        page.wait_for("document.getElementById('target').value")
        assert text("target") == "b a 5\n5\nd <b>c</b> 5" and text("status").startswith("Done in ")
        assert page.logged == []

        page.write(" explode")
        page.press("Tab", 9)
        assert page.run("document.activeElement.innerText") == "Translate"
        page.press("Enter", 13)
        page.wait_for("document.querySelector('#status.error')")
        assert "error of the service" in text("status") and text("target") == ""

        service.stop()
        page.press("Enter", 13)
        page.wait_for("document.getElementById('status').textContent.includes('does not answer')")

        for width in (320, 1200):
            size = {"width": width, "height": 600, "deviceScaleFactor": 1, "mobile": False}
            page.call("Emulation.setDeviceMetricsOverride", **size)
            assert page.run("document.documentElement.scrollWidth") <= width
