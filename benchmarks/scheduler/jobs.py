#!/usr/bin/env python3
"""Measures how many jobs are started each second by two hosts.

One is the embedded host, which grants immediately; the other is the example
scheduler, in whose queue the jobs wait.

Usage: jobs.py PREFIX [--jobs 200] [--callers 20] [--emulate 4] [--ranks 2]

PREFIX has an installed Canopy. Nodes are emulated. Callers run one job of
`true` after the other, each with its own `canopy run`. The scheduler needs the
same as examples/host_module/scheduler.py."""
import argparse
import contextlib
import os
import subprocess
import tempfile
import threading
import time

SCHEDULER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                         "../../examples/host_module/scheduler.py")
CONTEXT = "jobs-benchmark"


class Canopy:
    def __init__(self, options):
        self.options = options

    def __call__(self, *words):
        done = subprocess.run(
            [os.path.join(self.options.prefix, "bin", "canopy"), *map(str, words)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
            check=False)
        if done.returncode != 0:
            raise RuntimeError(f"canopy {' '.join(map(str, words))}: {done.stderr}")

    def call(self, count, failures, words):
        try:
            for _ in range(count):
                self("run", "--context", CONTEXT, "-n", self.options.ranks, *words,
                     "true")
        except RuntimeError as error:
            failures.append(error)

    def measure(self, *words):
        """Returns the jobs each second in an overlay that is up. WORDS are
        additional options of each job."""
        jobs, callers = self.options.jobs, self.options.callers
        failures = []
        threads = [threading.Thread(target=self.call, args=(
            len(range(first, jobs, callers)), failures, words))
                   for first in range(callers)]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return jobs / (time.monotonic() - start)

    @contextlib.contextmanager
    def overlay(self, *options):
        self("up", "--context", CONTEXT, "--emulate", self.options.nodes, "--quiet",
             *options)
        try:
            yield
        finally:
            self("down", "--context", CONTEXT)


@contextlib.contextmanager
def scheduler():
    with tempfile.TemporaryDirectory() as directory:
        address = f"unix:{directory}/scheduler.sock"
        with subprocess.Popen([SCHEDULER, "--listen", address], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            try:
                if process.stdout.readline() != "ready\n":
                    raise RuntimeError("the scheduler does not start")
                yield address
            finally:
                process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--callers", type=int, default=20)
    parser.add_argument("--emulate", dest="nodes", type=int, default=4)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    canopy = Canopy(options)
    print(f"{options.jobs} jobs of {options.ranks} ranks by {options.callers} callers on "
          f"{options.nodes} nodes; load {os.getloadavg()[0]:.1f}")
    with canopy.overlay():
        shared = canopy.measure("--oversubscribe")
        print(f"embedded host: {shared:.1f} jobs/s", flush=True)
    with scheduler() as address, canopy.overlay("--host-module", address):
        print(f"scheduler:     {canopy.measure():.1f} jobs/s", flush=True)


if __name__ == "__main__":
    main()
