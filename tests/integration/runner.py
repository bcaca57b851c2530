"""What the test programs that need an installed Canopy have in common."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import harness
import isolation


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


def outside(script, words):
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
        return isolation.enter(
            script, [harness.ROOT, *harness.install(work)], words)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main(script, usage, inside):
    """Installs, and runs INSIDE(keep, words) of SCRIPT in a world of its own.
    Returns the exit code."""
    words = sys.argv[1:]
    # A shell that starts us in the background has them ignored, which what we
    # start would take over, and go on to ignore.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    if words[:1] == [isolation.INSIDE]:
        return isolation.settle_in(words[1:], inside)
    if any(word.startswith("-") for word in words):
        print(usage.strip())
        return 0 if words[0] in ("-h", "--help") else 2
    return outside(script, words)
