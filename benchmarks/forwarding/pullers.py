#!/usr/bin/env python3
"""Forwards the output of one job through several pullers at different speeds.

Usage: benchmarks/forwarding/pullers.py --prefix PREFIX [--mib MIB] [--ranks N]
                                        [--emulate N] [--rates MIB/S,...]

Brings up an overlay of emulated nodes and runs a job that writes MIB (1024) in
all, in numbered lines, to a file of its launcher and to `canopy output -f` for
each rate; rate 0 reads as fast as it can. Prints, for each reader, the bytes
that it has read and the bytes that it reports as missing, which add up to the
total, and for each agent its largest memory. The exit code is 1 if a byte is
unaccounted for, if lines are torn or out of order, or if an agent used more
than its caches and 32 MiB above its memory before the job.
"""
import argparse
import os
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from emulated_overlay import overlay  # noqa: E402

LINE = 64  # bytes
SAMPLE = 4 * LINE  # bytes that are checked in each read
SPARE = 32 << 20
JOB_CACHE = 1 << 20
PULLER_CACHE = 16 << 20  # as `canopy output` requests
WRITER = ("import os, sys\n"
          "rank, lines = int(os.environ['PMIX_RANK']), int(sys.argv[1])\n"
          "for first in range(0, lines, 1024):\n"
          "    sys.stdout.write(''.join(f'{rank:04d} {n:010d} '.ljust(63, '.')"
          " + '\\n' for n in range(first, min(first + 1024, lines))))\n")


class Puller:
    """Reads the output of one `canopy output -f` at `rate` bytes a second."""

    def __init__(self, command, env, rate):
        self.rate = rate
        self.read = 0
        self.trouble = None
        self.last = {}
        self.child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        start, rest = time.monotonic(), b""
        while True:
            piece = self.child.stdout.read1(1 << 16)
            if not piece:
                break
            self.read += len(piece)
            whole = rest + piece
            end = whole.rfind(b"\n") + 1
            rest = whole[end:]
            self._check(whole[:end])
            if self.rate:
                late = start + self.read / self.rate - time.monotonic()
                if late > 0:
                    time.sleep(late)

    def _check(self, text):
        """Checks the order of each rank's lines. Only some lines are checked,
        because checking all would take longer than reading them. Next to missing
        output, a line may be cut."""
        for line in text[:SAMPLE].splitlines()[:-1]:
            if self.trouble or not re.fullmatch(rb"\d{4} \d{10} \.{47}", line):
                continue
            rank, number = int(line[:4]), int(line[5:15])
            if number <= self.last.get(rank, -1):
                self.trouble = f"rank {rank}: {number} after {self.last[rank]}"
            self.last[rank] = number

    def finish(self):
        self.thread.join()
        error = self.child.stderr.read().decode()
        self.child.wait()
        said = re.search(r"(\d+) bytes of output are missing", error)
        return int(said[1]) if said else 0


def memory(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(rf"^{key}:\s+(\d+) kB", file.read(), re.M)[1]) << 10


def measure(options, nodes):
    before = [memory(int(member["pid"]), "VmRSS") for member in nodes.members]
    lines = options.mib * (1 << 20) // LINE // options.ranks
    total = lines * LINE * options.ranks
    script = os.path.join(nodes.work, "writer.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(WRITER)
    go = os.path.join(nodes.work, "go")
    kept = os.path.join(nodes.work, "kept")
    start = time.monotonic()
    with open(kept, "wb") as out:
        job = nodes.popen(
            "run", "-n", str(options.ranks), "--oversubscribe", "--map-by", "node",
            "sh", "-c",
            'until [ -e "$1" ]; do sleep 0.05; done; exec "$2" "$3" "$4"', "sh",
            go, sys.executable, script, str(lines), stdout=out)
        jobs = []
        while not jobs:
            jobs = nodes.json("ps").get("jobs", [])
        command = nodes.command("output", jobs[0]["job"], "-f")
        pullers = [Puller(command, nodes.env, float(rate) * (1 << 20))
                   for rate in options.rates.split(",")]
        time.sleep(1)  # until the pullers are connected
        with open(go, "w", encoding="ascii"):
            pass
        failed = job.wait() != 0
    took = time.monotonic() - start
    failed |= os.path.getsize(kept) != total
    print(f"launcher: {os.path.getsize(kept)} of {total} bytes, "
          f"{total / took / (1 << 20):.0f} MiB/s")
    for puller in pullers:
        missing = puller.finish()
        wrong = puller.trouble or puller.read + missing != total
        failed |= bool(wrong)
        print(f"puller at {puller.rate / (1 << 20):.0f} MiB/s: {puller.read} read, "
              f"{missing} missing{', WRONG ' + str(puller.trouble) if wrong else ''}")
    limit = SPARE + JOB_CACHE + len(pullers) * PULLER_CACHE
    for member, had in zip(nodes.members, before):
        most = memory(int(member["pid"]), "VmHWM")
        failed |= most > had + limit
        print(f"agent {member['name']}: {had >> 20} MiB before, {most >> 20} MiB at "
              f"most, limit {(had + limit) >> 20} MiB")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--emulate", type=int, default=2)
    parser.add_argument("--rates", default="0,20,2")
    options = parser.parse_args()
    with overlay(options.prefix, "pullers", options.nodes) as nodes:
        return 1 if measure(options, nodes) else 0


if __name__ == "__main__":
    sys.exit(main())
