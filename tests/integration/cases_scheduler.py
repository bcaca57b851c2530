"""A scheduler says where and when jobs run: the one of examples/host_module."""
import contextlib
import os
import re
import signal
import subprocess
import threading
import time

import harness
from cases_restart import Overlay
from harness import Failure, check

SCHEDULER = os.path.join(harness.ROOT, "examples/host_module/scheduler.py")
BROKEN = os.path.join(harness.PROGRAMS, "broken_scheduler.py")
NAME = "scheduled"
# What jobs are given by a scheduler that is broken: exit code and words.
FAULTS = {
    "elsewhere": (1, "none that takes jobs"),
    "without-nodes": (1, "malformed"),
    "same-node-twice": (1, "malformed"),
    "without-slots": (1, "malformed"),
    "too-few": (1, "slots"),
    "granted-twice": (0, ""),
    "refused-without-a-status": (1, "refused"),
    "fails": (1, "it is broken"),
    "unknown-kind": (0, ""),
}
NODES = 4
# As many as the emulated nodes have.
SLOTS = NODES * os.cpu_count()


class Scheduler:
    """The example, or another, on a socket of its own."""

    def __init__(self, directory, program=SCHEDULER):
        self.program = program
        self.socket = os.path.join(directory, "scheduler.sock")
        self.records = os.path.join(directory, "records")
        self.process = None
        self.lines = []

    @property
    def address(self):
        return "unix:" + self.socket

    def start(self, **env):
        self.process = subprocess.Popen(
            [self.program, "--listen", self.address, "--accounting", self.records],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env={**os.environ, **env})
        check(self.process.stdout.readline() == "ready\n", "it does not start")
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def _read(self, process):
        for line in process.stdout:
            self.lines.append(line)

    def tell(self, *words):
        """A command of its operator; returns its result."""
        before = len(self.lines)
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        wait(lambda: len(self.lines) > before, f"no answer to {words}")
        return self.lines[before]

    def kill(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        self.process = None

    def accounted(self):
        """A line for each job that is over."""
        with contextlib.suppress(FileNotFoundError):
            with open(self.records, encoding="utf-8") as file:
                return file.read().splitlines()
        return []


def wait(true, text, seconds=30):
    deadline = time.monotonic() + seconds
    while not true():
        check(time.monotonic() < deadline, text)
        time.sleep(0.02)


def jobs(bench):
    return bench.json("ps", "--context", NAME).get("jobs", [])


def queued(bench):
    return [job for job in jobs(bench) if job["phase"] == "queued"]


def wait_jobs(bench, running, waiting):
    def there():
        phases = [job["phase"] for job in jobs(bench)]
        return (phases.count("queued") == waiting and
                phases.count("running") == running and
                len(phases) == running + waiting)
    try:
        wait(there, "")
    except Failure:
        raise Failure(f"not {running} jobs running and {waiting} queued, but "
                      f"{jobs(bench)}")


def start(bench, ranks, program, *words):
    return bench.start("run", "--context", NAME, "-n", ranks, program, *words)


def hello(bench, ranks):
    return start(bench, ranks, bench.mpi("hello"), ranks)


class Held:
    """A job of MPI on these slots that ends when it is let go."""

    def __init__(self, bench, ranks, name):
        self.ranks = ranks
        self.file = os.path.join(bench.work, name)
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.file)
        self.job = start(bench, ranks, bench.mpi("until"), ranks, self.file)

    def wait(self):
        self.job.wait_for("is ready", self.ranks)
        return self

    def end(self):
        with open(self.file, "w", encoding="utf-8"):
            pass
        self.job.finish().expect()


def runs(bench):
    """A job goes where the scheduler says, with what it adds."""
    hello(bench, SLOTS).finish().expect(
        out=[f"hello from rank {SLOTS - 1} of {SLOTS}"])
    result = start(bench, 1, "/usr/bin/env").finish().expect()
    check(re.search(r"^SCHEDULER_JOB_ID=\d+$", result.out, re.MULTILINE),
          f"no variable of the scheduler: {result.out}")


