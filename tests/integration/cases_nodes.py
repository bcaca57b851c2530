"""Nodes are added to an overlay, drained, resumed and removed while jobs run."""
import os
import signal
import tempfile

import netns
from cases_mpi import hello
from cases_restart import Overlay, go, waiting_job
from harness import FAMILIES, check, until

NAME = "nodes"
CPUS = os.cpu_count()
RUN = ("run", "--context", NAME)
SPACES = 6


def node(bench, *words):
    return bench.run("node", *words, "--context", NAME)


def listed(bench):
    """Returns the entries of `canopy node list` by node."""
    nodes = bench.json("node", "list", "--context", NAME)["nodes"]
    return {one["node"]: one for one in nodes}


def states(bench):
    return {name: one["state"] for name, one in listed(bench).items()}


def places(bench, ranks, *options):
    """Runs a job and returns the nodes of its ranks, sorted."""
    result = bench.run(*RUN, "--oversubscribe", "-n", ranks, *options, "sh", "-c",
                       "echo on $PMIX_HOSTNAME").expect()
    return sorted(line.split()[1] for line in result.out.splitlines())


def grows(bench):
    """An MPI job continues while nodes are added; later jobs use the new nodes."""
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        job = waiting_job(bench, Overlay(bench, NAME), steps)
        node(bench, "add", "node[3-6]").expect(
            out=["added node3, node4, node5, node6"])
        check(set(states(bench).values()) == {"up"} and len(states(bench)) == 6,
              f"{states(bench)}")
        check(places(bench, 6, "--map-by", "ppr:1:node") ==
              [f"node{i}" for i in range(1, 7)], "the new nodes are not used")
        with open(os.path.join(steps, "go1"), "w", encoding="utf-8"):
            pass
        job.finish().expect(out=["until ok"])
    for family in FAMILIES:
        hello(bench, [*RUN, "--map-by", "node", "--oversubscribe"],
              bench.mpi("hello", family), 12)


def again(bench):
    """Each change can be repeated; unknown nodes and wrong options are refused."""
    node(bench, "add", "node6").expect(out=["node6 was up before"])
    for _ in range(2):
        node(bench, "drain", "node5", "--reason", "new disk").expect(
            out=["drained node5"])
    check(listed(bench)["node5"]["reason"] == "new disk", f"{listed(bench)}")
    bench.run("status", "--context", NAME).expect(
        out=["drained: node5 (new disk)"])
    for _ in range(2):
        node(bench, "resume", "node5").expect(out=["resumed node5"])
    check(states(bench)["node5"] == "up", f"{states(bench)}")
    node(bench, "drain", "node4,nowhere").expect_refusal(1, "nowhere")
    check(states(bench)["node4"] == "up", "half of a refused request was done")
    node(bench, "drain").expect_refusal(2, "needs the names of nodes")
    node(bench, "list", "--now").expect_refusal(2, "canopy node drain")
    node(bench, "grow", "node7").expect_refusal(2, "'grow' is none of list")


def drains(bench):
    """A drained node gets no new jobs and its job continues, until --now."""
    job = bench.start(*RUN, "-n", 1, "--host", "node6", "sh", "-c",
                      "echo up; exec sleep 600")
    job.wait_for("up\n")
    node(bench, "drain", "node6").expect()
    result = bench.run(*RUN, "-n", 5 * CPUS, "sh", "-c", "echo on $PMIX_HOSTNAME")
    check("node6" not in result.expect().out, "a drained node is used")
    check(job.process.poll() is None, "the job of a drained node has ended")
    node(bench, "remove", "node6").expect_refusal(1, "node6", "runs processes of")
    node(bench, "drain", "node6", "--now", "--reason", "fire").expect(
        out=["ending "])
    job.finish().expect(code=143, err=["its node is drained: fire"])
    node(bench, "resume", "node6").expect()


def removes(bench):
    """The agents of removed nodes end; a node of the same name can be added."""
    overlay = Overlay(bench, NAME)
    agents = [overlay.pid(name) for name in ("node3", "node6")]
    directory = overlay.directory("node6")
    node(bench, "remove", "node3,node6").expect(out=["removed node3, node6"])
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in agents),
          "the end of the agents")
    check(not os.path.exists(os.path.join(directory, "control")),
          "the agent's socket is still there")
    until(lambda: sorted(states(bench)) == ["node1", "node2", "node4", "node5"],
          "the list without them")
    check(places(bench, 4, "--map-by", "ppr:1:node") ==
          ["node1", "node2", "node4", "node5"], "wrong nodes")
    node(bench, "add", "node3").expect(out=["added node3"])
    check("node3" in places(bench, 5, "--map-by", "ppr:1:node"),
          "it gets no processes")


