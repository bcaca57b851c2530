"""Requests about running jobs: stacks, tools beside them, queries, their end.
"""
import os
import re
import time

import harness
from harness import check

CONTEXT = "debug"
RANKS = 8


def hanging(bench):
    out = os.path.join(bench.share.directory, "hang")
    bench.share.make(out, ["gcc", "-g", "-O1", "-o", out,
                           os.path.join(harness.PROGRAMS, "hang.c"),
                           f"-I{bench.prefix}/include",
                           f"-L{bench.prefix}/lib", "-lpmix"])
    return out


def nspace_of(bench):
    jobs = bench.json("ps", "--context", CONTEXT)["jobs"]
    check(len(jobs) == 1, f"not one job: {jobs}")
    return jobs[0]["nspace"]


def start(bench, *args):
    """Starts a job of RANKS ranks. Returns it with its name."""
    job = bench.start("run", "--context", CONTEXT, "--oversubscribe", "-n", RANKS,
                      "--map-by", "node", *args)
    until(lambda: bench.json("ps", "--context", CONTEXT).get("jobs"))
    return job, nspace_of(bench)


def until(there):
    harness.until(there, "what is to come")


def commands(bench):
    job, nspace = start(bench, hanging(bench))
    where = ["--context", CONTEXT]
    until(lambda: bench.run("ps", *where, "--procs").expect().out.count(
        "CONNECTED") == RANKS)
    table = bench.run("ps", *where, "--procs").expect(out=["PROGRAM"])
    check(len(re.findall(rf"^{nspace} +\d+ +[1-9]\d* +node[1-4] .*hang",
                         table.out, re.M)) == RANKS, "not all" + table.tail())
    bench.run("query", *where, "PMIX_JOB_SIZE", "pmix.qry.ns", "--job",
              nspace).expect(out=[f"PMIX_JOB_SIZE: {RANKS}", nspace])
    bench.run("query", *where, "no.such.key").expect_refusal(1, "NOT-FOUND")
    bench.run("event", *where, "PMIX_NOTHING").expect_refusal(2, "PMIX_NOTHING")
    bench.run("event", *where, "PMIX_EVENT_NODE_DOWN", "--job", nspace, "--text",
              "no more").expect()
    bench.run("kill", *where, "--now", nspace).expect()
    job.finish().expect(137)


def detached_files():
    return os.path.join(harness.RUNTIME, f"canopy-{os.getuid()}", "detached")


def detached(bench):
    """The launcher continues in the background, and the end is reported."""
    run = ["run", "--context", CONTEXT, "-n", 2, "--detach"]
    where = ["--context", CONTEXT]
    for code in (0, 3):
        name = bench.run(*run, "sh", "-c", f"read x; echo said; exit {code}"
                         ).expect().out.strip()
        bench.run("wait", *where, name).expect(code)
        path = os.path.join(detached_files(), name + ".output")
        with open(path, encoding="utf-8") as file:
            check("said\n" in file.read(), "its output is not there")
        bench.run("wait", *where, name).expect_refusal(1, name)
        os.remove(path)
    name = bench.run(*run, "sleep", "600").expect().out.strip()
    check(nspace_of(bench) == name, "not that job")
    bench.run("top", *where, "--count", 1).expect(out=[name, "node4"])
    bench.run("kill", *where, "--now", name).expect()
    bench.run("wait", *where, name).expect(137)
    os.remove(os.path.join(detached_files(), name + ".output"))
    name = bench.run(*run, "no-such-program").expect().out.strip()
    bench.run("wait", *where, name).expect(127)
    os.remove(os.path.join(detached_files(), name + ".output"))
    bench.run(*run, "--host", "nowhere", "true").expect_refusal(1, "nowhere")
    bench.run("run", "--emulate", 2, "--detach", "true").expect_refusal(
        2, "canopy up")
    os.rmdir(detached_files())


def with_hang(bench, body):
    job, nspace = start(bench, hanging(bench))
    job.wait_for("up ", RANKS)
    body(nspace)
    bench.run("kill", "--context", CONTEXT, "--now", nspace).expect()
    job.finish().expect(137)


def stack(bench):
    def look(nspace):
        where = ["--context", CONTEXT, nspace]
        result = bench.run("stack", *where).expect(
            out=["1 rank 0:\n", "main at hang.c", "not_in_the_fence at hang.c",
                 f"{RANKS - 1} ranks 1-{RANKS - 1}:\n", "PMIx_Fence"])
        check(result.out.count("main at hang.c") == 2,
              "not one tree" + result.tail())
        result = bench.run("stack", *where, "--ranks", "0").expect()
        check("PMIx_Fence" not in result.out, "of others" + result.tail())
        bench.run("stack", *where, "--threads").expect(out=["PMIx_Fence"])
        bench.run("stack", "--context", CONTEXT, "nobody").expect_refusal(
            1, "nobody")
        # The processes continue: the fence still waits for rank 0 alone.
        bench.run("why", *where, "--stacks").expect(
            out=["rank 0 on node1", "not_in_the_fence"],
            absent=["PMIx_Fence from"])
    with_hang(bench, look)


def daemons(bench):
    def look(nspace):
        where = ["debug", "--context", CONTEXT, nspace]
        script = "echo $PMIX_RANK $PMIX_NAMESPACE $(hostname)"
        result = bench.run(*where, "--", "sh", "-c", script).expect()
        lines = [line.split() for line in result.out.splitlines()]
        check(sorted(int(line[0]) for line in lines) == list(range(RANKS)),
              "not one for each rank" + result.tail())
        check(all(line[1] != nspace for line in lines), "no job of its own")
        for options, count in ((["--per-node", 1], 4), (["--per-node", 2], 8),
                               (["--rank", 3], 1),
                               (["--rank", 3, "--per-rank", 2], 2)):
            result = bench.run(*where, *options, "--", "echo", "here")
            result.expect_lines(["here"] * count)
        bench.run(*where).expect_refusal(2, "no command after '--'")
        bench.run("debug", "--context", CONTEXT, "no-such-job", "--", "true"
                  ).expect_refusal(1, "no-such-job")
        bench.run(*where, "--rank", RANKS, "--", "true").expect_refusal(
            1, f"no rank {RANKS}")
    with_hang(bench, look)


def run(bench):
    cases = {"running jobs: commands": commands,
             "running jobs: detached jobs": detached,
             "running jobs: stack": stack,
             "running jobs: daemons": daemons}
    if not bench.wanted(*cases):
        return
    with bench.overlay(CONTEXT, "--emulate", 4) as up:
        for name, body in cases.items() if up else ():
            bench.case(name, lambda b=body: b(bench), settle=10)
