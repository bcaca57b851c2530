"""What a test makes the fake API server do wrong."""
import threading
import time

from selection import Refusal


class Faults:
    def __init__(self):
        self.lock = threading.Lock()
        self.throttled = 0  # requests that are still to be refused
        self.retry_after = 1
        self.generation = 0  # watches of an earlier one end
        self.forbidden = set()  # (verb, plural) that the token may not do
        self.delay = 0  # seconds before each answer
        self.broken = 0  # lists and gets that get half an answer

    def throttle(self, requests, retry_after=1):
        with self.lock:
            self.throttled, self.retry_after = requests, retry_after

    def break_answers(self, requests):
        """The connection ends in the middle of the next answers."""
        with self.lock:
            self.broken = requests

    def breaks(self):
        """Returns whether the present answer shall be cut."""
        with self.lock:
            cut = self.broken > 0
            self.broken -= cut
            return cut

    def drop_watches(self):
        with self.lock:
            self.generation += 1

    def before(self, verb, plural):
        """Called before each request of an object; raises its refusal."""
        time.sleep(self.delay)
        with self.lock:
            if self.throttled > 0:
                self.throttled -= 1
                raise Refusal(429, "TooManyRequests", "too many requests, please "
                              "try again later", self.retry_after)
        if (verb, plural) in self.forbidden:
            raise Refusal(403, "Forbidden", f"{plural} is forbidden: the account "
                          f"cannot {verb} resource \"{plural}\"")
