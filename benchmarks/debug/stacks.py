#!/usr/bin/env python3
"""Measures `canopy stack` on a job of many ranks.

Usage: benchmarks/debug/stacks.py --prefix PREFIX [--ranks N] [--emulate N] [--times N]

Brings up an overlay of emulated nodes and runs a job whose ranks (64, on 4
nodes) have initialised PMIx and wait. Then takes all stacks --times times (5),
and prints the time of each and the median. The exit code is 1 if the tree does
not have all ranks of the job. Needs gdb and a C compiler.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from emulated_overlay import overlay  # noqa: E402

PROGRAM = r"""
#include <pmix.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
  pmix_proc_t me;
  if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  puts("is up");
  fflush(stdout);
  for (;;) pause();
}
"""


def build(prefix, work):
    source, program = os.path.join(work, "waits.c"), os.path.join(work, "waits")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    subprocess.run(["cc", "-g", "-o", program, source, "-I",
                    os.path.join(prefix, "include"),
                    os.path.join(prefix, "lib", "canopy", "libpmix.so.2")], check=True)
    return program


def measure(options, nodes):
    program = build(options.prefix, nodes.work)
    job = nodes.popen("run", "-n", str(options.ranks), "--oversubscribe", "--map-by",
                      "node", program, text=True, stdout=subprocess.PIPE)
    for _ in range(options.ranks):
        job.stdout.readline()
    name = nodes.json("ps")["jobs"][0]["job"]
    took, failed = [], False
    for _ in range(options.times):
        start = time.monotonic()
        result = subprocess.run(nodes.command("stack", name), env=nodes.env,
                                capture_output=True, text=True, check=False)
        took.append(time.monotonic() - start)
        ranks = re.search(r"(\d+) (?:of \d+ )?ranks", result.stdout)
        if result.returncode != 0 or not ranks or \
                int(ranks[1]) != options.ranks:
            failed = True
            print(f"exit code {result.returncode}: {result.stdout}{result.stderr}")
        print(f"{took[-1]:.2f} s")
    print(f"{options.ranks} ranks on {options.nodes} nodes: median "
          f"{statistics.median(took):.2f} s")
    job.terminate()
    job.wait()
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--emulate", type=int, default=4)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with overlay(options.prefix, "stacks", options.nodes) as nodes:
        return 1 if measure(options, nodes) else 0


if __name__ == "__main__":
    sys.exit(main())