def queue(bench, scheduler):
    """When all is taken, jobs wait, say why, and run in their order."""
    before = len(scheduler.accounted())
    first = Held(bench, SLOTS, "first").wait()
    others = [Held(bench, SLOTS, f"other{i}") for i in range(2)]
    wait_jobs(bench, 1, 2)
    shown = bench.run("ps", "--context", NAME).expect(
        out=["queued:", f"{SLOTS} slots wanted, 0 free", "place 1", "place 2"])
    check(shown.out.count("queued:") == 2, shown.out)
    bench.run("why", "--context", NAME).expect(
        out=["its place has waited", "the scheduler: "])
    others[0].job.wait_for("is queued:", stream="err")
    first.end()
    wait_jobs(bench, 1, 1)
    others[0].wait().end()
    others[1].wait().end()
    wait(lambda: len(scheduler.accounted()) == before + 3, "no records of all")
    check(all("exit=0" in line for line in scheduler.accounted()[before:]),
          scheduler.accounted())


def backfill(bench):
    """A short job overtakes one that has to wait for more."""
    half = Held(bench, SLOTS // 2, "half").wait()
    large = Held(bench, SLOTS, "large")
    wait_jobs(bench, 1, 1)
    bench.run("run", "--context", NAME, "--timeout", 20, "-n", 1,
              bench.mpi("hello"), 1).expect(out=["hello from rank 0 of 1"])
    half.end()
    large.wait().end()


def cancelled(bench):
    """^C, kill and the death of a launcher take a job out of the queue."""
    held = Held(bench, SLOTS, "held").wait()
    for end in ("^C", "kill", "kill -9 of the launcher"):
        job = hello(bench, 1)
        wait_jobs(bench, 1, 1)
        if end == "^C":
            job.signal(signal.SIGINT)
            job.finish().expect(code=128 + signal.SIGINT)
        elif end == "kill":
            bench.run("kill", "--context", NAME, queued(bench)[0]["nspace"]).expect()
            job.finish().expect(code=128 + signal.SIGTERM, err=["killed while"])
        else:
            job.end(signal.SIGKILL)
        wait_jobs(bench, 1, 0)
    held.end()
    runs(bench)


def refused(bench):
    """What can never run is not kept."""
    hello(bench, SLOTS + 1).finish().expect(
        code=1, err=[f"{SLOTS + 1} slots are wanted, and there are {SLOTS}"])


def away(bench, scheduler):
    """The scheduler is killed with a job running and two queued, and restarted."""
    held = Held(bench, SLOTS, "held").wait()
    waiting = [hello(bench, SLOTS) for _ in range(2)]
    wait_jobs(bench, 1, 2)
    scheduler.kill()
    late = hello(bench, 1)
    wait(lambda: len(queued(bench)) == 3 and
         all("does not answer" in job["reason"] for job in queued(bench)),
         "it is not said that the scheduler is away")
    held.end()
    time.sleep(0.3)
    check(len(queued(bench)) == 3, "a job runs without the scheduler")
    scheduler.start()
    for job in (*waiting, late):
        job.finish().expect(out=["hello from rank 0"])
    wait_jobs(bench, 0, 0)


def adopted(bench, scheduler):
    """A scheduler that is restarted knows of the jobs that run."""
    held = Held(bench, SLOTS, "held").wait()
    scheduler.kill()
    scheduler.start()
    job = hello(bench, 1)
    wait_jobs(bench, 1, 1)
    held.end()
    job.finish().expect(out=["hello from rank 0 of 1"])


def root_restarted(bench, overlay):
    """The root's agent is killed with a job running and two queued."""
    held = Held(bench, SLOTS, "held").wait()
    waiting = [hello(bench, SLOTS) for _ in range(2)]
    wait_jobs(bench, 1, 2)
    names = {job["nspace"] for job in queued(bench)}
    overlay.kill("node1")
    overlay.restart("node1")
    wait_jobs(bench, 1, 2)
    check({job["nspace"] for job in queued(bench)} == names,
          "the jobs are queued under other names")
    held.end()
    for job in waiting:
        job.finish().expect(out=[f"hello from rank 0 of {SLOTS}"])
    runs(bench)


def replaced(bench):
    """Every agent makes way for a new one with a job running and one queued."""
    held = Held(bench, SLOTS, "held").wait()
    waiting = hello(bench, SLOTS)
    wait_jobs(bench, 1, 1)
    names = {job["nspace"] for job in queued(bench)}
    bench.run("up", "--context", NAME, "--replace").expect()
    wait_jobs(bench, 1, 1)
    check({job["nspace"] for job in queued(bench)} == names, "another name")
    held.end()
    waiting.finish().expect(out=[f"hello from rank 0 of {SLOTS}"])


def commanded(bench, scheduler):
    """The scheduler's operator suspends, resumes and kills a job."""
    before = len(scheduler.accounted())
    job = start(bench, 2, bench.mpi("spin"), 2)
    job.wait_for("up", 2)
    check(" -46 " in scheduler.tell("kill", "nothing"), scheduler.lines[-1])
    number = re.search(r"job (\d+)", scheduler.tell("jobs"))[1]
    for verb in ("suspend", "resume", "kill"):
        check(": 0 " in scheduler.tell(verb, number), scheduler.lines[-1])
    job.finish().expect(code=128 + signal.SIGTERM, err=["its operator says so"])
    wait(lambda: len(scheduler.accounted()) == before + 1, "no record")


def launched(bench, scheduler):
    """It starts a job of its own, which is no user's launcher's."""
    before = len(scheduler.accounted())
    file = os.path.join(bench.work, "launched")
    check(": 0 " in scheduler.tell("launch", "/usr/bin/touch", file),
          scheduler.lines[-1])
    wait(lambda: len(scheduler.accounted()) == before + 1, "no record")
    check(os.path.exists(file), "it has not run")
    check("exit=0" in scheduler.accounted()[-1], scheduler.accounted())
    check(": 0 " not in scheduler.tell("kill", "nothing"), scheduler.lines[-1])
    hello(bench, SLOTS).finish().expect()  # its slot is free again


def drained(bench, scheduler):
    """A node that is drained takes no jobs until it is resumed."""
    check(": 0 " in scheduler.tell("drain", "node2"), scheduler.lines[-1])
    bench.run("status", "--context", NAME).expect(out=["drained: node2 (drained)"])
    before = len(scheduler.accounted())
    hello(bench, SLOTS - os.cpu_count()).finish().expect()
    wait(lambda: len(scheduler.accounted()) == before + 1, "no record")
    check("node2" not in scheduler.accounted()[-1], scheduler.accounted()[-1])
    job = hello(bench, SLOTS)
    wait_jobs(bench, 0, 1)
    check(": 0 " in scheduler.tell("undrain", "node2"), scheduler.lines[-1])
    job.finish().expect()
    check(": -46 " in scheduler.tell("drain", "elsewhere"), scheduler.lines[-1])


def spawned(bench):
    """MPI_Comm_spawn waits for its place like any other job."""
    held = Held(bench, SLOTS - 3, "held").wait()
    parent = start(bench, 2, bench.mpi("dynamic"), "spawn", 3)
    wait_jobs(bench, 2, 1)
    child = queued(bench)[0]
    check(child["parent"] in child["nspace"] and "wanted" in child["reason"], child)
    held.end()
    parent.finish().expect(out=["dynamic ok, spawn"])
    # The name of one that waits is good for a kill.
    held = Held(bench, SLOTS - 2, "held").wait()
    parent = start(bench, 2, bench.mpi("dynamic"), "spawn", 3)
    wait_jobs(bench, 2, 1)
    bench.run("kill", "--context", NAME, queued(bench)[0]["nspace"]).expect()
    check(parent.finish().code != 0, "a spawn that was killed has not failed")
    held.end()


def allocations(bench):
    """PMIx_Allocation_request is the scheduler's to decide."""
    program = bench.pmix("allocate")
    start(bench, 1, program, NODES + 1).finish().expect(
        out=["allocate: -29, 1 results", "pmix.alloc.id=none"])
    start(bench, 1, program, 1).finish().expect(
        out=["allocate: -47, 0 results"])


def many(bench, scheduler):
    """None of many jobs from many callers is lost or runs twice, while the
    scheduler and the root's agent are killed."""
    before = len(scheduler.accounted())
    program = bench.mpi("hello")
    results = []

    def caller():
        for _ in range(5):
            results.append(bench.start("run", "--context", NAME, "-n", 2, program,
                                       2).finish(120))

    callers = [threading.Thread(target=caller) for _ in range(8)]
    for thread in callers:
        thread.start()
    time.sleep(1)
    scheduler.kill()
    scheduler.start()
    time.sleep(1)
    overlay = Overlay(bench, NAME)
    overlay.kill("node1")
    overlay.restart("node1")
    for thread in callers:
        thread.join()
    for result in results:
        result.expect(out=["hello from rank 0 of 2", "hello from rank 1 of 2"])
        check(result.out.count("hello from") == 2, result.out)
    check(len(results) == 40, f"{len(results)} jobs")
    wait_jobs(bench, 0, 0)
    names = [line.split()[1] for line in scheduler.accounted()[before:]]
    check(len(set(names)) == len(names), "a job has two records")


def faults(bench):
    """Each is a clear status, and no other job's business."""
    held = Held(bench, 2, "held").wait()
    for how, (code, words) in FAULTS.items():
        result = start(bench, 2 if how == "too-few" else 1, "/bin/echo",
                       how).finish(20)
        result.expect(code=code, out=[] if code else [how], err=[words])
    wait_jobs(bench, 1, 0)
    held.end()
    hello(bench, SLOTS).finish().expect()


def dies(bench, scheduler):
    """It goes away between the grant and the launch, which goes on."""
    scheduler.kill()
    scheduler.start(DIES="1")
    start(bench, 1, "/bin/echo", "dies-at-the-launch").finish().expect(
        out=["dies-at-the-launch"])
    scheduler.kill()
    scheduler.start()
    hello(bench, SLOTS).finish().expect()


def broken(bench):
    names = ("scheduler: one that is broken", "scheduler: one that dies at a launch")
    if not bench.wanted(*names):
        return
    with bench.taken() as mine:
        if not mine:
            return
        scheduler = Scheduler(bench.work, BROKEN)
        scheduler.start()
        try:
            with bench.overlay(NAME, "--nodes", NODES, "--host-module",
                               scheduler.address, ignore=("scheduler.py",)) as up:
                if up:
                    bench.case(names[0], lambda: faults(bench), leaves=True)
                    bench.case(names[1], lambda: dies(bench, scheduler),
                               leaves=True)
        finally:
            scheduler.kill()


def run(bench):
    broken(bench)
    names = [f"scheduler: {what}" for what in (
        "a job runs where it says", "jobs wait when all is taken",
        "a short job overtakes", "jobs leave the queue", "what can never run",
        "killed with jobs queued", "killed with a job running",
        "kill -9 of the root with jobs queued", "agents are replaced",
        "its operator's commands", "a job of its own",
        "a drained node", "a spawn waits",
        "allocation requests", "many jobs, and restarts")]
    if not bench.wanted(*names):
        return
    with bench.taken() as mine:
        if not mine:
            return
        scheduler = Scheduler(bench.work)
        scheduler.start()
        try:
            all_cases(bench, scheduler, names)
        finally:
            scheduler.kill()


def all_cases(bench, scheduler, names):
    with bench.overlay(NAME, "--nodes", NODES, "--restart-grace", 60,
                       "--host-module", scheduler.address,
                       ignore=("scheduler.py",)) as up:
        if not up:
            return
        for name, body in zip(names, (
                lambda: runs(bench), lambda: queue(bench, scheduler),
                lambda: backfill(bench), lambda: cancelled(bench),
                lambda: refused(bench), lambda: away(bench, scheduler),
                lambda: adopted(bench, scheduler),
                lambda: root_restarted(bench, Overlay(bench, NAME)),
                lambda: replaced(bench), lambda: commanded(bench, scheduler),
                lambda: launched(bench, scheduler),
                lambda: drained(bench, scheduler), lambda: spawned(bench),
                lambda: allocations(bench), lambda: many(bench, scheduler))):
            bench.case(name, body, leaves=True)
