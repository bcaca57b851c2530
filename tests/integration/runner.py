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


def survey(script, work, words):
    """Returns the survey of the cases that SCRIPT would run, or None if the
    survey fails."""
    if isolation.enter(script, [harness.ROOT, work], [shards.SURVEY, *words]):
        print("FAILED worlds: the cases cannot be counted", flush=True)
        return None
    return shards.found(work)


def listing(script, words):
    """Prints the names of the wanted cases. Cases of an overlay are listed only
    as such, because they are known only when the overlay is up."""
    with tempfile.TemporaryDirectory(prefix="canopy-it-", dir="/tmp") as work:
        found = survey(script, work, words)
    names = found["names"] if found else []
    print("\n".join(names))
    return 0 if names else 1


def worlds(script, keep, words, found):
    """Runs SCRIPT in several worlds together, and then in one world for the
    cases that must run alone. Starts no more worlds than FOUND has parts for.
    Returns whether every world reached its end."""
    codes = []
    count = min(shards.COUNT, found["beside"])
    with concurrent.futures.ThreadPoolExecutor(max(count, 1)) as pool:
        codes += pool.map(
            lambda number: isolation.enter(script, keep, [number, *words]),
            map(str, range(1, count + 1)))
    if found["alone"]:
        codes.append(isolation.enter(script, keep, [shards.ALONE, *words]))
    if any(codes):
        print(f"FAILED worlds: exit codes {codes}", flush=True)
    return not any(codes)


def world(share, words, inside):
    """Runs the cases in a process that is in a world already."""
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
        found = survey(script, work, words)
        if not found:
            return 1
        keep = [harness.ROOT, *harness.install(work)]
        start = time.monotonic()
        with scheduling.without_session_groups():
            ended = worlds(script, keep, words, found)
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
            shards.share(keep[1], words[0]), words[1:], inside))
    if words[:1] == ["--list"]:
        return listing(script, words[1:])
    if any(word.startswith("-") for word in words):
        print(usage.strip())
        return 0 if words[0] in ("-h", "--help") else 2
    return outside(script, title, words)
