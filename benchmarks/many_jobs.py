#!/usr/bin/env python3
"""Runs many jobs on one overlay, one after the other, and measures what the agents
keep: memory, descriptors, files and processes.

Usage: many_jobs.py PREFIX [--jobs 100000] [--warm-up 20000] [--nodes 2] [--ranks 2]
                    [--rows 50] [--tolerance 1.0] [--parallel 1] [COMMAND...]

PREFIX has an installed Canopy. COMMAND is the program of each job (default: true).
Prints a row for each part of the jobs. After the jobs of the warm-up, the memory of
each agent must stay within the tolerance (in percent), and the numbers of descriptors,
files and processes must not grow; otherwise the exit code is 1."""
import argparse
import itertools
import os
import subprocess
import sys
import threading
import time

import emulated_overlay

NAME = "many-jobs"


def private_kib(pid):
    """Returns the private memory of a process. Pages of memory files, which jobs
    share with their agents, come and go with the jobs."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        return sum(int(line.split()[1]) for line in file
                   if line.startswith(("Private_Clean:", "Private_Dirty:")))


def files_below(directory):
    return sum(len(files) + len(directories)
               for _, directories, files in os.walk(directory))


def processes_below(pids):
    """Returns the number of processes in the sessions of the agents or that are
    their descendants."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry))
    found, left = 0, list(pids)
    while left:
        found += 1
        left += children.get(left.pop(), [])
    return found


class State:
    """What the agents have now."""

    def __init__(self, overlay):
        pids = [member["pid"] for member in overlay.members]
        self.memory = [private_kib(pid) for pid in pids]
        self.descriptors = [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids]
        self.files = files_below(os.path.join(overlay.work, f"canopy-{os.geteuid()}"))
        self.processes = processes_below(pids)

    def row(self):
        memory = " ".join(f"{kib:8d}" for kib in self.memory)
        descriptors = " ".join(f"{count:4d}" for count in self.descriptors)
        return f"{memory}  {descriptors}  {self.files:5d}  {self.processes:5d}"

    def growth_since(self, before, tolerance):
        """Returns what has grown."""
        grown = []
        for agent, (then, now) in enumerate(zip(before.memory, self.memory)):
            if now > then * (1 + tolerance / 100):
                grown.append(f"memory of agent {agent}: {then} to {now} KiB")
        for agent, (then, now) in enumerate(
                zip(before.descriptors, self.descriptors)):
            if now > then:
                grown.append(f"descriptors of agent {agent}: {then} to {now}")
        if self.files > before.files:
            grown.append(f"files: {before.files} to {self.files}")
        if self.processes > before.processes:
            grown.append(f"processes: {before.processes} to {self.processes}")
        return grown


class Jobs:
    """Runs jobs and counts those that fail."""

    def __init__(self, overlay, options):
        self.overlay, self.options = overlay, options
        self.failed = 0

    def caller(self, numbers):
        command = ["-n", str(self.options.ranks), "--oversubscribe", "--allow-run-as-root",
                   *self.options.command]
        for _ in numbers:
            if self.overlay.popen("run", *command, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL).wait() != 0:
                self.failed += 1

    def run(self, count):
        numbers = iter(range(count))
        lock = threading.Lock()

        def shared():
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                yield number
        threads = [threading.Thread(target=self.caller, args=(shared(),))
                   for _ in range(self.options.parallel)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def settled(overlay):
    """Returns the state when the ends of the last jobs are handled."""
    time.sleep(1)
    return State(overlay)


def measure(overlay, options):
    jobs = Jobs(overlay, options)
    part = max(1, options.jobs // options.rows)
    print("    jobs  seconds  KiB of each agent  descriptors  files  processes",
          flush=True)
    start, warm = time.monotonic(), None
    for done in itertools.count(part, part):
        jobs.run(part)
        state = settled(overlay)
        print(f"{done:8d} {time.monotonic() - start:8.0f}  {state.row()}", flush=True)
        if warm is None and done >= options.warm_up:
            warm = state
        if done + part > options.jobs:
            break
    grown = state.growth_since(warm, options.tolerance) if warm else ["no warm-up"]
    if jobs.failed:
        grown.append(f"{jobs.failed} jobs have failed")
    return grown


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix")
    parser.add_argument("--jobs", type=int, default=100000)
    parser.add_argument("--warm-up", type=int, default=20000)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--tolerance", type=float, default=1.0)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("command", nargs="*", default=["true"])
    options = parser.parse_args()
    with emulated_overlay.overlay(os.path.abspath(options.prefix), NAME,
                                  options.nodes) as overlay:
        os.environ["XDG_STATE_HOME"] = overlay.env["XDG_STATE_HOME"] = overlay.work
        grown = measure(overlay, options)
    for line in grown:
        print("GROWN", line)
    print("flat" if not grown else "not flat")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