def comes_back(bench):
    """An added node whose agent was killed comes back, and decisions survive the
    replacement of all agents."""
    overlay = Overlay(bench, NAME)
    node(bench, "drain", "node4", "--reason", "disk").expect()
    overlay.kill("node3")
    overlay.restart("node3")
    until(lambda: states(bench)["node3"] == "up", "node3")
    for name in list(listed(bench)):
        overlay.kill(name)
    bench.run("up", "--replace", "--context", NAME).expect()
    until(lambda: sorted(states(bench).values()) == ["drained"] + 4 * ["up"],
          "all nodes")
    check(listed(bench)["node4"]["reason"] == "disk", f"{listed(bench)}")
    node(bench, "resume", "node4").expect()
    check(len(set(places(bench, 5, "--map-by", "ppr:1:node"))) == 5, "nodes")


def root_leaves(bench):
    """The root is removed; the next node becomes root and decides."""
    node(bench, "remove", "node1").expect()
    until(lambda: "node1" not in states(bench), "the list without node1")
    check(len(set(places(bench, 4, "--map-by", "ppr:1:node"))) == 4, "nodes")
    node(bench, "add", "node7").expect(out=["added node7"])
    check("node7" in places(bench, 5, "--map-by", "ppr:1:node"), "node7")
    node(bench, "remove", "node2,node3,node4,node5,node7").expect_refusal(
        1, "no node would be left")


def job_of(bench, family, steps, number, ranks):
    """Starts an MPI job that ends when the file of its number exists."""
    job = bench.start(*RUN, "-n", ranks, "--map-by", "node", "--oversubscribe",
                      bench.mpi("until", family), ranks,
                      os.path.join(steps, f"go{number}"))
    job.wait_for("is ready", ranks)
    return job


def end(job, steps, number, ranks):
    go(steps, number)
    result = job.finish(60).expect(out=[f"until ok size {ranks}"])
    ready = [line for line in result.out.splitlines() if "is ready" in line]
    check(len(ready) == ranks, f"output is missing: {result.out}")


def controls(bench):
    """Returns the number of jobs that each node's agent controls, without 0."""
    return {name: one["controlled_jobs"] for name, one in listed(bench).items()
            if one["controlled_jobs"]}


def leader(bench):
    return [name for name, one in listed(bench).items() if one["leader"]]


def root_drains(bench):
    """The root is drained and removed twice. Jobs of both families run on all nodes
    meanwhile, and each ends as usual."""
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        first = job_of(bench, "openmpi", steps, 1, 6)
        far = bench.start(*RUN, "-n", 1, "--host", "node6", "sh", "-c",
                          "echo up; exec sleep 600")
        far.wait_for("up\n")
        node(bench, "drain", "node1", "--reason", "old").expect()
        until(lambda: leader(bench) == ["node2"], "the next leader")
        check(controls(bench) == {"node1": 2}, f"{listed(bench)}")
        node(bench, "list").expect(out=["old; controls "])
        second = job_of(bench, "mpich", steps, 2, 5)
        check(controls(bench) == {"node1": 2, "node2": 1}, f"{listed(bench)}")
        jobs = bench.json("ps", "--context", NAME)["jobs"]
        check(len(jobs) == 3, f"{jobs}")
        sleeps = next(one["job"] for one in jobs if "sleep" in one["command"])
        node(bench, "remove", "node1").expect_refusal(1, "node1", "runs processes")
        node(bench, "drain", "node6", "--now").expect_refusal(
            1, "is controlled by the agent of node1")
        bench.run("kill", "--context", NAME, sleeps).expect()
        check(far.finish(60).code != 0, "the job of the old leader was not killed")
        end(first, steps, 1, 6)
        until(lambda: controls(bench) == {"node2": 1}, "the end of the first job")
        node(bench, "remove", "node1").expect(out=["removed node1"])
        until(lambda: "node1" not in states(bench), "the list without node1")
        node(bench, "drain", "node2").expect()
        until(lambda: leader(bench) == ["node3"], "the third leader")
        third = job_of(bench, "openmpi", steps, 3, 4)
        node(bench, "remove", "node2").expect_refusal(1, "node2")
        end(second, steps, 2, 5)
        until(lambda: controls(bench) == {"node3": 1}, "the end of the second job")
        node(bench, "remove", "node2").expect(out=["removed node2"])
        until(lambda: sorted(states(bench)) == [f"node{i}" for i in range(3, 7)],
              "the list without node2")
        end(third, steps, 3, 4)
    check(bench.json("ps", "--context", NAME)["jobs"] == [], "a job is left")
    job = bench.start(*RUN, "-n", 4, "--map-by", "node", "sh", "-c",
                      "echo up; exec sleep 600")
    job.wait_for("up\n", 4)
    job.end(signal.SIGINT)
    for family in FAMILIES:
        hello(bench, [*RUN, "--map-by", "node", "--oversubscribe"],
              bench.mpi("hello", family), 8)


def phases(bench):
    return sorted(one["phase"] for one in
                  bench.json("ps", "--context", NAME)["jobs"])


