"""Queries of processes that only a scheduler can answer, and commands of the
scheduler to running jobs: time limits and requeueing."""
import collections
import os
import re
import signal

import cases_openpmix
import harness
from cases_restart import Overlay
from cases_scheduler import BROKEN, NAME, NODES, SCHEDULER, SLOTS, Scheduler, start
from harness import check, until

QUEUE_LIST = "pmix.qry.qlst"
QUEUE_STATUS = "pmix.qry.qst"
ALLOC_STATUS = "pmix.query.alloc"
TIME_REMAINING = "pmix.time.remaining"
SUPPORTED_KEYS = "pmix.qry.keys"
NOT_FOUND, NOT_SUPPORTED, TIMEOUT = -46, -47, -24
PARTIAL_SUCCESS, SERVER_FAILED, UNPACK_FAILURE, UNREACH = -52, -10, -20, -25
ENDED_BY_LIMIT = 110
# The status of a query for each fault of a broken scheduler, and the maximum
# number of seconds.
FAULTS = {
    "silent": (TIMEOUT, 8),
    "fails": (SERVER_FAILED, 8),
    "malformed": (UNPACK_FAILURE, 8),
    "others": (NOT_FOUND, 8),
}


def ask(bench, *words, ranks=1, program=None, how=()):
    return bench.start("run", "--context", NAME, "-n", ranks, *how,
                       program or bench.pmix("ask"), *words).finish()


def answers(bench):
    """The results combine the data of the scheduler, the library and the
    agents."""
    result = ask(bench, QUEUE_LIST, QUEUE_STATUS, TIME_REMAINING, "pmix.job.size",
                 "no.such.key").expect(
        out=[f"query: {PARTIAL_SUCCESS}, 4 results", f"{QUEUE_LIST}=all",
             f"{QUEUE_STATUS}=all: 0 waiting", "pmix.job.size=1"])
    left = int(re.search(rf"{TIME_REMAINING}=(\d+)", result.out)[1])
    check(3000 < left <= 3600, f"{left} s are left")
    ask(bench, QUEUE_LIST).expect(out=["query: 0, 1 results"])
    ask(bench, "queue=none", QUEUE_STATUS).expect(
        out=[f"query: {NOT_FOUND}, 0 results"])
    ask(bench, "required=site.key", QUEUE_LIST).expect(
        out=[f"query: {NOT_SUPPORTED}, 0 results"])


def keys(bench, *how):
    result = bench.start("run", *how, "-n", 1, bench.pmix("ask"),
                         SUPPORTED_KEYS).finish()
    result.expect(out=["query: 0, 1 results"])
    return re.search(rf"{SUPPORTED_KEYS}=(.*)", result.out)[1].split(",")


def supported(bench):
    """The scheduler's keys are listed as supported only if there is a scheduler."""
    check(QUEUE_LIST in keys(bench, "--context", NAME), "no keys of the scheduler")
    check(QUEUE_LIST not in keys(bench, "--emulate", 2), "keys of no scheduler")


def callers(bench):
    """A query names the job of the process that asks, on whichever node the process
    runs."""
    result = ask(bench, ALLOC_STATUS, ranks=SLOTS).expect()
    jobs = re.findall(rf"^{ALLOC_STATUS}=job (\d+): granted$", result.out, re.M)
    check(len(jobs) == SLOTS and len(set(jobs)) == 1, result.out)


def openpmix(bench):
    """Programs with their own library query the scheduler."""
    program = cases_openpmix.build(bench, "ask", sources=harness.PROGRAMS)
    ask(bench, QUEUE_LIST, ALLOC_STATUS, ranks=SLOTS, program=program,
        how=cases_openpmix.NEVER).expect(
        out=["query: 0, 2 results", f"{QUEUE_LIST}=all", ": granted"])
    ask(bench, "queue=none", QUEUE_STATUS, program=program,
        how=cases_openpmix.NEVER).expect(out=[f"query: {NOT_FOUND}, 0 results"])


def own_limit(bench):
    """Without a scheduler, agents report the time limit that they enforce."""
    program = bench.pmix("ask")
    for timeout, status in ((("--timeout", 90), 0), ((), NOT_FOUND)):
        result = bench.start("run", "--emulate", 2, *timeout, "-n", 1, program,
                             TIME_REMAINING).finish()
        result.expect(out=[f"query: {status},"])
        left = re.search(rf"{TIME_REMAINING}=(\d+)", result.out)
        check(bool(left) == bool(timeout), result.out)
        check(not timeout or 60 < int(left[1]) <= 90, result.out)


