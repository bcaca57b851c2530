"""Jobs that are ended from outside: by Ctrl-C, or by the death of the launcher.
"""
import signal

from harness import check

RUN = ["run", "--emulate", 2, "--oversubscribe"]
SLEEP = ["sh", "-c", "echo up; exec sleep 1000"]
# A process that ends only by SIGKILL and prints the signals that it receives.
STUBBORN = ["sh", "-c",
            "trap 'echo got INT' INT; trap 'echo got TERM' TERM; echo up; "
            "while :; do sleep 1000 & wait; done"]
# A rank with children in its process group.
FAMILY = ["sh", "-c", "sleep 1000 & sleep 1000 & echo up; wait"]


def launcher_gets(bench, number, program, ranks=4, group=True, more=()):
    job = bench.start(*RUN, *more, "-n", ranks, *program)
    job.wait_for("up\n", ranks)
    job.signal(number, group=group)
    result = job.finish(30)
    check(result.seconds < 30, f"took {result.seconds:.0f} s")
    return result


def interrupt(bench):
    for program in (SLEEP, FAMILY, [bench.mpi("spin"), 4],
                    [bench.mpi("spin", "mpich"), 4]):
        launcher_gets(bench, signal.SIGINT, program).expect(130)
    launcher_gets(bench, signal.SIGTERM, SLEEP, group=False).expect(143)


def twice(bench):
    """A second Ctrl-C kills processes that ignore the first Ctrl-C."""
    job = bench.start(*RUN, "--kill-grace", 1000, "-n", 2, *STUBBORN)
    job.wait_for("up\n", 2)
    job.signal(signal.SIGINT, group=True)
    job.wait_for("got TERM\n", 2)
    job.signal(signal.SIGINT, group=True)
    job.finish(30).expect(130)


def grace(bench):
    """Processes that ignore SIGTERM are killed after the grace time."""
    job = bench.start(*RUN, "--kill-grace", 1, "-n", 2, *STUBBORN)
    job.wait_for("up\n", 2)
    job.signal(signal.SIGINT, group=True)
    job.finish(30).expect(130, out=["got TERM"])


def forwarded(bench):
    """Signals for the programs' own use are forwarded to them."""
    program = ["sh", "-c", "trap 'echo got it; exit 7' USR1; echo up; "
               "while :; do sleep 1000 & wait $!; kill $!; done"]
    launcher_gets(bench, signal.SIGUSR1, program, group=False).expect(
        7, out=["got it"])


def killed(bench, program):
    """If the launcher is killed by SIGKILL, its agents detect this and remove
    everything.
    """
    result = launcher_gets(bench, signal.SIGKILL, program, group=False)
    result.expect(-signal.SIGKILL)


def killed_on_overlay(bench, context):
    job = bench.start("run", "--context", context, "-n", 4, *SLEEP)
    job.wait_for("up\n", 4)
    job.signal(signal.SIGKILL)
    job.finish(30).expect(-signal.SIGKILL)


def run(bench):
    bench.case("ends: Ctrl-C", lambda: interrupt(bench))
    bench.case("ends: Ctrl-C twice", lambda: twice(bench))
    bench.case("ends: Ctrl-C and a process that ignores it",
               lambda: grace(bench))
    bench.case("ends: SIGUSR1 is passed on", lambda: forwarded(bench))
    for name, program in (("sleep", SLEEP), ("grandchildren", FAMILY),
                          ("Open MPI", [bench.mpi("spin"), 4])):
        bench.case(f"ends: kill -9 of the launcher, {name}",
                   lambda: killed(bench, program), settle=10)
    with bench.overlay("ends", "--emulate", "2") as up:
        if up:
            bench.case("ends: kill -9 of the launcher, on an overlay",
                       lambda: killed_on_overlay(bench, "ends"), settle=10)
