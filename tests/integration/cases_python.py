"""Programs in Python over Debian's binding of PMIx, which is built against another
implementation: with our library loaded, and with its own."""
import os

from harness import PROGRAMS, PYTHON

SCRIPT = os.path.join(PROGRAMS, "pmix_python.py")
RANKS = 4
# What to inject, and what is in the path of the library that is loaded then.
LIBRARIES = {"always": "lib/canopy/", "never": "/pmix2/"}


def binding(bench, nodes, inject):
    bench.run("run", "--nodes", nodes, "--inject", inject, "--oversubscribe",
              "--map-by", "node", "-n", RANKS, PYTHON, SCRIPT, RANKS,
              LIBRARIES[inject], "events", timeout=120).expect(
                  out=[f"python ok {rank}\n" for rank in range(RANKS)])


def run(bench):
    for nodes in (1, 2):
        for inject in LIBRARIES:
            bench.case(
                f"python: binding with --inject {inject} on {nodes} nodes",
                lambda n=nodes, i=inject: binding(bench, n, i))
