"""What the service answers to each request."""

import re
import time
from http import HTTPStatus
from typing import List

from .http_connection import Connection
from .job import Refusal, job_of
from .service_log import log, report

PATHS = {"/": ("GET", "HEAD"), "/health": ("GET", "HEAD"), "/translate": ("POST",)}
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
LOOK_FOR_CLIENT = 0.25  # seconds


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


class Handler(Connection):
    """Answers the requests of one connection. ``server`` is a ``Service``."""

    def respond(self):
        """Answer a request, whatever happens."""
        try:
            # Read first: what is left of a body would be taken for the next request.
            body = self.body()
            self.check_host()
            self.route(body)
        except Refusal as refusal:
            self.refuse(refusal)
        except ClientGone:
            self.close_connection = True
            self.log_answer("client has gone")
        except OSError:
            raise
        except Exception as error:
            report(error)
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = respond

    def check_host(self) -> None:
        """On loopback, refuse a name that somebody else made point here (DNS rebinding)."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) > 1 or not hosts and self.request_version != "HTTP/1.0":
            raise Refusal(HTTPStatus.BAD_REQUEST, "one Host is needed")
        name = re.sub(":[0-9]*$", "", hosts[0]).lower() if hosts else "localhost"
        host = self.server.host.lower()
        if self.server.loopback and name not in (*LOOPBACK_NAMES, host, f"[{host}]"):
            raise Refusal(HTTPStatus.FORBIDDEN, "Host: not a name of this service")

    def route(self, body: bytes) -> None:
        path = self.path.partition("?")[0]
        if path not in PATHS:
            raise Refusal(HTTPStatus.NOT_FOUND, f"no such path; there are {', '.join(PATHS)}")
        if self.command not in PATHS[path]:
            allowed = ", ".join(PATHS[path])
            message = f"{path} takes {allowed}"
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, message, {"Allow": allowed})
        if path == "/":
            self.send(HTTPStatus.OK, *self.server.page)
        elif path == "/health":
            self.send_json(self.server.health())
        else:
            self.send_json({"translations": self.translations(body)})

    def translations(self, body: bytes) -> List[str]:
        """The translation of each line. Meanwhile, look whether the client is still there."""
        kind = re.sub(r'[\s"]', "", self.headers.get("Content-Type", "")).lower()
        # Pages of other sites can only send other types, unless they ask first and are refused.
        if kind not in ("application/json", "application/json;charset=utf-8"):
            message = "Content-Type is not application/json"
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message)
        batcher = self.server.batcher
        job = job_of(body, batcher.translator.options)
        batcher.submit(job)
        while not job.ended.wait(LOOK_FOR_CLIENT):
            if self.client_has_gone():
                batcher.end(job)
                raise ClientGone
        if job.refusal:
            raise job.refusal
        self.lines = len(job.lines)
        return job.translations

    def handle_one_request(self):
        self.lines = 0
        super().handle_one_request()

    def log_answer(self, outcome: str) -> None:
        """One line, without the path or the method if they are not ours: they may be any text."""
        path = self.path.partition("?")[0]
        known = path in PATHS and hasattr(self, f"do_{self.command}")
        request = f"{self.command} {path}" if known else "another request"
        seconds = time.monotonic() - self.started
        client = self.client_address[0]
        log(f"{client}: {request}: {outcome}, {self.lines} lines, {seconds:.3f} s")
