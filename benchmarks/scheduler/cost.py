#!/usr/bin/env python3
"""Measures the cost of a scheduler for queries and spawns.

Compares the gRPC host with the decisions that agents make themselves.

Usage: cost.py --prefix P [--rounds N] [--queries N] [--spawns N]

Two overlays run at the same time, one of them with the example scheduler in
C++, and take turns. Prints medians over all turns in microseconds, and their
difference.
"""
import argparse
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
LINE = re.compile(r"^CB (\w+) ([-0-9.e+]+)$", re.MULTILINE)
HOSTS = ("embedded", "gRPC")
PATIENCE = 120


def build_scheduler(out):
    """Builds the example with the optimisation of the agents."""
    made = out + ".gen"
    os.mkdir(made)
    subprocess.run(["sh", "-ec", f"""
        protoc -I {ROOT} --cpp_out={made} --grpc_out={made} \
            --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin \
            {ROOT}/protos/canopy/hostmodule/v1/*.proto
        g++ -std=c++20 -O2 -w -I {made} {ROOT}/examples/host_module/scheduler.cc \
            {made}/protos/canopy/hostmodule/v1/*.cc -o {out} \
            $(pkg-config --libs grpc++ protobuf) -lgrpc++_reflection"""], check=True)


def build_program(prefix, out):
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", os.path.join(HERE, "ask.c"),
                    "-o", out, f"-I{prefix}/include", f"-L{prefix}/lib", "-lpmix"],
                   check=True)


class Bench:
    def __init__(self, prefix, directory):
        self.canopy = os.path.join(prefix, "bin", "canopy")
        self.directory = directory
        self.program = os.path.join(directory, "ask")
        self.address = f"unix:{directory}/scheduler.sock"
        self.env = {**os.environ, "XDG_RUNTIME_DIR": directory,
                    "LD_LIBRARY_PATH": os.path.join(prefix, "lib")}
        self.scheduler = None
        build_program(prefix, self.program)
        build_scheduler(os.path.join(directory, "scheduler"))

    def call(self, *words):
        done = subprocess.run([self.canopy, *map(str, words)], env=self.env,
                              timeout=PATIENCE, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise SystemExit(f"canopy {' '.join(map(str, words))}: exit code "
                             f"{done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def __enter__(self):
        self.scheduler = subprocess.Popen(
            [os.path.join(self.directory, "scheduler"), self.address],
            stdout=subprocess.DEVNULL)
        for host in HOSTS:
            more = ("--host-module", self.address) if host == "gRPC" else ()
            self.call("up", "--context", host, "--emulate", 2, *more)
        return self

    def __exit__(self, *_):
        for host in HOSTS:
            subprocess.run([self.canopy, "down", "--force", "--context", host],
                           env=self.env, timeout=PATIENCE, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.scheduler.terminate()
        self.scheduler.wait(PATIENCE)

    def measure(self, host, queries, spawns):
        out = self.call("run", "--context", host, "--allow-run-as-root", "-n", 1,
                        self.program, queries, spawns)
        return LINE.findall(out)


def show(samples):
    print(f"{'':10}" + "".join(f"{host:>12}" for host in HOSTS) + f"{'more':>12}")
    for name in ("query_us", "spawn_us"):
        medians = [statistics.median(samples[host, name]) for host in HOSTS]
        print(f"{name:10}" + "".join(f"{value:12.0f}" for value in medians) +
              f"{medians[1] - medians[0]:12.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", required=True, help="an installed Canopy")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--queries", type=int, default=100, help="a round")
    parser.add_argument("--spawns", type=int, default=10, help="a round")
    options = parser.parse_args()
    samples = collections.defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="cost-") as directory:
        with Bench(os.path.abspath(options.prefix), directory) as bench:
            for turn in range(options.rounds):
                for host in HOSTS[::1 if turn % 2 == 0 else -1]:
                    for name, value in bench.measure(host, options.queries,
                                                     options.spawns):
                        samples[host, name].append(float(value))
                time.sleep(0.1)
    show(samples)
    return 0


if __name__ == "__main__":
    sys.exit(main())
