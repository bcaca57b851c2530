"""Jobs that spawn jobs, with programs that use Debian's OpenPMIx."""
import contextlib
import os
import re
import signal
import tempfile

import cases_openpmix
import cases_restart
from harness import check, until

NODES = (1, 2, 4)


def program(bench):
    return cases_openpmix.build(bench, "spawn")


def spawn(bench, nodes, ranks, *words, **more):
    return bench.run(*cases_openpmix.place(nodes), "-n", ranks, program(bench),
                     *words, **more)


def meet(bench, nodes, ranks, children):
    """Every rank connects with its own children, and the launcher gets all output."""
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
    """The attributes of a spawn change variables in their order, and set the
    directory."""
    place = os.path.join(bench.work, "place")
    os.makedirs(place, exist_ok=True)
    spawn(bench, 2, 1, "environment", place,
        env={"SPAWN_OLD": "old", "SPAWN_A": "0"}).expect_lines(
            [f"SPAWN_A=0:1:3 SPAWN_OLD=(none) in {place}"])


def errors(bench, nodes):
    result = spawn(bench, nodes, 1, "errors")
    result.expect(out=["errors as they should be"],
                  err=["cannot spawn", "no.such.key"])
    said = [line for line in result.err.splitlines() if "/no/such/program" in line]
    check(len(said) == 1, f"an absent program is named once: {result.err}")


def failing_child(bench, nodes):
    """The first failure ends the family, and is reported to the user."""
    result = spawn(bench, nodes, 1, "child-fails").expect(code=3)
    said = re.findall(r"^canopy: job \S+: rank \d on \S+ exited with code 3$",
                      result.err, re.MULTILINE)
    check(len(said) == 1, f"a failure is said once: {result.err}")


def out_of_time(bench, nodes):
    """When its time is over, a job reports the stacks of its ranks before it ends.
    They sleep in main."""
    result = spawn(bench, nodes, 1, "out-of-time").expect(110)
    for rank in range(2):
        check(re.search(rf"^rank {rank} on \S+, process \d+: ", result.err, re.M),
              f"no state of rank {rank}" + result.tail())
    for frame in ("nanosleep", "main"):
        check(frame in result.err, f"no {frame}" + result.tail())


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
    """Agents are killed and restarted while a family runs, and it continues."""
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


def without_launcher(bench, overlay, restart):
    """The launcher is killed. A job with PMIX_NOHUP continues, the others end.
    """
    def running():
        listed = bench.json("ps", "--context", overlay.name)["jobs"]
        return sorted(job["job"] for job in listed)

    def marked(what):
        return all(os.path.exists(os.path.join(place, f"{what}.{rank}"))
                   for rank in range(2))

    with shared_place() as place:
        job = bench.start("run", "--context", overlay.name, "--inject", "never",
                          "-n", 1, "--map-by", "node", "--oversubscribe",
                          program(bench), "nohup", env={"SPAWN_PLACE": place})
        job.wait_for("spawned")
        goes_on = re.search(r"goes on: (\S+)", job.texts["out"].decode())[1]
        until(lambda: marked("ready"), "its processes to run", 30)
        check(len(running()) == 3, f"three jobs: {running()}")
        job.signal(signal.SIGKILL)
        job.finish(60)
        until(lambda: running() == [goes_on], "it to run alone", 30)
        if restart:
            overlay.kill("node1")
            overlay.restart("node1")
            check(running() == [goes_on], f"it runs on: {running()}")
        let_go(place)
        until(lambda: marked("through") and not running(), "its end", 30)


def all_restarted(bench):
    names = [f"spawn: kill -9 of {node}'s agent" for node in ("node1", "node2")]
    last = "restart of a rank, then of its agent"
    beside = [(f"cospawn, tools: kill -9 of {node}'s agent", node)
              for node in ("node1", "node2")]
    alone = [("spawn, a job goes on without the launcher", False),
             ("spawn, and its agent is killed and restarted", True)]
    if not bench.wanted(*names, last, *(name for name, _ in beside),
                        *(name for name, _ in alone)):
        return
    with bench.overlay("spawn-restart", "--emulate", 2,
                       "--restart-grace", 60) as up:
        if not up:
            return
        overlay = cases_restart.Overlay(bench, "spawn-restart")
        for name, node in zip(names, ("node1", "node2")):
            bench.case(name, lambda: restarted(bench, overlay, [node]),
                       leaves=True)
        bench.case(last, lambda: restarted_agent(bench, overlay), leaves=True)
        for name, restart in alone:
            bench.case(name, lambda: without_launcher(bench, overlay, restart),
                       leaves=True)
        for name, node in beside:
            bench.case(name, lambda: restarted_beside(bench, overlay, node),
                       leaves=True)


def again(bench, nodes, deaths):
    """The next process of a killed rank takes part in the fence that its
    predecessor did not reach.
    """
    result = bench.run("run", "--emulate", nodes, "-n", 4, "--map-by", "node",
                       "--oversubscribe", "--max-restarts", 2,
                       bench.pmix("again"), deaths)
    result.expect_lines(
        [f"rank {rank}, process 0" for rank in (0, 2, 3)] +
        [f"rank 1, process {life}" for life in range(deaths + 1)] +
        [f"rank {rank} is done" for rank in range(4)])


def too_often(bench, nodes):
    bench.run("run", "--emulate", nodes, "-n", 2, "--oversubscribe",
              "--max-restarts", 1, bench.pmix("again"), 5).expect(
                  code=128 + signal.SIGKILL, err=["signal 9"])


