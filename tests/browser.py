"""A headless Chromium, driven through the pipe of its DevTools protocol."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
PATIENCE = 60  # seconds for all that a test does with a browser


class Page:
    """One page of a browser.

    Args:
        commands, answers: file descriptors, of messages in JSON that end with a null byte
    """

    def __init__(self, commands, answers):
        self.commands = os.fdopen(commands, "wb", buffering=0)
        self.answers = os.fdopen(answers, "rb", buffering=0)
        self.unread, self.session, self.number = b"", {}, 0
        self.logged = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """The result of a command; meanwhile, what the page logs is kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters, **self.session}
        self.commands.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.unread:
                data = self.answers.read(1 << 16)
                if not data:
                    raise AssertionError(f"the browser ended in {method}")
                self.unread += data
            text, _, self.unread = self.unread.partition(b"\0")
            answer = json.loads(text)
            if answer.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.logged.append(answer["params"])
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def run(self, script):
        """The value of an expression in JavaScript."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, script):
        """Wait until an expression is true."""
        while not self.run(f"!!({script})"):
            time.sleep(0.05)

    def press(self, key, code, modifiers=0):
        text = {"text": "\r"} if key == "Enter" else {}
        key = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", **key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    def write(self, text):
        self.call("Input.insertText", text=text)


@contextmanager
def opened(url, folder, *options):
    """A page of a new browser, which is ended with the block, or when PATIENCE is over.

    Args:
        folder: for the browser's files
    """
    (its_commands, commands), (answers, its_answers) = os.pipe(), os.pipe()
    # The protocol wants the descriptors 3 and 4.
    script = f'exec "$@" 3<&{its_commands} 4>&{its_answers}'
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    command += [f"--user-data-dir={folder}", *options]
    browser = subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=(its_commands, its_answers),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(its_commands)
    os.close(its_answers)

    def end():
        with suppress(ProcessLookupError):
            os.killpg(browser.pid, signal.SIGKILL)

    timer = threading.Timer(PATIENCE, end)
    timer.start()
    try:
        page = Page(commands, answers)
        page.call("Page.navigate", url=url)
        page.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")
        yield page
    finally:
        timer.cancel()
        end()
        browser.wait(10)
