"""Programs that load their agent as much as they can. A job beside them on the
same nodes, which fences all the time, must not be affected.
CANOPY_ATTACK_SECONDS=S makes each attack last S seconds."""
import time

import cases_openpmix
from fence_watch import SECONDS, FenceWatch, Machine

CONTEXT = "attacks"
NODES = 2
RUN = ["run", "--context", CONTEXT, "--oversubscribe", "--map-by", "node"]


def attack(bench, machine, ranks, *command):
    """Runs the attack until its time is over. A job that ends early is started
    again with the rest of the time."""
    watch = FenceWatch(bench, CONTEXT, NODES)
    end = time.monotonic() + SECONDS
    runs = 0
    while time.monotonic() < end:
        left = max(end - time.monotonic(), 1)
        bench.run(*RUN, "-n", ranks, *command, f"{left:.1f}",
                  timeout=SECONDS + 60)
        runs += 1
    print(f"   {runs} jobs", flush=True)
    watch.finish(machine)


def nodes(bench, machine):
    attack(bench, machine, 2, "--inject", "never",
           cases_openpmix.build(bench, "resolve"))


CASES = {"attacks: names of nodes, with OpenPMIx": nodes}
for name, kind, ranks in (("gets of any rank", "get", 4),
                          ("waiting gets of any rank", "wait", 16),
                          ("a mailbox that is rewritten", "rewrite", 2),
                          ("a mailbox that is always full", "fill", 2),
                          ("garbage in the barrier", "barrier", 4),
                          ("a directory of many files", "cleanup", 2),
                          ("a million names", "names", 2),
                          ("fences ahead", "ahead", 2),
                          ("half a message", "half", 2)):
    CASES["attacks: " + name] = (
        lambda bench, machine, kind=kind, ranks=ranks: attack(
            bench, machine, ranks, bench.pmix("attack"), kind))


def run(bench):
    if not bench.wanted(*CASES):
        return
    # Other activity would be attributed to the attack.
    with bench.overlay(CONTEXT, "--emulate", str(NODES), alone=True) as up:
        machine = Machine(bench, CONTEXT, NODES) if up else None
        for name, body in CASES.items() if up else ():
            bench.case(name, lambda body=body: body(bench, machine))
