"""MPI jobs over four emulated nodes, placed by the example scheduler in C++."""
import os
import signal
import tempfile
import time

from cases_host_module_check import build
from harness import check

NODES = 4
CONTEXT = "example-scheduler"
RUN = ("run", "--context", CONTEXT)


def slots(bench):
    nodes = bench.json("status", "--context", CONTEXT)["nodes"]
    return sum(node["slots"] for node in nodes)


def jobs(bench, scheduler):
    ranks = slots(bench)
    for _ in range(2):  # the first job's slots are free again
        bench.run(*RUN, "-n", ranks, bench.mpi("hello"), ranks).expect(
            out=[f"hello ok size {ranks}"])
    bench.run(*RUN, "-n", 2, "sh", "-c", "exit 5").expect(code=5)
    scheduler.wait_for("with exit code 5")
    bench.run(*RUN, "-n", ranks + 1, "true").expect(
        code=1, err=[f"{ranks + 1} slots wanted and there are {ranks}"])
    bench.run(*RUN, "--host", "node3:1", "-n", 1, "true").expect()


def queued(bench):
    """If no slot is free, a job waits, reports the reason, and starts when it
    can."""
    ranks = slots(bench)
    all_nodes = bench.start(*RUN, "-n", ranks, "sh", "-c",
                            "echo is up; exec sleep 1000")
    all_nodes.wait_for("is up", ranks)
    later = bench.start(*RUN, "-n", 2, bench.mpi("hello"), 2)
    wait_for_ps(bench, "2 slots wanted, 0 free")
    gone = bench.start(*RUN, "-n", ranks, "true")
    wait_for_ps(bench, f"queued   {ranks} ")
    gone.signal(signal.SIGINT)
    check(gone.finish(20).code == 128 + signal.SIGINT, "not interrupted")
    all_nodes.signal(signal.SIGTERM)
    all_nodes.finish(20)
    later.finish(30).expect(out=["hello ok size 2"])


def detached(bench, address):
    """A job in the background has its name at once, although it is queued, and the
    scheduler passes its check while it is in use."""
    ranks = slots(bench)
    busy = bench.start(*RUN, "-n", ranks, "sh", "-c", "echo is up; exec sleep 1000")
    busy.wait_for("is up", ranks)
    begun = time.monotonic()
    name = bench.run(*RUN, "--detach", "-n", 2, "sh", "-c", "exit 6").expect().out.strip()
    check(time.monotonic() - begun < 5, "the name came late")
    wait_for_ps(bench, f"queued: {name}")
    bench.run("why", "--context", CONTEXT, name).expect(out=["has been queued for"])
    bench.run("host-module", "check", address).expect(absent=["FAILED"])
    busy.signal(signal.SIGTERM)
    busy.finish(20)
    bench.run("wait", name).expect(code=6)


def wait_for_ps(bench, text):
    for _ in range(200):
        if text in bench.run("ps", "--context", CONTEXT).expect().out:
            return
    check(False, f"ps does not say {text!r}: " +
          bench.run("ps", "--context", CONTEXT).out)


def cases(bench, directory):
    address = f"unix:{directory}/scheduler.sock"
    if not bench.case("scheduler in C++: it is built", lambda: build(bench),
                      always=True):
        return
    scheduler = bench.start(address, program=build(bench))
    scheduler.wait_for("schedules at")
    with bench.overlay(CONTEXT, "--emulate", str(NODES), "--host-module",
                       address) as up:
        if up:
            bench.case("scheduler in C++: Open MPI jobs and exit codes",
                       lambda: jobs(bench, scheduler))
            bench.case("scheduler in C++: a job waits while all is taken",
                       lambda: queued(bench))
            bench.case("scheduler in C++: a job in the background is queued",
                       lambda: detached(bench, address))
    scheduler.end(signal.SIGTERM).expect()


def run(bench):
    if not bench.wanted("scheduler in C++: Open MPI jobs and exit codes",
                        "scheduler in C++: a job waits while all is taken",
                        "scheduler in C++: a job in the background is queued"):
        return
    with bench.taken() as mine:
        if mine:
            with tempfile.TemporaryDirectory() as directory:
                os.chmod(directory, 0o755)
                cases(bench, directory)
