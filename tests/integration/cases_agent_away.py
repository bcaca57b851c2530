"""Nodes whose agents do not answer, and jobs that lose a node before they start."""
import os
import signal

from cases_restart import Overlay
from cases_scheduler import Scheduler
from harness import check, until

NAME = "agent-away"
NODES = 4
CPUS = os.cpu_count()
SLOTS = NODES * CPUS
# With radix 2 its parent is node2, so the root learns of it from there.
AWAY = "node4"
PLAIN = ("agent away: a node whose agent is gone gets no jobs",
         "agent away: a job waits for an agent",
         "agent away: a node is lost before the job starts")
SCHEDULED = ("agent away, a scheduler: a node whose agent is gone gets no jobs",
             "agent away, a scheduler: a node is lost before the job starts")


def run_on(bench, ranks, *words):
    return bench.start("run", "--context", NAME, "-n", ranks, *words)


def script(bench):
    path = os.path.join(bench.work, "where.sh")
    with open(path, "w", encoding="utf-8") as file:
        file.write("echo on $PMIX_HOSTNAME\n")
    return path


def queued(bench):
    return [job for job in bench.json("ps", "--context", NAME).get("jobs", [])
            if job["phase"] == "queued"]


def kill_and_notice(bench, overlay):
    """Kills the agent and waits until the root knows that it does not answer."""
    overlay.kill(AWAY)
    until(lambda: bench.json("status", "--context", NAME)["nodes"][3]["state"] !=
          "up", "the root to notice")


def elsewhere(bench, overlay):
    """Jobs run on the other nodes; one that needs all waits for the agent."""
    kill_and_notice(bench, overlay)
    others = SLOTS - CPUS
    result = run_on(bench, others, "sh", script(bench)).finish(20).expect()
    check(result.out.count("on node") == others and AWAY not in result.out,
          result.out)
    # Its time does not run while it waits.
    job = run_on(bench, SLOTS, "--timeout", 5, "sh", script(bench))
    until(lambda: queued(bench), "the job that waits")
    until(lambda: queued(bench)[0]["age_seconds"] > 6, "six seconds")
    overlay.restart(AWAY)
    result = job.finish(20).expect(err=["is queued: "])
    check(result.out.count("on " + AWAY) == CPUS, result.out)


def named(bench, overlay):
    """A job that names the node says for which agent it waits; its spawns and
    others do not wait."""
    kill_and_notice(bench, overlay)
    job = run_on(bench, 1, "--host", AWAY, "sh", script(bench))
    job.wait_for(f"no answer from the agent of {AWAY}", stream="err")
    bench.run("ps", "--context", NAME).expect(
        out=["queued: ", f"no answer from the agent of {AWAY}"])
    index = run_on(bench, 1, "--host", "+n3", "sh", script(bench))
    until(lambda: len(queued(bench)) == 2, "a job on the fourth node")
    third = run_on(bench, 1, "--host", "+n2", "sh", script(bench))
    third.finish(20).expect_lines(["on node3"])
    overlay.restart(AWAY)
    for waiting in (job, index):
        waiting.finish(20).expect_lines(["on " + AWAY])


def lost(bench, overlay):
    """A node is lost between the launch and the start of the processes. The job
    runs on the others, and was not started before."""
    agent = overlay.pid("node3")
    os.kill(agent, signal.SIGSTOP)
    try:
        # Before the silence is noticed, node3 gets processes.
        job = run_on(bench, 2 * CPUS + 1, "sh", script(bench))
        result = job.finish(60).expect(
            err=["is put back into the queue: node node3 was lost"])
        check(result.out.count("on node") == 2 * CPUS + 1 and
              "node3" not in result.out, result.out)
    finally:
        os.kill(agent, signal.SIGCONT)
    until(lambda: "up" == bench.json("status", "--context", NAME)["nodes"][2]["state"],
          "node3 to join again")


def overlay_cases(bench, grace, scheduler, bodies):
    """BODIES are functions by the names of their cases."""
    if not bench.wanted(*bodies):
        return
    with bench.overlay(NAME, "--emulate", NODES, "--radix", 2, "--restart-grace",
                       grace, *scheduler, ignore=("scheduler.py",)) as up:
        for name, body in bodies.items() if up else ():
            bench.case(name, lambda body=body: body(bench, Overlay(bench, NAME)),
                       leaves=True)


def by_scheduler(bench):
    away, lose = SCHEDULED
    scheduler = Scheduler(bench.work)
    scheduler.start()
    try:
        options = ("--host-module", scheduler.address)
        overlay_cases(bench, 60, options, {away: elsewhere})
        overlay_cases(bench, 1, options, {lose: lost})
    finally:
        scheduler.kill()


def run(bench):
    away, waits, lose = PLAIN
    overlay_cases(bench, 60, (), {away: elsewhere, waits: named})
    overlay_cases(bench, 1, (), {lose: lost})
    if not bench.wanted(*SCHEDULED):
        return
    with bench.taken() as mine:
        if mine:
            by_scheduler(bench)
