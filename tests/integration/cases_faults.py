"""Faults under a running job: agents, shims and ranks die at any moment. All
waiting processes get an error within seconds, and other jobs continue."""
import os
import signal
import time

import harness
import leftovers
from harness import check, until

CONTEXT = "faults"
HERE = ["run", "--context", CONTEXT, "--oversubscribe"]
SPREAD = [*HERE, "-n", 4, "--map-by", "node"]
SLEEP = ["sh", "-c", "echo up; exec sleep 1000"]
# The time in which a job must end after a fault that it cannot survive. Usually
# this takes 2 s; the rest is for busy machines.
SECONDS = 20


class Held:
    """A job whose rank 0 reads its input until the job is released."""

    def __init__(self, bench, *command):
        reader, self.writer = os.pipe()
        self.job = bench.start(*command, stdin=reader)
        os.close(reader)

    def let_go(self):
        os.close(self.writer)
        return self.job


def waiter(bench, hosts):
    """Starts a job beside the job that the fault affects."""
    held = Held(bench, *HERE, "--host", hosts, "-n", 2, "--map-by", "node", "sh",
                "-c", "echo up; read line; echo went on")
    held.job.wait_for("up\n", 2)
    return held


def nodes_of(bench):
    return {node["node"]: node for node in
            bench.json("status", "--context", CONTEXT)["nodes"]}


def wait_for_state(bench, name, up):
    return until(lambda: (nodes_of(bench)[name]["state"] == "up") == up and
                 nodes_of(bench)[name],
                 f"status to show that {name} is {'up' if up else 'down'}")


