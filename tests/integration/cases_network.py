"""Networks that fail under running jobs: a partition that heals, and a slow
node that loses packets."""
import os
import time

import netns
from cases_faults import Held
from harness import FAMILIES, RUNTIME, check, until

CONTEXT = "network"
NODES = ["n1", "n2", "n3", "n4"]
RUN = ["run", "--context", CONTEXT, "--oversubscribe"]
PARTED = 10  # seconds; a silent node is lost after 5


def states(bench):
    return {node["node"]: node for node in
            bench.json("status", "--context", CONTEXT)["nodes"]}


def log_of(name):
    """Returns the log of the agent of NAME."""
    for base, directories, _ in os.walk(RUNTIME):
        if name in directories:
            with open(os.path.join(base, name, "agent.log"),
                      encoding="utf-8") as file:
                return file.read()
    return ""


def up(bench):
    return [name for name, node in states(bench).items() if node["state"] == "up"]


def partition(bench, space):
    """n3 and n4 are cut off. A job over both sides ends and names the lost nodes,
    and a job on one side continues. When the network is complete again, the overlay
    becomes complete too."""
    before = bench.snapshot()
    beside = Held(bench, *RUN, "--host", "n1,n2", "-n", 4, "--map-by", "node",
                  bench.pmix("fences"), 4, 1000)
    across = Held(bench, *RUN, "-n", 4, "--map-by", "node",
                  bench.pmix("fences"), 4, 1000)
    for held in (beside, across):
        held.job.wait_for("up\n", 4)
    start = time.monotonic()
    with space.parted(["n3", "n4"]):
        result = across.job.finish(30)
        check(result.code > 0 and ("node n3 was lost" in result.err or
                                   "node n4 was lost" in result.err),
              "no word about the lost nodes" + result.tail())
        until(lambda: up(bench) == ["n1", "n2"], "n3 and n4 to be lost")
        check(all(states(bench)[name]["reason"] for name in ("n3", "n4")),
              f"no reason: {states(bench)}")
        refused = bench.run(*RUN, "--host", "n3", "-n", 1, "true")
        refused.expect_refusal(1, "n3", "is down")
        # The other side also knows which nodes are lost, and does not wait for
        # them.
        until(lambda: all(f"node {name} is lost" in log_of("n3")
                          for name in ("n1", "n2")), "n3 to lose n1 and n2")
        until(lambda: not [text for text in before.new_since() if
                           "/fences." in text and "canopy " not in text and
                           " 4 1000" in text][4:],
              "the ranks on the other side to end")
        time.sleep(max(0, start + PARTED - time.monotonic()))
    until(lambda: up(bench) == NODES, "all nodes to be back", 40)
    for family in FAMILIES:
        bench.run(*RUN, "-n", 4, "--map-by", "node", bench.mpi("hello", family),
                  4).expect(out=["hello ok size 4"])
    beside.let_go().finish(30).expect_lines(
        ["up"] * 4 + [f"fences ok {rank}" for rank in range(4)])


def slow_node(bench, space):
    """With a slow node, all operations succeed, but take longer."""
    with space.slow("n3", 0.1, 0.01) as relay:
        for family in FAMILIES:
            bench.run(*RUN, "-n", 8, "--map-by", "node",
                      bench.mpi("hello", family), 8).expect(
                          out=["hello ok size 8"])
        bench.run(*RUN, "-n", 4, "--map-by", "node", bench.pmix("fences"), 4,
                  1 << 20).expect_lines(
            ["up"] * 4 + [f"fences ok {rank}" for rank in range(4)])
        check(up(bench) == NODES, f"only {up(bench)} are up")
        check(relay.passed > 100, f"{relay.passed} packets")


def run(bench):
    for name, radix, body in (("partition", 2, partition),
                              ("partition", 32, partition),
                              ("slow node", 2, slow_node),
                              ("slow node", 32, slow_node)):
        name = f"network: {name}, radix {radix}"
        if not bench.wanted(name):
            continue
        with netns.Namespaces(len(NODES)) as space, bench.overlay(
                CONTEXT, *space.options, "--radix", str(radix)) as there:
            if there:
                bench.case(name, lambda: body(bench, space), settle=10)
