#!/usr/bin/env python3
"""Integration tests: unmodified MPI programs under canopy run.

Usage: tests/integration/run.py [WORD...]   only the cases with a WORD in them
CANOPY_PREFIX=P takes what is installed below P instead of installing anew.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import cases_bad
import cases_control
import cases_ends
import cases_faults
import cases_hostile
import cases_io
import cases_jobs
import cases_mpi
import cases_netns
import cases_network
import cases_process
import cases_programs
import cases_restart
import cases_stock
import cases_tls
import harness
import isolation

SUITES = (
    cases_mpi,
    cases_netns,
    cases_tls,
    cases_programs,
    cases_process,
    cases_restart,
    cases_io,
    cases_ends,
    cases_bad,
    cases_hostile,
    cases_control,
    cases_faults,
    cases_network,
    cases_jobs,
    cases_stock,
)


def missing_packages():
    with open(os.path.join(harness.ROOT, "deploy", "packages", "test.txt"),
              encoding="utf-8") as file:
        wanted = file.read().split()
    with open(os.path.join(harness.ROOT, "deploy", "packages", "run.txt"),
              encoding="utf-8") as file:
        wanted += file.read().split()
    status = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n"],
        check=True, capture_output=True, text=True).stdout
    there = {line.split()[0] for line in status.splitlines()
             if line.endswith(" installed")}
    return sorted(set(wanted) - there)


def inside(keep, words):
    bench = harness.Bench(keep[1], words)
    for suite in SUITES:
        suite.run(bench)
    return bench.finish()


def outside(words):
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
            __file__, [harness.ROOT, *harness.install(work)], words)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    if sys.argv[1:2] == [isolation.INSIDE]:
        return isolation.settle_in(sys.argv[2:], inside)
    return outside(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