def number_of(scheduler):
    found = re.search(r"job (\d+)", scheduler.tell("jobs"))
    check(found, f"no job runs: {scheduler.lines[-1]}")
    return found[1]


def command(scheduler, status, *words):
    answer = scheduler.tell(*words)
    check(f": {status} " in answer, f"{words}: {answer}")


def waiting_job(bench, ranks, program):
    job = start(bench, ranks, program)
    job.wait_for("waits", ranks)
    return job


def limit(bench, scheduler):
    """The processes are warned before their time is over, and then ended."""
    job = waiting_job(bench, SLOTS, bench.pmix("warned"))
    command(scheduler, 0, "limit", number_of(scheduler), 6, 5)
    job.wait_for("warned of -194:", SLOTS)
    result = job.finish().expect(code=ENDED_BY_LIMIT,
                                 err=["the time limit that its scheduler has set"])
    check(result.out.count("warned of") == SLOTS, result.out)
    command(scheduler, NOT_FOUND, "limit", "nothing", 5)


def longer(bench, scheduler):
    """An extended limit does not end the job, and can be queried."""
    program = cases_openpmix.build(bench, "warned", sources=harness.PROGRAMS)
    job = bench.start("run", "--context", NAME, "-n", 2, "--timeout", 8,
                      *cases_openpmix.NEVER, program)
    job.wait_for("waits", 2)
    number = number_of(scheduler)
    command(scheduler, 0, "limit", number, 60, 58)
    job.wait_for("warned of -194: 58 left", 2)
    command(scheduler, 0, "kill", number)
    job.finish().expect(code=128 + signal.SIGTERM, err=["its operator says so"])


def limit_over_restart(bench, scheduler, overlay):
    """The root's agent is killed between the command and its effect."""
    job = waiting_job(bench, SLOTS, bench.pmix("warned"))
    command(scheduler, 0, "limit", number_of(scheduler), 20, 12)
    overlay.kill("node1")
    overlay.restart("node1")
    job.wait_for("warned of -194:", SLOTS)
    job.finish().expect(code=ENDED_BY_LIMIT,
                        err=["the time limit that its scheduler has set"])


def requeue(bench, scheduler):
    """A requeued job ends, waits for its placement and starts again."""
    def attempts():
        """Counts the records of each request. The record of an earlier job may
        arrive late."""
        return collections.Counter(
            line.split()[1] for line in scheduler.accounted()[before:])

    before = len(scheduler.accounted())
    job = waiting_job(bench, SLOTS, bench.pmix("warned"))
    first = number_of(scheduler)
    command(scheduler, 0, "requeue", first)
    job.wait_for("waits", 2 * SLOTS)
    second = number_of(scheduler)
    check(second != first, "it has the number of the attempt before")
    command(scheduler, NOT_FOUND, "requeue", first)
    command(scheduler, 0, "kill", second)
    job.finish().expect(code=128 + signal.SIGTERM,
                        err=["is put back into the queue: for another"])
    until(lambda: 2 in attempts().values(), "the records of both attempts")


def await_end_of_jobs(scheduler):
    """Waits until the slots of earlier jobs are free. The scheduler learns of the end
    of a job after the command that waits for it."""
    until(lambda: "no jobs" in scheduler.tell("jobs"), "the end of the jobs")


def not_requeued(bench, scheduler):
    """A job that cannot be started again is left alone."""
    await_end_of_jobs(scheduler)
    command(scheduler, 0, "launch", "/bin/sleep", 100)
    command(scheduler, NOT_SUPPORTED, "requeue", number_of(scheduler))
    command(scheduler, 0, "kill", number_of(scheduler))
    await_end_of_jobs(scheduler)
    reader, writer = os.pipe()
    job = bench.start("run", "--context", NAME, "-n", 1, "sh", "-c",
                      "read word; echo has $word; sleep 100", stdin=reader)
    os.close(reader)
    os.write(writer, b"it\n")
    job.wait_for("has it")
    command(scheduler, NOT_SUPPORTED, "requeue", number_of(scheduler))
    check("standard input" in scheduler.lines[-1], scheduler.lines[-1])
    job.signal(signal.SIGINT)
    job.finish().expect(code=128 + signal.SIGINT)
    os.close(writer)


def requeue_over_restart(bench, scheduler, overlay):
    """The root's agent is killed immediately after the command for a requeue.
    Its successor continues the requeue."""
    job = waiting_job(bench, SLOTS, bench.pmix("warned"))
    command(scheduler, 0, "requeue", number_of(scheduler))
    overlay.kill("node1")
    overlay.restart("node1")
    job.wait_for("waits", 2 * SLOTS)
    command(scheduler, 0, "kill", number_of(scheduler))
    job.finish().expect(code=128 + signal.SIGTERM)


