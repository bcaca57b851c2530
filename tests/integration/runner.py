"""Shared by the test programs that need an installed Canopy."""
import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness
import isolation
import scheduling
import shards


def missing_packages():
    wanted = set()
    for name in ("test", "run"):
        path = os.path.join(harness.ROOT, "deploy", "packages", name + ".txt")
        with open(path, encoding="utf-8") as file:
            wanted |= set(file.read().split())
    status = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n"],
        check=True, capture_output=True, text=True).stdout
    there = {line.split()[0] for line in status.splitlines()
             if line.endswith(" installed")}
    return sorted(wanted - there)


def worlds(script, keep, words):
    """Runs SCRIPT in several worlds at once, then in one for the cases that
    must run alone. Returns whether every world reached its end."""
    with concurrent.futures.ThreadPoolExecutor(shards.COUNT) as pool:
        codes = list(pool.map(
            lambda number: isolation.enter(script, keep, [number, *words]),
            map(str, range(1, shards.COUNT + 1))))
    codes.append(isolation.enter(script, keep, [shards.ALONE, *words]))
    if any(codes):
        print(f"FAILED worlds: exit codes {codes}", flush=True)
    return not any(codes)


def world(share, words, inside):
    """Runs in a process that is in a world already."""
    inside(share, words)
    share.end()
    return 0


def outside(script, title, words):
    missing = missing_packages()
    if missing:
        print("FAILED packages: missing " + " ".join(missing))
        return 1
    trouble = isolation.available()
    if trouble:
        print("FAILED isolation: cannot make namespaces: " + trouble)
        return 1
    work = tempfile.mkdtemp(prefix="canopy-it-", dir="/tmp")
    try:
        keep = [harness.ROOT, *harness.install(work)]
        start = time.monotonic()
        with scheduling.without_session_groups():
            ended = worlds(script, keep, words)
        if ended and not shards.same_parts(work):
            print("FAILED worlds: they do not agree on the cases", flush=True)
            ended = False
        passed = shards.summary(title, work, time.monotonic() - start)
        return 0 if ended and passed else 1
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main(script, usage, title, inside):
    """Installs Canopy, and runs INSIDE(share, words) of SCRIPT in isolated
    worlds. TITLE is used in the summary. Returns the exit code."""
    words = sys.argv[1:]
    # A shell that starts this program in the background ignores these signals,
    # and child processes would inherit that.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    if words[:1] == [isolation.INSIDE]:
        return isolation.settle_in(words[1:], lambda keep, words: world(
            shards.Share(keep[1], words[0]), words[1:], inside))
    if any(word.startswith("-") for word in words):
        print(usage.strip())
        return 0 if words[0] in ("-h", "--help") else 2
    return outside(script, title, words)