def restarted_agent(bench, overlay):
    """A successor knows how many times a rank has been restarted."""
    go = os.path.join(bench.work, "go")
    with contextlib.suppress(FileNotFoundError):
        os.remove(go)
    job = bench.start("run", "--context", overlay.name, "-n", 2, "--map-by",
                      "node", "--max-restarts", 1, bench.pmix("again"), 1, go)
    job.wait_for("rank 1, process 1")
    overlay.kill("node2")
    overlay.restart("node2")
    with open(go, "w", encoding="utf-8"):
        pass
    job.finish(60).expect_lines(
        ["rank 0, process 0", "rank 1, process 0", "rank 1, process 1",
         "rank 0 is done", "rank 1 is done"])


def recoverable(bench, nodes):
    """The other processes of a recoverable job continue. A job without successful
    processes leaves nothing."""
    place = ("run", "--emulate", nodes, "-n", 2, "--oversubscribe",
             "--enable-recovery")
    bench.run(*place, "sh", "-c",
              "[ $PMIX_RANK = 0 ] && kill -9 $$; echo well").expect_lines(
                  ["well"])
    bench.run(*place, "sh", "-c", "exit 7").expect(code=7)


def parent(bench, nodes, mode, *words):
    return bench.run("run", "--emulate", nodes, "-n", 1, "--oversubscribe",
                     bench.pmix("parent"), mode, *words).expect(
                         out=[f"{mode}: all is well"])


def told(bench, nodes):
    """A spawner gets the events that it requested, and the user gets the messages.
    """
    parent(bench, nodes, "events").expect(
        err=["has started: 2 processes", "has ended"])
    parent(bench, nodes, "failing").expect(err=["exited with code 3"])
    parent(bench, nodes, "restarts").expect(err=["and is started again"])


def forms(bench, nodes):
    """The attributes of a spawn give processes names with ranks, restrict them to
    some CPUs, and write their output to files."""
    result = parent(bench, nodes, "index")
    for rank in range(2):
        check(f"-{rank} is rank {rank}" in result.out, result.out)
    result = parent(bench, nodes, "cpus")
    check(result.out.count("on 1 CPU") == 2, result.out)
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        parent(bench, nodes, "file", os.path.join(place, "out"))
        files = sorted(os.listdir(place))
        check(files == ["out.0", "out.1"], files)
        with open(os.path.join(place, files[0]), encoding="utf-8") as file:
            check(file.read() == "rank 0 was here\n", files)


@contextlib.contextmanager
def shared_place():
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        yield place


def let_go(place):
    with open(os.path.join(place, "go"), "w", encoding="utf-8"):
        pass


def children(name, count, goes_on=True):
    out = [f"{name} {rank} of {count}, parent 0" for rank in range(count)]
    if goes_on:
        out += [f"{name} {rank} goes on" for rank in range(count)]
    return out


def spawned_beside(bench, place, mode, names):
    """The spawner queries its children's jobs before these may end."""
    with shared_place() as files:
        job = bench.start(*place, mode, files)
        job.wait_for(f"{mode}: all is well")
        let_go(files)
        job.finish(60).expect_lines(
            [f"{mode}: all is well"] +
            [line for name in names for line in children(name, 2)])


def beside(bench, nodes):
    """Tools run although no slot is free, and cospawned applications are jobs of
    their own."""
    # No number of processes is given, so the job gets all slots.
    place = ("run", "--emulate", nodes, bench.pmix("beside"))
    spawned_beside(bench, place, "tool", ["tool"])
    place = (*place[:3], "-n", 1, "--oversubscribe", *place[3:])
    spawned_beside(bench, place, "two", ["main", "cospawned"])
    with shared_place() as files:
        result = bench.run(*place, "fails", files).expect_lines(
            ["fails: all is well", *children("main", 2),
             *children("failing", 1, goes_on=False)])
        result.expect(err=["exited with code 3"])
    result = bench.run(*place, "neither").expect(out=["neither: all is well"])
    check("goes on" not in result.out, result.out)


def restarted_beside(bench, overlay, node):
    """A successor still knows which job is a tool, and that two jobs belong
    together."""
    for mode, names in (("tool", ["tool"]), ("two", ["main", "cospawned"])):
        with shared_place() as files:
            job = bench.start("run", "--context", overlay.name,
                              *(("-n", 1, "--oversubscribe")
                                if mode == "two" else ()),
                              bench.pmix("beside"), mode, files)
            job.wait_for(f"{mode}: all is well")
            # A started process may not have found its agent yet.
            job.wait_for("parent 0", 2 * len(names))
            overlay.kill(node)
            overlay.restart(node)
            listed = bench.json("ps", "--context", overlay.name)["jobs"]
            check([job.get("tool", False) for job in listed].count(True) ==
                  (mode == "tool"), listed)
            let_go(files)
            job.finish(60).expect_lines(
                [f"{mode}: all is well"] +
                [line for name in names for line in children(name, 2)])


def run(bench):
    for nodes in (1, 2):
        for deaths in (1, 2):
            bench.case(f"restart of a rank, {deaths} times: {nodes} nodes",
                       lambda n=nodes, d=deaths: again(bench, n, d))
        bench.case(f"restart of a rank, too often: {nodes} nodes",
                   lambda n=nodes: too_often(bench, n))
        bench.case(f"recoverable job: {nodes} nodes",
                   lambda n=nodes: recoverable(bench, n))
        bench.case(f"spawn, notifications: {nodes} nodes",
                   lambda n=nodes: told(bench, n))
        bench.case(f"cospawn, tools: {nodes} nodes",
                   lambda n=nodes: beside(bench, n))
        bench.case(f"spawn, names, CPUs and files: {nodes} nodes",
                   lambda n=nodes: forms(bench, n))
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
        bench.case(f"spawn, out of time: {nodes} nodes",
                   lambda n=nodes: out_of_time(bench, n))
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
