"""Jobs that spawn jobs, by programs with Debian's OpenPMIx."""
import os
import signal
import tempfile

import cases_openpmix
import cases_restart
from harness import check

NODES = (1, 2, 4)


def program(bench):
    return cases_openpmix.build(bench, "spawn")


def spawn(bench, nodes, ranks, *words, **more):
    return bench.run(*cases_openpmix.place(nodes), "-n", ranks, program(bench),
                     *words, **more)


def meet(bench, nodes, ranks, children):
    """Every rank meets its own children, and all output arrives."""
    out = [f"rank {rank} spawned {children}" for rank in range(ranks)]
    for parent in range(ranks):
        out += [f"child {rank} of {children}, parent {parent}, given yes"
                for rank in range(children)]
    result = spawn(bench, nodes, ranks, "meet", children).expect_lines(out)
    for rank in range(children):
        wanted = f"child {rank} writes to stderr"
        check(result.err.splitlines().count(wanted) == ranks,
              f"{wanted!r} is not there {ranks} times: {result.err}")


def environment(bench):
    """Variables change in the order that is told, and so does the directory."""
    place = os.path.join(bench.work, "place")
    os.makedirs(place, exist_ok=True)
    spawn(bench, 2, 1, "environment", place,
        env={"SPAWN_OLD": "old", "SPAWN_A": "0"}).expect_lines(
            [f"SPAWN_A=0:1:3 SPAWN_OLD=(none) in {place}"])


def errors(bench, nodes):
    result = spawn(bench, nodes, 1, "errors")
    result.expect(out=["errors as they should be"],
                  err=["cannot spawn", "no.such.key"])


def failing_child(bench, nodes):
    """The first that fails ends the family, and is what the user is told."""
    spawn(bench, nodes, 1, "child-fails").expect(code=3, err=["exited with"])


def failing_parent(bench, nodes):
    spawn(bench, nodes, 1, "parent-fails").expect(code=4, out=["spawned"])


def killed(bench, nodes):
    """A signal for the launcher ends all jobs of the family."""
    job = bench.start(*cases_openpmix.place(nodes), "-n", 1, program(bench),
                      "killed")
    job.wait_for("spawned")
    job.signal(signal.SIGTERM)
    job.finish().expect(code=128 + signal.SIGTERM)


def restarted(bench, overlay, nodes):
    """Agents are killed and restarted while a family runs, and it goes on."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        job = bench.start("run", "--context", overlay.name, "--inject", "never",
                          "-n", 1, "--oversubscribe", program(bench), "through",
                          env={"SPAWN_PLACE": place})
        job.wait_for("is ready", 2)
        for node in nodes:
            overlay.kill(node)
            overlay.restart(node)
        with open(os.path.join(place, "go"), "w", encoding="utf-8"):
            pass
        job.finish(60).expect_lines(
            ["child 0 is ready", "child 1 is ready", "child 0 is through",
             "child 1 is through", "rank 0 spawned 2",
             "child 0 of 2, parent 0, given yes",
             "child 1 of 2, parent 0, given yes"])


def all_restarted(bench):
    names = [f"spawn: kill -9 of {node}'s agent" for node in ("node1", "node2")]
    if not bench.wanted(*names):
        return
    with bench.overlay("spawn-restart", "--nodes", 2,
                       "--restart-grace", 60) as up:
        if not up:
            return
        overlay = cases_restart.Overlay(bench, "spawn-restart")
        for name, node in zip(names, ("node1", "node2")):
            bench.case(name, lambda: restarted(bench, overlay, [node]),
                       leaves=True)


def run(bench):
    for nodes in NODES:
        for children in (1, 16):
            bench.case(f"spawn of {children}: {nodes} nodes",
                       lambda n=nodes, c=children: meet(bench, n, 1, c))
        bench.case(f"spawn, a child outlives its parent: {nodes} nodes",
                   lambda n=nodes: spawn(bench, n, 1, "outlive").expect(
                       out=["child ends after its parent"]))
        bench.case(f"spawn, a child fails: {nodes} nodes",
                   lambda n=nodes: failing_child(bench, n))
        bench.case(f"spawn, the parent fails: {nodes} nodes",
                   lambda n=nodes: failing_parent(bench, n))
        bench.case(f"spawn, errors: {nodes} nodes",
                   lambda n=nodes: errors(bench, n))
    bench.case("spawn by each of 3 ranks: 2 nodes",
               lambda: meet(bench, 2, 3, 2))
    bench.case("spawn, environment and directory",
               lambda: environment(bench))
    bench.case("spawn, the launcher is told to end",
               lambda: killed(bench, 2))
    bench.case("spawn of 100 jobs, one after the other",
               lambda: spawn(bench, 2, 1, "many", 100).expect_lines(
                   ["spawned 100 jobs"]))
    all_restarted(bench)
