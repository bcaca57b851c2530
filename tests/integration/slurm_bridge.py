"""Slurm as the scheduler of an overlay: examples/host_module/slurm_scheduler.py.
The functions take the fixture of cases_slurm.py."""
import contextlib
import os
import re
import signal
import subprocess

from harness import ROOT, check, until

PROGRAM = os.path.join(ROOT, "examples/host_module/slurm_scheduler.py")
CONTEXT = "by-slurm"
NODES = 2
RANKS = 4
RUN = ("run", "--context", CONTEXT)


class Bridge:
    """The scheduler, which can be killed and started again."""

    def __init__(self, place):
        self.place = place
        self.address = f"unix:{place.cluster.directory}/bridge.sock"
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [PROGRAM, "--listen", self.address], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, **self.place.cluster.env})
        check(self.process.stdout.readline() == "ready\n", "it does not start")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def overlay(place):
    """An overlay over the nodes of the cluster, outside any allocation."""
    bridge = Bridge(place)
    bridge.start()
    try:
        place.bench.run("up", "--context", CONTEXT, *place.cluster.space.options,
                        "--host-module", bridge.address).expect()
        yield bridge
        until(lambda: not numbers(place), "the end of Slurm's jobs")
    finally:
        place.bench.run("down", "--context", CONTEXT, "--force")
        bridge.kill()


def numbers(place, *states):
    """Returns the numbers of Slurm's jobs that are not over, or of its jobs in
    one of these states."""
    return place.cluster.ask("squeue", "--noheader", "--format=%A",
                             *(f"--states={state}" for state in states)).split()


def held(place):
    """Starts a job on all CPUs and returns it with the number of its Slurm job.
    """
    job = place.bench.start(*RUN, "-n", RANKS, "sh", "-c",
                            "echo is up; exec sleep 1000")
    job.wait_for("is up", RANKS)
    running = numbers(place, "running")
    check(len(running) == 1, f"Slurm's jobs: {running}")
    return job, running[0]


def jobs(place):
    """Slurm decides where and when jobs run, and gets the queue, hints and hosts
    that the user requests."""
    bench = place.bench
    with overlay(place):
        bench.run(*RUN, "-n", RANKS, place.hello, RANKS).expect(
            out=[f"hello ok size {RANKS}"])
        bench.run(*RUN, "-n", 1, "--queue", "nowhere", "true").expect(
            code=1, err=["nowhere"])
        bench.run(*RUN, "-n", 1, "--hint", "colour=red", "true").expect(
            code=1, err=["unknown hint 'colour'"])
        bench.run(*RUN, "-n", 2, "--host", "n2", "printenv",
                  "PMIX_HOSTNAME").expect_lines(["n2", "n2"])
        bench.run(*RUN, "--nodes", 2, "printenv", "PMIX_HOSTNAME").expect(
            out=["n1\n", "n2\n"])
        bench.run(*RUN, "-n", 1, "--host", "+n1", "printenv",
                  "PMIX_HOSTNAME").expect_lines(["n2"])
        job, number = held(place)
        shown = place.cluster.ask("scontrol", "show", "job", number)
        check(re.search(r"NodeList=n\[1-2\]", shown), shown)
        later = bench.start(*RUN, "-n", 2, "--name", "later", place.hello, 2)
        until(lambda: any("Slurm job" in (job["reason"] or "") for job in
                          bench.json("ps", "--context", CONTEXT)["jobs"]),
              "the reason why a job waits")
        place.cluster.ask("scancel", number)
        job.finish(30).expect(code=143, err=["Slurm has ended its job", "CANCELLED"])
        later.finish(30).expect(out=["hello ok size 2"])


def restarts(place):
    """A job runs on while the bridge is killed, and ends with its Slurm job."""
    with overlay(place) as bridge:
        job, number = held(place)
        waiting = place.bench.start(*RUN, "-n", 1, "echo", "was placed")
        until(lambda: len(numbers(place)) == 2, "the second job")
        before = sorted(numbers(place))
        bridge.kill()
        bridge.start()
        until(lambda: place.bench.json("status", "--context", CONTEXT)
              ["scheduler"]["answers"], "the connection of the bridge")
        check(sorted(numbers(place)) == before, "the jobs have changed")
        check(number in numbers(place, "running"), "the job has lost its nodes")
        job.signal(signal.SIGTERM)
        job.finish(30)
        waiting.finish(30).expect(out=["was placed"])


def allocation(place):
    """A process requests an allocation, spawns a job in it, and releases it."""
    with overlay(place):
        place.bench.run(
            *RUN, "-n", 1, place.bench.pmix("allocate_spawn"), 1,
            timeout=60).expect(out=["allocate_spawn ok"])


CASES = {"slurm: as the scheduler of an overlay": jobs,
         "slurm: as the scheduler, which is killed": restarts,
         "slurm: as the scheduler, an allocation of a process": allocation}
