"""Translate with an exported model over HTTP: JSON in, JSON out."""

import contextlib
import os
import queue
import signal
import socket
import socketserver
import sys
import threading
import time
from typing import Any, Dict, Set

from ..command_line import ArgumentParser, UserError, run_main, whole_number_above_0
from .batching import Batcher
from .http_handler import Handler
from .page import page_of
from .service_log import PROGRAM, log, report
from .translator import Translator

MOST_CONNECTIONS = 100
GRACE = 8.0  # seconds for what waits when the service is told to stop
LINGER = 1.0


class Service(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Listens, with a thread for each connection and one that translates.

    It has its port at once, and answers after ``start``.

    Args:
        most_bytes: of a body

    Raises:
        UserError: the host or port cannot be used
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, most_bytes: int):
        self.host = host
        self.most_bytes = most_bytes
        self.slots = threading.Semaphore(MOST_CONNECTIONS)
        self.connections: Set[socket.socket] = set()
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self.address_family, address = found[0], found[4]
            super().__init__(address, Handler, bind_and_activate=False)
            self.server_bind()
            self.server_activate()
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "no name of a host"
            raise UserError(f"--host '{host}' --port {port}: {reason}") from None
        self.port = self.server_address[1]
        self.loopback = address[0] == "::1" or address[0].startswith("127.")

    def start(self, translator: Translator, most_waiting: int) -> None:
        manifest = translator.manifest
        self.model = {
            name: getattr(manifest, name) for name in ("source_lang", "target_lang", "made_from")
        }
        self.page = page_of(manifest.source_lang, manifest.target_lang)
        self.batcher = Batcher(translator, most_waiting)
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def url(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/"

    def health(self) -> Dict[str, Any]:
        return {
            "status": "stopping" if self.batcher.stopping else "ok",
            "model": self.model,
            "waiting": self.batcher.waiting(),
            "translated": self.batcher.translated,
        }

    def process_request(self, request, client_address):
        """Start a thread once there are not too many; others wait in the system's queue."""
        while not self.slots.acquire(timeout=0.1):
            if self.batcher.stopping:
                super().shutdown_request(request)
                return
        self.connections.add(request)
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # the system has no more threads
            self.leave(request)
            raise

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.leave(request)

    def leave(self, request) -> None:
        self.connections.discard(request)
        self.slots.release()

    def shutdown_request(self, request):
        """Close, but first let the client read the answer to what it is still sending."""
        with contextlib.suppress(OSError):
            request.settimeout(LINGER)
            request.shutdown(socket.SHUT_WR)
            deadline = time.monotonic() + LINGER
            while request.recv(1 << 16) and time.monotonic() < deadline:
                pass
        self.close_request(request)

    def handle_error(self, request, client_address):
        report(sys.exc_info()[1])

    def stop(self, grace: float = GRACE) -> None:
        """Take nothing more, and answer what is there, as far as there is time."""
        deadline = time.monotonic() + grace
        self.batcher.refuse_more()
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        while self.batcher.waiting() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.batcher.give_up()
        while self.connections and time.monotonic() < deadline + 2 * LINGER:
            time.sleep(0.02)


def port_number(text: str) -> int:
    """The ``type`` of ``--port``."""
    return 0 if text == "0" else whole_number_above_0(text, 65535)


def parse_args():
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add, count = parser.add_argument, whole_number_above_0
    add("--onnx", required=True, metavar="FOLDER", help="of export_onnx.sh; a:b is an ensemble")
    add("--host", default="127.0.0.1", help="address to listen at")
    add("--port", type=port_number, default=8080, metavar="N", help="0 for a free one")
    add("--threads", type=count, metavar="N", help="default: as many as cores")
    add("--max-waiting", type=count, default=1000, metavar="N", help="lines")
    add("--max-bytes", type=count, default=1 << 20, metavar="N", help="of a request's body")
    return parser.parse_args()


def wait_for_signal() -> None:
    """Until SIGTERM or Ctrl-C; a second one ends the process at once."""
    signals: queue.SimpleQueue[int] = queue.SimpleQueue()  # a handler may put into this kind
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: signals.put(number))
    signals.get()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def main() -> None:
    args = parse_args()
    service = Service(args.host, args.port, args.max_bytes)
    service.start(Translator(args.onnx, args.threads), args.max_waiting)
    if not service.loopback:
        log("not only this machine can reach the service, and it asks nobody for a password")
    log(f"{service.url()} is ready")
    wait_for_signal()
    log("stopping")
    service.stop()
    os._exit(0)  # the translating thread may be in the middle of a batch that nobody waits for


if __name__ == "__main__":
    run_main(main, PROGRAM)