def away(bench, scheduler):
    """If the scheduler does not run, a query fails within its time limit."""
    file = os.path.join(bench.work, "gone")
    job = bench.start("run", "--context", NAME, "-n", 1, "sh", "-c",
                      f"echo is up; until test -e {file}; do sleep 0.1; done; "
                      f"exec {bench.pmix('ask')} timeout=2 {QUEUE_LIST}")
    job.wait_for("is up")
    scheduler.kill()
    with open(file, "w", encoding="utf-8"):
        pass
    result = job.finish(20)
    check(any(f"query: {status}, 0 results" in result.out
              for status in (TIMEOUT, UNREACH)), result.out)
    scheduler.start()


def faults(bench):
    """Each fault gives a clear status, in time."""
    for queue, (status, seconds) in FAULTS.items():
        result = bench.start("run", "--context", NAME, "-n", 1, bench.pmix("ask"),
                             f"queue={queue}", "timeout=5", QUEUE_STATUS)
        result.finish(seconds + 20).expect(out=[f"query: {status}, "])
    ask(bench, QUEUE_LIST).expect(out=[f"{QUEUE_LIST}=all"])


def without(bench, scheduler):
    """If the scheduler lacks the slot, the query fails immediately, and other
    keys are not affected."""
    scheduler.kill()
    scheduler.start(NO_QUERY="1")
    until(lambda: f"query: {NOT_SUPPORTED}, 0 results" in ask(bench, QUEUE_LIST).out,
          "an answer without results")
    ask(bench, QUEUE_LIST, "pmix.job.size").expect(
        out=[f"query: {PARTIAL_SUCCESS}, 1 results", "pmix.job.size=1"])
    ask(bench, TIME_REMAINING, how=("--timeout", 50)).expect(
        out=["query: 0, 1 results"])


def tools(bench, scheduler):
    """The scheduler decides which tools connect; a tool without a decision is
    rejected."""
    there = ("--context", NAME)
    scheduler.kill()
    scheduler.start(TOOLS="some")
    until(lambda: "PERMISSIONS" in bench.run("publish", *there, "color=blue").err,
          "a refusal")
    bench.run("query", *there, SUPPORTED_KEYS).expect()
    scheduler.kill()
    scheduler.start(TOOLS="silent")
    until(lambda: "TIMEOUT" in bench.run("query", *there, SUPPORTED_KEYS).err,
          "a refusal for want of an answer", 60)
    scheduler.kill()
    scheduler.start()
    until(lambda: bench.run("publish", *there, "shade=light").code == 0,
          "a scheduler that has no say in tools")


def with_overlay(bench, program, names, bodies, *more):
    if not bench.wanted(*names):
        return
    with bench.taken() as mine:
        if not mine:
            return
        scheduler = Scheduler(bench.work, program or SCHEDULER)
        scheduler.start()
        try:
            with bench.overlay(NAME, "--emulate", NODES, "--host-module",
                               scheduler.address, *more,
                               ignore=("scheduler.py",)) as up:
                for name, body in zip(names, bodies) if up else ():
                    bench.case(name, lambda body=body: body(scheduler), leaves=True)
        finally:
            scheduler.kill()


def run(bench):
    bench.case("queries: the limit that agents know", lambda: own_limit(bench))
    with_overlay(bench, BROKEN, [
        "scheduler queries: one that is broken", "scheduler queries: one that has none",
        "scheduler tools: served, refused and not decided about",
    ], (lambda _: faults(bench), lambda s: without(bench, s), lambda s: tools(bench, s)))
    overlay = Overlay(bench, NAME)
    with_overlay(bench, None, [f"scheduler {what}" for what in (
        "queries: what it knows", "queries: which keys it has",
        "queries: who asks", "queries: OpenPMIx's library",
        "queries: it is away", "commands: a time limit", "commands: a longer time limit",
        "commands: a time limit, and kill -9 of the root", "commands: requeue",
        "commands: what is not requeued", "commands: requeue, and kill -9 of the root")], (
            lambda _: answers(bench), lambda _: supported(bench),
            lambda _: callers(bench),
            lambda _: openpmix(bench), lambda s: away(bench, s),
            lambda s: limit(bench, s), lambda s: longer(bench, s),
            lambda s: limit_over_restart(bench, s, overlay),
            lambda s: requeue(bench, s), lambda s: not_requeued(bench, s),
            lambda s: requeue_over_restart(bench, s, overlay)),
        "--restart-grace", 60)
