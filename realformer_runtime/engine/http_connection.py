"""One HTTP connection: bodies of requests are read within limits, answers are JSON."""

import io
import json
import re
import socket
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Dict, Optional

from .batching import STOPPING
from .job import Refusal

# Seconds: for a request to come, once it has begun; for its answer to be taken; between requests.
RECEIVE, SEND, IDLE = 20, 20, 30
NOTHING_ALLOWED = "default-src 'none'; frame-ancestors 'none'"


class DeadlineReader(io.RawIOBase):
    """Reads from a socket up to a point in time, however slowly bytes come.

    Args:
        deadline: of ``time.monotonic``
    """

    def __init__(self, connection: socket.socket):
        self.connection = connection
        self.deadline = time.monotonic() + IDLE

    def readable(self):
        return True

    def readinto(self, buffer):
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class Connection(BaseHTTPRequestHandler):
    """What all requests have in common. ``server`` is a ``Service``."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.reader = DeadlineReader(self.connection)
        self.rfile = io.BufferedReader(self.reader)

    def handle(self):
        with suppress(OSError):  # the client is slow, or has gone
            super().handle()

    def handle_one_request(self):
        self.started, self.command, self.path = time.monotonic(), None, ""
        self.reader.deadline = self.started + IDLE
        super().handle_one_request()

    def parse_request(self):
        self.started = time.monotonic()
        self.reader.deadline = self.started + RECEIVE
        return super().parse_request()

    def handle_expect_100(self):
        """Ask for the body only if it will be read."""
        try:
            self.body_length()
        except Refusal as refusal:
            self.refuse(refusal)
            return False
        self.connection.settimeout(SEND)
        self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def body_length(self) -> int:
        """Bytes of the body. Where it cannot be read, the connection ends with the answer."""
        keep, self.close_connection = self.close_connection, True
        lengths = self.headers.get_all("Content-Length", [])
        if self.headers.defects:
            raise Refusal(HTTPStatus.BAD_REQUEST, "a header has no colon, or a space before it")
        if "Transfer-Encoding" in self.headers:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "a body needs Content-Length, not chunks")
        if len(lengths) > 1 or not all(re.fullmatch("[0-9]{1,18}", text) for text in lengths):
            raise Refusal(HTTPStatus.BAD_REQUEST, "Content-Length is not one whole number")
        length = int(lengths[0]) if lengths else 0
        if length > self.server.most_bytes:
            message = f"a body of {length} bytes, of at most {self.server.most_bytes}"
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        if self.command == "POST" and not lengths:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "there is no Content-Length")
        self.close_connection = keep
        return length

    def body(self) -> bytes:
        length = self.body_length()
        keep, self.close_connection = self.close_connection, True
        try:
            body = self.rfile.read(length)
        except socket.timeout:
            message = f"the body did not come within {RECEIVE} seconds"
            raise Refusal(HTTPStatus.REQUEST_TIMEOUT, message) from None
        if len(body) < length:
            if self.server.batcher.stopping:
                raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, STOPPING)
            message = f"the body ended after {len(body)} of {length} bytes"
            raise Refusal(HTTPStatus.BAD_REQUEST, message)
        self.close_connection = keep
        return body

    def client_has_gone(self) -> bool:
        """Whether the client has closed its side."""
        if self.server.batcher.stopping:  # which closes that side here
            return False
        self.connection.settimeout(0)
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def send_error(self, code, message=None, explain=None):
        """What http.server refuses, without what it says of the client's text."""
        self.close_connection = True
        self.refuse(Refusal(HTTPStatus(code), HTTPStatus(code).phrase))

    def refuse(self, refusal: Refusal) -> None:
        self.send_json({"error": refusal.message}, refusal.status, refusal.headers)

    def send_json(
        self,
        content: Any,
        status: HTTPStatus = HTTPStatus.OK,
        headers: Optional[Dict[str, str]] = None,
    ) -> None:
        data = f"{json.dumps(content, ensure_ascii=False)}\n".encode()
        kind = {"Content-Type": "application/json; charset=utf-8"}
        self.send(status, data, {**kind, **(headers or {})})

    def send(self, status: HTTPStatus, data: bytes, headers: Dict[str, str]) -> None:
        self.close_connection = self.close_connection or self.server.batcher.stopping
        headers = {
            "Date": self.date_time_string(),
            "Content-Length": str(len(data)),
            "Connection": "close" if self.close_connection else "keep-alive",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Content-Security-Policy": NOTHING_ALLOWED,
            **headers,
        }
        lines = [f"HTTP/1.1 {int(status)} {status.phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "".join(f"{line}\r\n" for line in [*lines, ""]).encode("ascii")
        self.log_answer(str(int(status)))
        self.connection.settimeout(SEND)
        self.wfile.write(head if self.command == "HEAD" else head + data)

    def log_answer(self, outcome: str) -> None:
        raise NotImplementedError

    def log_message(self, *args: Any) -> None:
        """Nothing: http.server would log what the client wrote."""
