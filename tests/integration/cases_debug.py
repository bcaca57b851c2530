"""Debuggers: processes that wait for one, and are let go."""
import os
import re
import signal

import harness
from cases_openpmix import build
from cases_running import CONTEXT, RANKS, start, until
from harness import Job, check

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                        "examples", "pmix")


def debugger(bench):
    out = os.path.join(bench.share.directory, "debugger")
    bench.share.make(out, ["gcc", "-O1", "-o", out,
                           os.path.join(EXAMPLES, "debugger.c"),
                           f"-I{bench.prefix}/include",
                           f"-L{bench.prefix}/lib", "-lpmix", "-pthread"])
    return out


def tool(bench, *args):
    """A tool that is started by hand."""
    job = Job([debugger(bench), *args],
              dict(bench.env, LD_LIBRARY_PATH=os.path.join(bench.prefix, "lib"),
                   TMPDIR=bench.work))
    return job


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "gone"


def pids(bench, nspace):
    result = tool(bench, nspace).finish(60).expect()
    rows = dict(re.findall(r"^rank (\d+) pid (\d+) on node\d: ", result.out, re.M))
    check(len(rows) == RANKS, "no such proctable" + result.tail())
    return {int(rank): int(pid) for rank, pid in rows.items()}


def stop_on_exec(bench):
    job, nspace = start(bench, "--stop-on-exec", "echo", "went on")
    until(lambda: all(pid > 0 and state_of(pid) in "tT"
                             for pid in pids(bench, nspace).values()))
    check(not job.texts["out"], "they run")
    tool(bench, nspace, "free").finish(60).expect()
    job.finish().expect_lines(["went on"] * RANKS)


def stop_of_some(bench):
    """The others go on; what is ended while it is stopped is ended."""
    job, nspace = start(bench, "--stop-on-exec", "--stop-ranks", "2,5-6", "sh",
                        "-c", "echo up; exec sleep 600")
    job.wait_for("up\n", RANKS - 3)
    states = {rank: state_of(pid) for rank, pid in pids(bench, nspace).items()}
    stopped = sorted(rank for rank, state in states.items() if state in "tT")
    check(stopped == [2, 5, 6], f"stopped: {states}")
    bench.run("kill", "--context", CONTEXT, nspace).expect()
    job.finish().expect(143, err=["Terminated"])


def in_init(bench, program, *options):
    job, nspace = start(bench, "--stop-in-init", *options, *program)
    result = tool(bench, nspace, "release").finish(60).expect()
    check("ready at pmix-init\n" in result.out, "not ready" + result.tail())
    return job


def stop_in_init(bench):
    in_init(bench, [bench.pmix("fences"), RANKS, 8]).finish().expect()


def stop_in_init_of_one(bench):
    in_init(bench, [bench.pmix("fences"), RANKS, 8], "--stop-ranks", "3").finish().expect()


def stop_in_init_of_openpmix(bench):
    """Programs that carry Debian's library."""
    in_init(bench, [build(bench, "fences", sources=harness.PROGRAMS), RANKS, 8],
            "--inject", "never").finish().expect()


def debugger_dies(bench):
    """One that dies leaves the job waiting for the next one."""
    job, nspace = start(bench, "--stop-in-init", bench.pmix("fences"), RANKS, 8)
    first = tool(bench, nspace, "release")
    first.end(signal.SIGKILL)
    tool(bench, nspace, "free").finish(60).expect()
    job.finish().expect()


def run(bench):
    cases = {"debugger: stop on exec": stop_on_exec,
             "debugger: stop of some": stop_of_some,
             "debugger: stop in init": stop_in_init,
             "debugger: stop in init of one": stop_in_init_of_one,
             "debugger: stop in init of openpmix": stop_in_init_of_openpmix,
             "debugger: dies": debugger_dies}
    if not bench.wanted(*cases):
        return
    with bench.overlay(CONTEXT, "--nodes", 4) as up:
        for name, body in cases.items() if up else ():
            bench.case(name, lambda b=body: b(bench), settle=10)
