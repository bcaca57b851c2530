#!/usr/bin/python3
"""Tests the test bed of Kubernetes itself, without Canopy: clients of the fake API
server, and jobs of emulated pods with a stand-in of a device plugin.

Usage: tests/kubernetes/selftest.py [WORD...]   only the cases with a WORD in them
Needs root.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
sys.path.insert(0, HERE)
import isolation  # noqa: E402
import leftovers  # noqa: E402


def traces():
    """Returns what a case could leave in the world beside files and processes. The
    cluster itself checks its pods' cgroups, among which other tests have theirs."""
    links = subprocess.run(["ip", "-o", "link"], check=True, capture_output=True,
                           text=True).stdout
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [f"mount {line.split()[1]}" for line in file]
    return [*mounts, *(f"link {line.split()[1]}" for line in links.splitlines())]


def run(name, body):
    directory = tempfile.mkdtemp(dir="/tmp")
    before, seen, begin = leftovers.Snapshot({directory}), traces(), time.monotonic()
    problem = ""
    try:
        body(directory)
    except Exception:
        problem = traceback.format_exc()
    left = before.wait_clean(5) + sorted(set(traces()) - set(seen))
    if left:
        problem += f"left behind: {left}"
    shutil.rmtree(directory)
    seconds = time.monotonic() - begin
    print(f"FAILED {name}: {problem}" if problem else f"ok {name} ({seconds:.1f} s)",
          flush=True)
    return not problem


def inside(words):
    # These need packages of Debian's Python, which runs the inside.
    import selftest_api
    import selftest_pods
    cases = {**selftest_api.CASES, **selftest_pods.CASES}
    wanted = [name for name in cases
              if not words or any(word in name for word in words)]
    results = [run(name, cases[name]) for name in wanted]
    return 0 if results and all(results) else 1


def main():
    words = sys.argv[1:]
    if words[:1] == [isolation.INSIDE]:
        return isolation.settle_in(words[1:], lambda _, given: inside(given))
    if os.geteuid() != 0:
        print("FAILED: this needs root")
        return 1
    root = os.path.abspath(os.path.join(HERE, "..", ".."))
    return isolation.enter(__file__, [root], words)


if __name__ == "__main__":
    sys.exit(main())