def shims_of(bench, pid):
    """Returns the process ids of the shims of this agent."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        near = [int(word) for word in file.read().split()]
    return [one for child in near for one in (child, *shims_of(bench, child))
            if "canopy-shim" in leftovers.processes().get(one, "")]


def ends_soon(job, start):
    result = job.finish(SECONDS + 30)
    seconds = time.monotonic() - start
    check(seconds < SECONDS, f"the end took {seconds:.0f} s" + result.tail())
    return result


def agent_dies(bench, name, command, ranks=4):
    """Kills the agent of the node NAME, which has a rank of one of two jobs."""
    beside = waiter(bench, ",".join(n for n in ("node1", "node2", "node3")
                                    if n != name))
    job = Held(bench, *SPREAD[:-2], "--map-by", "node", *command).job
    job.wait_for("up\n", ranks)
    start = time.monotonic()
    os.kill(int(nodes_of(bench)[name]["pid"]), signal.SIGKILL)
    result = ends_soon(job, start)
    check(result.code not in (0, -signal.SIGKILL),
          f"exit code {result.code}" + result.tail())
    check(f"node {name} was lost" in result.err,
          "no word about the lost node" + result.tail())
    check(wait_for_state(bench, name, False)["reason"], "no reason")
    text = bench.run("status", "--context", CONTEXT).expect().out
    check(name in text and "3 nodes up" in text and "lost" in text,
          "status does not tell of the loss:\n" + text)
    # The other job continues, and new jobs use the remaining nodes.
    after = bench.run(*HERE, "-n", 3, "--map-by", "node", bench.mpi("hello"), 3)
    after.expect(out=["hello ok size 3"])
    bench.run(*HERE, "--host", name, "-n", 1, "true").expect_refusal(
        1, name, "is down")
    beside.let_go().finish(30).expect_lines(["up", "up", "went on", "went on"])


def agent_dies_before(bench, name):
    """A node is lost while its rank has not called MPI_Init and the other ranks
    wait inside."""
    rank = name[-1:]
    number = int(rank) - 1
    job = bench.start(
        *SPREAD, "sh", "-c",
        f"[ $PMIX_RANK = {number} ] && exec sleep 1000; exec \"$@\"", "sh",
        bench.mpi("hello"), 4)
    until(lambda: waiting_for(bench, number), "the others to wait")
    start = time.monotonic()
    os.kill(int(nodes_of(bench)[name]["pid"]), signal.SIGKILL)
    result = ends_soon(job, start)
    check(result.code > 0 and f"node {name} was lost" in result.err and
          "hello ok" not in result.out, "no clear end" + result.tail())


def idle_agent_dies(bench, name, hosts):
    """If an agent that only forwards messages is killed, fences with data continue
    without loss."""
    held = Held(bench, *HERE, "--host", hosts, "-n", 4, "--map-by", "node",
                bench.pmix("fences"), 4, 20000)
    held.job.wait_for("up\n", 4)
    os.kill(int(nodes_of(bench)[name]["pid"]), signal.SIGKILL)
    wait_for_state(bench, name, False)
    held.let_go().finish(30).expect_lines(
        ["up"] * 4 + [f"fences ok {rank}" for rank in range(4)])


def nodes_are_told(bench):
    """A process registered for the events receives the names of nodes that are
    down or have left."""
    job = bench.start(*HERE, "--host", "node1,node2", "-n", 2, "--map-by", "node",
                      bench.pmix("nodes"), 2)
    job.wait_for("up\n", 2)
    os.kill(int(nodes_of(bench)["node3"]["pid"]), signal.SIGKILL)
    job.wait_for("node3 is down\n", 2)
    os.kill(int(nodes_of(bench)["node4"]["pid"]), signal.SIGTERM)
    job.finish(30).expect_lines(
        ["up", "up", *(f"{rank}: {what}" for rank in range(2)
                       for what in ("node3 is down", "node4 is offline"))])


def root_dies(bench, command):
    """If the agent that controls a job is killed, the launcher reports this, and no
    part of the job remains."""
    before = bench.snapshot()
    job = Held(bench, *SPREAD, *command).job
    job.wait_for("up\n", 4)
    start = time.monotonic()
    os.kill(int(nodes_of(bench)["node1"]["pid"]), signal.SIGKILL)
    result = ends_soon(job, start)
    # The launcher does not wait for another agent, because none can take over.
    words = [line for line in result.err.splitlines() if "canopy: " in line]
    check(result.code not in (0, -signal.SIGKILL) and len(words) == 1 and
          "lost the agent that controls the job" in words[0] and
          "no other one came" not in words[0], "no clear text" + result.tail())
    until(lambda: not [text for text in before.new_since()
                       if command[0] in text and "canopy" not in text],
          "the processes of the job to end")
    # The next agent in the order of nodes is the root now.
    bench.run(*HERE, "-n", 3, "--map-by", "node", bench.mpi("hello"), 3).expect(
        out=["hello ok size 3"])


def silent_agent(bench, name):
    """An agent that is stopped is lost within the configured time, and joins
    again when it continues."""
    victim = int(nodes_of(bench)[name]["pid"])
    job = Held(bench, *SPREAD, bench.pmix("fences"), 4, 1000).job
    job.wait_for("up\n", 4)
    start = time.monotonic()
    os.kill(victim, signal.SIGSTOP)
    try:
        result = ends_soon(job, start)
        check(result.code > 0 and f"node {name} was lost" in result.err,
              "no word about the lost node" + result.tail())
        wait_for_state(bench, name, False)
    finally:
        os.kill(victim, signal.SIGCONT)
    wait_for_state(bench, name, True)
    bench.run(*SPREAD, bench.mpi("hello"), 4).expect(out=["hello ok size 4"])


def shim_dies(bench, command):
    """Kills the process that holds the ranks of one node."""
    job = Held(bench, *SPREAD, *command).job
    job.wait_for("up\n", 4)
    shims = shims_of(bench, int(nodes_of(bench)["node3"]["pid"]))
    check(len(shims) == 1, f"shims {shims}")
    start = time.monotonic()
    os.kill(shims[0], signal.SIGKILL)
    result = ends_soon(job, start)
    check(result.code > 0 and "rank 2 on node3" in result.err,
          "no word about the rank" + result.tail())


def rank_dies(bench, family):
    job = bench.start(*SPREAD, bench.mpi("spin", family), 4)
    job.wait_for("up\n", 4)
    ranks = [pid for pid, text in leftovers.processes().items()
             if "/spin." in text and "canopy " not in text]
    check(len(ranks) == 4, f"ranks {ranks}")
    start = time.monotonic()
    os.kill(ranks[2], signal.SIGKILL)
    ends_soon(job, start).expect(137, err=["signal 9"])


def waiting_for(bench, rank):
    """Returns true if others wait for RANK according to `canopy why`.
    """
    waiting = bench.json("why", "--context", CONTEXT).get("waiting", [])
    return any(missing["rank"] == rank for one in waiting
               for missing in one["missing"])


def dies_before_others_are_through(bench, family, last_words, expected):
    """Rank 1 ends without a message while the others are inside MPI_Init."""
    held = Held(bench, *SPREAD, "--stdin", 1, "sh", "-c",
                "[ $PMIX_RANK = 1 ] || exec \"$@\"; read line; " + last_words,
                "sh", bench.mpi("hello", family), 4)
    until(lambda: waiting_for(bench, 1), "the others to wait for rank 1")
    start = time.monotonic()
    result = ends_soon(held.let_go(), start)
    check("hello ok" not in result.out, "it went on" + result.tail())
    if expected:
        result.expect(expected, err=["rank 1"])
    else:
        # The rank has ended well, but the others fail with a message.
        check(result.code > 0 and "called abort" in result.err,
              "no end by abort" + result.tail())


def output_goes_on(bench, name, hosts):
    """Output on its way through a killed agent is not lost, duplicated or
    reordered."""
    text = "echo up; i=0; while read -t 0.001 x; [ $? -gt 128 ]; do " \
           "for k in {1..200}; do echo $PMIX_RANK $((i++)); done; done; " \
           "echo $PMIX_RANK end"
    held = Held(bench, *HERE, "--host", hosts, "-n", 3, "--map-by", "node",
                "--stdin", "all", "bash", "-c", text)
    held.job.wait_for("up\n", 3)
    os.kill(int(nodes_of(bench)[name]["pid"]), signal.SIGKILL)
    wait_for_state(bench, name, False)
    result = held.let_go().finish(30).expect()
    for rank in range(3):
        words = [line.split()[1] for line in result.out.splitlines()
                 if line.startswith(f"{rank} ")]
        check(words == [*map(str, range(len(words) - 1)), "end"],
              f"output of rank {rank} is not whole" + result.tail())


def output_is_lost(bench):
    """A tool of another agent gets an event when a job's output can no longer
    be read."""
    job = bench.start(*HERE, "--host", "node1", "-n", 1, "sh", "-c",
                      "echo up; exec sleep 1000")
    job.wait_for("up\n", 1)
    nspace = bench.json("ps", "--context", CONTEXT)["jobs"][0]["job"]
    nodes = nodes_of(bench)
    env = dict(bench.env, TMPDIR=harness.RUNTIME,
               LD_LIBRARY_PATH=os.path.join(bench.prefix, "lib"))
    tool = harness.Job([bench.pmix("lost_output"), str(nodes["node3"]["pid"]), nspace],
                       env)
    tool.wait_for("up\n", 1)
    start = time.monotonic()
    os.kill(int(nodes["node1"]["pid"]), signal.SIGKILL)
    tool.finish(30).expect_lines(
        ["up", "IOF FAILURE: of the job 1, of its output 1, because of NOT-FOUND"])
    check(ends_soon(job, start).code != 0, "the job has ended well")


def no_agent_answers(bench):
    """Commands report an error if all agents are gone and only the context remains."""
    nodes = nodes_of(bench)
    for node in nodes.values():
        os.kill(int(node["pid"]), signal.SIGKILL)
    for command in ("run", "status", "ps", "why"):
        bench.run(command, "--context", CONTEXT, *(["true"] if command == "run"
                                                   else [])).expect_refusal(
            1, CONTEXT, "canopy down")


def jobs(bench):
    """Runs cases about ranks; the overlay stays complete."""
    for family in ("openmpi", "mpich"):
        for word, code in (("kill -9 $$", 137), ("exit 3", 3), ("exit 0", 0)):
            yield (f"rank ends by '{word}', others in MPI_Init of {family}",
                   lambda f=family, w=word, c=code:
                   dies_before_others_are_through(bench, f, w, c))
        yield (f"rank killed in MPI_Barrier of {family}",
               lambda f=family: rank_dies(bench, f))
    yield "shim killed, plain processes", lambda: shim_dies(bench, SLEEP)
    yield "shim killed, fences", lambda: shim_dies(
        bench, [bench.pmix("fences"), 4, 1000])
    yield "agent stopped for a while", lambda: silent_agent(bench, "node3")


def losses(bench):
    """Yields cases that each cost a node: (name, radix, body)."""
    fences = [bench.pmix("fences"), 4]
    for radix, name, what, command in (
            (2, "node2", "inner, Open MPI", [bench.mpi("spin"), 4]),
            (2, "node2", "inner, large fences", [*fences, 1 << 20]),
            (2, "node4", "leaf, fences", [*fences, 1000]),
            (32, "node3", "leaf, large fences", [*fences, 1 << 20]),
            (32, "node4", "leaf, MPICH", [bench.mpi("spin", "mpich"), 4])):
        yield (f"agent killed, {what}", radix,
               lambda n=name, c=command: agent_dies(bench, n, c))
    for radix, name in ((2, "node2"), (2, "node4"), (32, "node3")):
        yield (f"agent of {name} killed before a fence", radix,
               lambda n=name: agent_dies_before(bench, n))
    yield "idle inner agent killed", 2, lambda: idle_agent_dies(
        bench, "node2", "node1,node3,node4")
    yield "output through an inner agent that is killed", 2, lambda: \
        output_goes_on(bench, "node2", "node1,node3,node4")
    yield "idle leaf killed", 32, lambda: idle_agent_dies(
        bench, "node3", "node1,node2,node4")
    for radix in (2, 32):
        yield "nodes lost and left", radix, lambda: nodes_are_told(bench)
    for radix, command in ((2, SLEEP), (32, [*fences, 20000])):
        yield ("root agent killed", radix,
               lambda c=command: root_dies(bench, c))
    yield "output whose agent is killed", 32, lambda: output_is_lost(bench)
    yield "all agents killed", 32, lambda: no_agent_answers(bench)


def run(bench):
    options = ["--emulate", "4", "--orphan-grace", "1"]
    cases = [(f"faults: {name}", body) for name, body in jobs(bench)]
    if bench.wanted(*(name for name, _ in cases)):
        with bench.overlay(CONTEXT, *options, "--radix", "2",
                           ignore=leftovers.OF_PROGRAMS) as up:
            for name, body in cases if up else ():
                bench.case(name, body, settle=10, ignore=leftovers.OF_PROGRAMS)
    for name, radix, body in losses(bench):
        name = f"faults: {name}, radix {radix}"
        if not bench.wanted(name):
            continue
        with bench.overlay(CONTEXT, *options, "--radix", str(radix), settle=10,
                           ignore=leftovers.OF_PROGRAMS) as up:
            if up:
                # `canopy down` removes the files of the lost agent.
                bench.case(name, body, leaves=True)
