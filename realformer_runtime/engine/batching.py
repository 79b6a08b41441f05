"""One thread that translates what several requests wait for, in batches."""

import queue
import threading
from collections import deque
from dataclasses import asdict
from http import HTTPStatus
from typing import Deque, List, Sequence, Set, Tuple

from ..command_line import UserError
from ..text.overlong_sentences import parts_of_sentences
from .job import Job, Refusal
from .search_options import SearchOptions
from .service_log import report
from .translator import Translator

Part = Tuple[Job, Sequence[Sequence[Sequence[str]]]]
RETRY_AFTER = {"Retry-After": "2"}  # seconds
# Of a batch. Larger ones are hardly faster on a CPU, and others wait for them. A hypothesis in work
# takes memory for every word of the dictionary.
MOST_TOKENS, MOST_HYPOTHESES = 600, 640
STOPPING = "the service is stopping"


class Batcher:
    """Hands jobs to a translator, which only its thread uses.

    Jobs with the same options share batches. A job that does not fit into one goes on after those
    that came meanwhile, so that short ones need not wait for it.

    Args:
        most_waiting: lines; more are refused
    """

    def __init__(self, translator: Translator, most_waiting: int):
        self.translator = translator
        self.most_waiting = most_waiting
        self.translated = 0
        self.stopping = False
        self._lock = threading.Lock()  # of the jobs that count and whether more are taken
        self._jobs: Set[Job] = set()
        self._inbox: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._active: Deque[Job] = deque()  # the thread's own
        threading.Thread(target=self._run, name="translator", daemon=True).start()

    def waiting(self) -> int:
        """How many lines are not translated yet."""
        with self._lock:
            return sum(job.waiting() for job in self._jobs)

    def submit(self, job: Job) -> None:
        """Take a job; it is done when ``job.ended`` is set.

        Raises:
            Refusal: too much is waiting, or nothing is taken any more
        """
        if len(job.lines) > self.most_waiting:
            message = f"{len(job.lines)} lines, where {self.most_waiting} may wait"
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        with self._lock:
            if self.stopping:
                raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, STOPPING)
            waiting = sum(job.waiting() for job in self._jobs)
            if waiting + len(job.lines) > self.most_waiting:
                message = f"{waiting} lines are waiting, of at most {self.most_waiting}"
                raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, message, RETRY_AFTER)
            self._jobs.add(job)
        self._inbox.put(job)

    def end(self, job: Job) -> None:
        """Count a job no more: it is done, or nobody waits for it."""
        with self._lock:
            self._jobs.discard(job)
        job.ended.set()

    def refuse_more(self) -> None:
        """Take no job any more; those that are there go on."""
        with self._lock:
            self.stopping = True

    def give_up(self) -> None:
        """Refuse the jobs that are still there."""
        with self._lock:
            jobs = list(self._jobs)
        for job in jobs:
            self._refuse(job, Refusal(HTTPStatus.SERVICE_UNAVAILABLE, STOPPING))

    def _refuse(self, job: Job, refusal: Refusal) -> None:
        job.refusal = job.refusal or refusal
        self.end(job)

    def _run(self) -> None:
        while True:
            self._receive()
            batch = self._next_batch()
            if batch:
                self._translate(batch)

    def _receive(self) -> None:
        """Prepare the jobs that have come; wait for one if there is nothing else to do."""
        for _ in range(max(self._inbox.qsize(), 0 if self._active else 1)):
            job = self._inbox.get()
            if job.ended.is_set():
                continue
            try:
                self._prepare(job)
            except Exception as error:
                self._refuse(job, refusal_of(error))
            else:
                self._active.append(job)

    def _prepare(self, job: Job) -> None:
        """Subwords of all lines: the only step that depends on ``overlong``."""
        subwords = [self.translator.subwords(line) for line in job.lines]
        limit = self.translator.subword_limit(**asdict(job.options))
        job.sentences = parts_of_sentences(subwords, limit, job.overlong)
        if not job.lines:
            self.end(job)

    def _next_batch(self) -> List[Part]:
        """The next lines of the first job, and of others with the same options.

        Drawn translations depend on what else is in the batch: such a job has its own, so that the
        same ``seed`` gives the same text.
        """
        jobs = [job for job in self._active if not job.ended.is_set()]
        batch: List[Part] = []
        self._active.clear()
        room = 1.0
        for job in jobs:
            options = jobs[0].options
            fits = job is jobs[0] or job.options == options and not options.sampling
            if fits and room > 0:
                rest = job.sentences[len(job.translations) :]
                part, room = first_sentences(rest, room, options)
                batch.append((job, part))
            else:
                self._active.append(job)
        self._active.extend(job for job, _ in batch)
        return batch

    def _translate(self, batch: Sequence[Part]) -> None:
        """Translate a batch; where that fails, each job's part by itself."""
        first = batch[0][0]
        options = dict(asdict(first.options), random=first.random)
        sentences = [sentence for _, part in batch for sentence in part]
        try:
            texts = iter(self.translator.translate_sentences(sentences, **options))
        except Exception as error:
            if len(batch) == 1:
                self._refuse(batch[0][0], refusal_of(error))
            else:
                for part in batch:
                    self._translate([part])
            return
        self.translated += len(sentences)
        for job, part in batch:
            job.translations += [next(texts) for _ in part]
            if not job.waiting():
                self.end(job)


def first_sentences(
    sentences: Sequence, room: float, options: SearchOptions
) -> Tuple[Sequence, float]:
    """The first sentences that have room in a batch, at least one, and the room that is left.

    Args:
        room: 1 is that of a whole batch
    """
    most_tokens = min(options.max_tokens, MOST_TOKENS)
    for number, sentence in enumerate(sentences):
        tokens = sum(len(part) + 1 for part in sentence)
        hypotheses = len(sentence) * options.beam
        left = room - max(tokens / most_tokens, hypotheses / MOST_HYPOTHESES)
        if left < 0:
            return sentences[: max(number, 1)], 0.0
        room = left
    return sentences, room


def refusal_of(error: Exception) -> Refusal:
    """What the client is told of an error. The log has the place of one that nobody expects."""
    if isinstance(error, UserError):
        return Refusal(HTTPStatus.BAD_REQUEST, str(error))
    report(error)
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "an error of the service, see its log")