def root_resumes(bench):
    """A root that is resumed leads again, and knows the job of the interim leader,
    so that it does not use the job's slots. A job that waits moves to the next
    leader."""
    first, second = list(listed(bench))[:2]
    node(bench, "drain", first).expect()
    taken = sum(one["slots"] for name, one in listed(bench).items()
                if name != first)
    job = bench.start(*RUN, "-n", taken, "sh", "-c", "echo up; exec sleep 600")
    job.wait_for("up\n", taken)
    node(bench, "resume", first).expect()
    until(lambda: leader(bench) == [first], "the leader")
    check(controls(bench) == {second: 1}, f"{listed(bench)}")
    late = bench.start(*RUN, "--wait", "-n", 1, "--host", second, "echo", "late")
    until(lambda: phases(bench) == ["queued", "running"], "a job that waits")
    node(bench, "drain", first).expect()
    until(lambda: leader(bench) == [second], "the leader")
    until(lambda: phases(bench) == ["queued", "running"], "the job at the leader")
    job.end(signal.SIGTERM)
    late.finish(60).expect(out=["late"])
    node(bench, "resume", first).expect()


def applies(bench):
    """`up` with another list names the changes, and makes them with --apply."""
    up = ("up", "--context", NAME, "--emulate")
    bench.run(*up, 4).expect_refusal(1, "would add node3, node4")
    check(len(states(bench)) == 2, f"{states(bench)}")
    for _ in range(2):
        bench.run(*up, 4, "--apply").expect(out=["is up: 4 nodes"])
    check(len(set(places(bench, 4, "--map-by", "ppr:1:node"))) == 4, "nodes")
    job = bench.start(*RUN, "-n", 1, "--host", "node4", "sh", "-c",
                      "echo up; exec sleep 600")
    job.wait_for("up\n")
    bench.run(*up, 2, "--apply").expect_refusal(1, "node4", "runs processes of")
    job.end(signal.SIGTERM)
    until(lambda: bench.json("ps", "--context", NAME)["jobs"] == [], "no jobs")
    bench.run(*up, 2, "--apply").expect(out=["is up: 2 nodes"])
    check(sorted(states(bench)) == ["node1", "node2"], f"{states(bench)}")
    bench.run("up", "--context", NAME, "--apply").expect_refusal(2, "--hosts")


def fails(bench):
    """A node whose agent does not come up is no member afterwards."""
    node(bench, "add", "node8", "--listen", "256.0.0.1").expect_refusal(
        1, "node8")
    check("node8" not in states(bench), f"{states(bench)}")


def lost_member(bench):
    """A node that was lost is added again by the same command."""
    overlay = Overlay(bench, NAME)
    os.kill(overlay.pid("node5"), signal.SIGKILL)
    until(lambda: states(bench)["node5"] == "lost", "the loss")
    node(bench, "add", "node5").expect(out=["added node5"])
    check("node5" in places(bench, 5, "--map-by", "ppr:1:node"), "node5")


EMULATED = {"nodes: up changes the list": applies,
            "nodes: an overlay of 2 grows to 6 under an MPI job": grows,
            "nodes: changes can be repeated": again,
            "nodes: a drained node gets no new jobs": drains,
            "nodes: removed ones end and may come back": removes,
            "nodes: agents that come back know all members": comes_back,
            "nodes: the root is removed": root_leaves,
            "nodes: one whose agent does not come up": fails}
ROOT = {"nodes: the root is drained twice under jobs": root_drains,
        "nodes: a drained root is resumed": root_resumes}
LOST = {"nodes: a lost one is added again": lost_member}
NETWORK = "nodes: namespaces grow from 3 to 6 and shrink to 2"


def emulated(bench, grace, bodies):
    if not bench.wanted(*bodies):
        return
    with bench.overlay(NAME, "--emulate", 2 if grace else 5, "--radix", 2,
                       "--restart-grace", grace) as up:
        for name, body in bodies.items() if up else ():
            bench.case(name, lambda body=body: body(bench), leaves=True)


def in_namespaces(bench, space):
    """MPI programs run over nodes that were added, across the network."""
    node(bench, "add", "n[4-6]").expect(out=["added n4, n5, n6"])
    for family in FAMILIES:
        hello(bench, [*RUN, "--map-by", "node", "--oversubscribe"],
              bench.mpi("hello", family), 12)
    addresses = [one["address"].rsplit(":", 1)[0] for one in
                 bench.json("status", "--context", NAME)["nodes"]]
    check(addresses == [space.address(i) for i in range(SPACES)],
          f"{addresses}")
    node(bench, "remove", "n1,n3,n4,n6").expect()
    until(lambda: sorted(states(bench)) == ["n2", "n5"], "two nodes")
    hello(bench, [*RUN, "--map-by", "node", "--oversubscribe"],
          bench.mpi("hello"), 8)


def run(bench):
    emulated(bench, 30, EMULATED)
    emulated(bench, 0, LOST)
    if bench.wanted(*ROOT):
        with bench.overlay(NAME, "--emulate", 6, "--radix", 2) as up:
            for name, body in ROOT.items() if up else ():
                bench.case(name, lambda body=body: body(bench), leaves=True)
    if not bench.wanted(NETWORK):
        return
    with netns.Namespaces(SPACES) as space:
        with bench.overlay(NAME, "--hosts", "n1,n2,n3", "--launch-agent",
                           netns.LAUNCH_AGENT) as up:
            if up:
                bench.case(NETWORK, lambda: in_namespaces(bench, space),
                           leaves=True)
