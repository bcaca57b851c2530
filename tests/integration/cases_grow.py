"""Processes are spawned on hosts that are no members of the overlay yet
(MPI_Comm_spawn with "add-host")."""
import os

import netns
from harness import check

UP = "grow"
SPACES = 2
# Open MPI's processes on different emulated nodes exchange data over TCP.
LOOPBACK = ("--mca", "btl_tcp_if_include", "lo")


def grow(bench, *words):
    return (bench.mpi("grow"), *words)


def children(count, node, times=1):
    lines = [f"spawn {i + 1} ok" for i in range(times)] + ["grow ends"]
    return lines + [f"child {i} on {node}" for i in range(count)] * times


def own(bench):
    """The agents of one job get others, which end with them."""
    bench.run("run", "--emulate", 2, *LOOPBACK, "-n", 1,
              *grow(bench, "add-host", "node7:2", 2, 1)).expect_lines(
                  children(2, "node7"))


def twice(bench):
    """The second spawn finds a member."""
    bench.run("run", "--emulate", 2, *LOOPBACK, "--oversubscribe", "-n", 1,
              *grow(bench, "add-host", "node7", 1, 2)).expect_lines(
                  children(1, "node7", 2))


def hostfile(bench):
    path = os.path.join(bench.work, "more-hosts")
    with open(path, "w", encoding="utf-8") as file:
        file.write("node8 slots=2\n")
    bench.run("run", "--emulate", 2, *LOOPBACK, "-n", 1,
              *grow(bench, "add-hostfile", path, 2, 1)).expect_lines(
                  children(2, "node8"))


def stays(bench):
    """In an overlay that is up, the new node stays a member."""
    run = ("run", "--context", UP, *LOOPBACK, "-n", 1)
    bench.run("up", "--context", UP, "--emulate", 1, "--listen",
              "127.0.0.1").expect()
    try:
        up_nodes = [one["node"]
                    for one in bench.json("node", "list", "--context", UP)["nodes"]]
        bench.run("node", "add", "node3", "--context", UP).expect()
        bench.run(*run, *grow(bench, "add-host", "node9:1", 1, 1)).expect_lines(
            children(1, "node9"))
        nodes = bench.json("node", "list", "--context", UP)["nodes"]
        check([one["node"] for one in nodes if one["state"] == "up"] ==
              [*up_nodes, "node3", "node9"], f"{nodes}")
        bench.run(*run, "--host", "node9", "sh", "-c",
                  "echo on $PMIX_HOSTNAME").expect_lines(["on node9"])
    finally:
        bench.run("down", "--context", UP).expect()


def fails(bench):
    """A host that cannot be reached fails the spawn; its job continues."""
    result = bench.run("run", "--launch-agent", "false {host}", "-n", 1,
                       *grow(bench, "add-host", "nowhere", 1, 2))
    result.expect_lines(["spawn 1 failed", "spawn 2 failed", "grow ends"])
    result.expect(err=["cannot be added", "nowhere"])


def in_namespaces(bench):
    """A job of this machine alone, whose agent has not listened, gets agents on
    other machines."""
    run = ("run", "--launch-agent", netns.LAUNCH_AGENT, "--oversubscribe")
    bench.run(*run, "-n", 1, *grow(bench, "add-host", "n1:2", 2, 2)).expect_lines(
        children(2, "n1", 2))
    bench.run(*run, "--host", "n1", "-n", 2,
              *grow(bench, "add-host", "n2", 1, 1)).expect(
                  out=["child 0 on n2", "spawn 1 ok"])


CASES = {"own agents": own, "the same host twice": twice,
         "a hostfile": hostfile, "an overlay that is up": stays,
         "a host that cannot be reached": fails}
NETWORK = "add-host: agents in namespaces"


def run(bench):
    for name, body in CASES.items():
        bench.case(f"add-host: {name}", lambda body=body: body(bench))
    if bench.wanted(NETWORK):
        with netns.Namespaces(SPACES):
            bench.case(NETWORK, lambda: in_namespaces(bench), alone=True)
