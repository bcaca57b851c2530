#!/usr/bin/env python3
"""Integration tests: unmodified MPI programs under canopy run.

Usage: tests/integration/run.py [WORD...]   only the cases with a WORD in them
"""
import sys

import harness

FAMILIES = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}


def mpi_cases(bench):
    for family, compiler in FAMILIES.items():
        for nodes in (1, 2, 4):
            for radix in (2, 32):
                place = ["--nodes", nodes, "--radix", radix]
                label = f"{family} on {nodes} nodes, radix {radix}"
                for name in ("hello", "ring", "alltoall"):
                    program = bench.compile(compiler, name)
                    bench.case(f"{name}: {label}", lambda p=program, n=name: (
                        bench.run("run", *place, "-n", 8, "--oversubscribe",
                                  p, 8).expect(out=[f"{n} ok size 8"])))
                program = bench.compile(compiler, "split")
                bench.case(f"split: {label}", lambda p=program: bench.run(
                    "run", *place, "-n", 8, "--oversubscribe", "--map-by",
                    "node", p, 8, 8 // nodes).expect(out=["split ok size 8"]))
                program = bench.compile(compiler, "abort")
                bench.case(f"abort: {label}", lambda p=program: bench.run(
                    "run", *place, "-n", 4, "--oversubscribe", p, 4, 7).expect(
                        code=7, absent=["abort ok"]))
                program = bench.compile(compiler, "segv")
                bench.case(f"segv: {label}", lambda p=program: bench.run(
                    "run", *place, "-n", 4, "--oversubscribe", p, 4).expect(
                        code=139, err=["rank 3", "signal 11"]))


def main():
    bench = harness.Bench()
    bench.install()
    mpi_cases(bench)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
