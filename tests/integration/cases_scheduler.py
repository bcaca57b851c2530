"""The scheduler of examples/host_module decides where and when jobs run.
"""
import contextlib
import itertools
import os
import re
import signal
import subprocess
import threading
import time

import harness
from cases_faults import shims_of
from cases_restart import Overlay
from harness import Failure, check, until

SCHEDULER = os.path.join(harness.ROOT, "examples/host_module/scheduler.py")
BROKEN = os.path.join(harness.PROGRAMS, "broken_scheduler.py")
NAME = "scheduled"
# The effect of a broken scheduler on its jobs: exit code and words.
FAULTS = {
    "elsewhere": (1, "none that takes jobs"),
    "without-nodes": (1, "malformed"),
    "same-node-twice": (1, "malformed"),
    "without-slots": (1, "malformed"),
    "too-few": (1, "slots"),
    "granted-twice": (0, ""),
    "a-million-slots": (1, "1 to 4096 are possible"),
    "a-long-environment": (1, "4096 are possible"),
    "refused-without-a-status": (1, "refused"),
    "fails": (0, "it is broken"),
    "is-busy": (0, "it is broken"),
    "has-no-time": (0, ""),
    "unknown-kind": (0, ""),
}
NODES = 4
# The number of jobs, or more while agents are killed, and of concurrent
# callers.
MANY = os.environ.get("CANOPY_TEST_MANY", "200x20")
# The slots of the emulated nodes.
SLOTS = NODES * os.cpu_count()


class Scheduler:
    """The example, or another scheduler, on a socket of its own."""

    def __init__(self, directory, program=SCHEDULER):
        self.program = program
        self.directory = directory
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
            text=True, env={**os.environ, **env}, cwd=self.directory)
        check(self.process.stdout.readline() == "ready\n", "it does not start")
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def _read(self, process):
        for line in process.stdout:
            self.lines.append(line)

    def tell(self, *words):
        """Sends a command of the scheduler's operator, and returns the line that
        answers it."""
        before = len(self.lines)
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        until(lambda: len(self.lines) > before, f"the answer to {words}")
        return self.lines[before]

    def kill(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        self.process = None

    def accounted(self):
        """Returns a line for each job that is over."""
        with contextlib.suppress(FileNotFoundError):
            with open(self.records, encoding="utf-8") as file:
                return file.read().splitlines()
        return []


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
        until(there, "jobs")
    except Failure:
        raise Failure(f"not {running} jobs running and {waiting} queued, but "
                      f"{jobs(bench)}")


def start(bench, ranks, program, *words):
    return bench.start("run", "--context", NAME, "-n", ranks, program, *words)


def hello(bench, ranks):
    return start(bench, ranks, bench.mpi("hello"), ranks)


class Held:
    """An MPI job on these slots that ends when it is released."""

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
    """A job runs where the scheduler decides, with the environment that the
    scheduler adds."""
    hello(bench, SLOTS).finish().expect(
        out=[f"hello from rank {SLOTS - 1} of {SLOTS}"])
    result = start(bench, 1, "/usr/bin/env").finish().expect()
    check(re.search(r"^SCHEDULER_JOB_ID=\d+$", result.out, re.MULTILINE),
          f"no variable of the scheduler: {result.out}")


def queue(bench, scheduler):
    """If no slot is free, jobs wait, report the reason, and run in order."""
    before = len(scheduler.accounted())
    first = Held(bench, SLOTS, "first").wait()
    others = []
    for waiting in (1, 2):
        others.append(Held(bench, SLOTS, f"other{waiting}"))
        wait_jobs(bench, 1, waiting)  # otherwise the order of the requests is
                                      # open
    shown = bench.run("ps", "--context", NAME).expect(
        out=["queued:", f"{SLOTS} slots wanted, 0 free", "place 1", "place 2"])
    check(shown.out.count("queued:") == 2, shown.out)
    bench.run("why", "--context", NAME).expect(
        out=["has been queued for ", f"{SLOTS} slots wanted, 0 free"])
    others[0].job.wait_for("is queued:", stream="err")
    first.end()
    wait_jobs(bench, 1, 1)
    others[0].wait().end()
    others[1].wait().end()
    until(lambda: len(scheduler.accounted()) == before + 3, "the records of all")
    check(all("exit=0" in line for line in scheduler.accounted()[before:]),
          scheduler.accounted())


def backfill(bench):
    """A short job overtakes a job that has to wait for more slots."""
    half = Held(bench, SLOTS // 2, "half").wait()
    large = Held(bench, SLOTS, "large")
    wait_jobs(bench, 1, 1)
    bench.run("run", "--context", NAME, "--timeout", 20, "-n", 1,
              bench.mpi("hello"), 1).expect(out=["hello from rank 0 of 1"])
    half.end()
    large.wait().end()


def cancelled(bench):
    """^C, kill and the death of a launcher remove a job from the queue."""
    held = Held(bench, SLOTS, "held").wait()
    for end in ("^C", "kill", "kill -9 of the launcher"):
        job = hello(bench, 1)
        wait_jobs(bench, 1, 1)
        if end == "^C":
            job.signal(signal.SIGINT)
            job.finish().expect(code=128 + signal.SIGINT)
        elif end == "kill":
            bench.run("kill", "--context", NAME, queued(bench)[0]["job"]).expect()
            job.finish().expect(code=128 + signal.SIGTERM, err=["killed while"])
        else:
            job.end(signal.SIGKILL)
        wait_jobs(bench, 1, 0)
    held.end()
    runs(bench)


def refused(bench):
    """The scheduler refuses a job that can never run."""
    hello(bench, SLOTS + 1).finish().expect(
        code=1, err=[f"{SLOTS + 1} slots are wanted, and there are {SLOTS}"])
    bench.run("run", "--context", NAME, "--host", "nowhere", "-n", 1, "true").expect(
        code=1, err=["no node is called 'nowhere'"])


def away(bench, scheduler):
    """The scheduler is killed while one job runs and two are queued, and is
    restarted."""
    held = Held(bench, SLOTS, "held").wait()
    waiting = [hello(bench, SLOTS) for _ in range(2)]
    wait_jobs(bench, 1, 2)
    scheduler.kill()
    late = hello(bench, 1)
    until(lambda: len(queued(bench)) == 3 and
          all("does not answer" in job["reason"] for job in queued(bench)),
          "the reason that the scheduler is away")
    held.end()
    time.sleep(0.3)
    check(len(queued(bench)) == 3, "a job runs without the scheduler")
    scheduler.start()
    for job in (*waiting, late):
        job.finish().expect(out=["hello from rank 0"])
    wait_jobs(bench, 0, 0)


def adopted(bench, scheduler):
    """A restarted scheduler knows the running jobs."""
    held = Held(bench, SLOTS, "held").wait()
    scheduler.kill()
    scheduler.start()
    job = hello(bench, 1)
    wait_jobs(bench, 1, 1)
    held.end()
    job.finish().expect(out=["hello from rank 0 of 1"])


def root_restarted(bench, overlay):
    """The root's agent is killed while one job runs and two are queued."""
    held = Held(bench, SLOTS, "held").wait()
    waiting = [hello(bench, SLOTS) for _ in range(2)]
    wait_jobs(bench, 1, 2)
    names = {job["job"] for job in queued(bench)}
    overlay.kill("node1")
    overlay.restart("node1")
    wait_jobs(bench, 1, 2)
    check({job["job"] for job in queued(bench)} == names,
          "the jobs are queued under other names")
    held.end()
    for job in waiting:
        job.finish().expect(out=[f"hello from rank 0 of {SLOTS}"])
    runs(bench)


def replaced(bench):
    """Every agent is replaced while one job runs and one is queued."""
    held = Held(bench, SLOTS, "held").wait()
    waiting = hello(bench, SLOTS)
    wait_jobs(bench, 1, 1)
    names = {job["job"] for job in queued(bench)}
    replaced_agents(bench)
    wait_jobs(bench, 1, 1)
    check({job["job"] for job in queued(bench)} == names, "another name")
    held.end()
    waiting.finish().expect(out=[f"hello from rank 0 of {SLOTS}"])


def commanded(bench, scheduler):
    """The scheduler's operator suspends, resumes and kills a job."""
    before = len(scheduler.accounted())
    job = start(bench, 2, bench.mpi("spin"), 2)
    job.wait_for("up", 2)
    check(" -46 " in scheduler.tell("kill", "nothing"), scheduler.lines[-1])
    number = re.search(r"job (\d+)", scheduler.tell("jobs"))[1]
    for verb, phase in (("suspend", "suspended"), ("resume", "running"), ("kill", "")):
        check(": 0 " in scheduler.tell(verb, number), scheduler.lines[-1])
        check(not phase or jobs(bench)[0]["phase"] == phase, jobs(bench))
    job.finish().expect(code=128 + signal.SIGTERM, err=["its operator says so"])
    until(lambda: len(scheduler.accounted()) == before + 1, "the record")


def record_of_next(bench, scheduler, job):
    """Waits for the end of JOB. Returns its result and the scheduler's record of it."""
    before = len(scheduler.accounted())
    result = job.finish()
    until(lambda: len(scheduler.accounted()) == before + 1, "the record")
    return result, dict(re.findall(r"(\w+)=(\S+)", scheduler.accounted()[-1]))


def used(bench, scheduler):
    """The record of a job has its CPU time and memory, and marks unknown values."""
    work = ("dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=20")
    result, record = record_of_next(bench, scheduler, start(bench, 2, *work))
    result.expect()
    check(int(record["cpu_ms"]) > 0, record)
    check(2 ** 26 <= int(record["peak_bytes"]) < 2 ** 28, record)
    job = start(bench, SLOTS, "sh", "-c", "echo up; exec sleep 1000")
    job.wait_for("up", SLOTS)
    pids = {node["node"]: int(node["pid"])
            for node in bench.json("status", "--context", NAME)["nodes"]}
    for shim in shims_of(bench, pids["node3"]):
        os.kill(shim, signal.SIGKILL)
    result, record = record_of_next(bench, scheduler, job)
    check(result.code != 0, "it has ended well")
    check(record["cpu_ms"].endswith("+") and record["peak_bytes"].endswith("+"),
          record)


def accounted_once(bench, scheduler, end_of_root):
    """A job ends while its scheduler does not read, and then the root ends."""
    before = len(scheduler.accounted())
    for away in ("killed", "stopped"):
        held = Held(bench, 2, away).wait()
        if away == "killed":
            scheduler.kill()
        else:
            scheduler.process.send_signal(signal.SIGSTOP)
        held.end()
        end_of_root()
        if away == "killed":
            scheduler.start()
        else:
            scheduler.process.send_signal(signal.SIGCONT)
        before += 1
        until(lambda: len(scheduler.accounted()) >= before, "the record")
    hello(bench, SLOTS).finish().expect()
    until(lambda: len(scheduler.accounted()) >= before + 1, "the record")
    lines = scheduler.accounted()
    check(len(lines) == before + 1, f"one too many: {lines[-4:]}")
    check(all("exit=0" in line and "cpu_ms=-" not in line
              for line in lines[-3:]), lines[-3:])


def replaced_agents(bench):
    bench.run("up", "--context", NAME, "--replace").expect()


def killed_root(bench):
    overlay = Overlay(bench, NAME)
    overlay.kill("node1")
    overlay.restart("node1")


def launched(bench, scheduler):
    """The scheduler starts a job of its own, without a launcher."""
    before = len(scheduler.accounted())
    file = os.path.join(bench.work, "launched")
    check(": 0 " in scheduler.tell(
        "launch", "account=physics", "/usr/bin/touch", file), scheduler.lines[-1])
    until(lambda: len(scheduler.accounted()) == before + 1, "the record")
    check(os.path.exists(file), "it has not run")
    check("exit=0" in scheduler.accounted()[-1], scheduler.accounted())
    check("account=physics" in scheduler.accounted()[-1], scheduler.accounted())
    check(": 0 " not in scheduler.tell("kill", "nothing"), scheduler.lines[-1])
    hello(bench, SLOTS).finish().expect()  # its slot is free again


def once(bench, scheduler):
    """If the scheduler repeats a launch after a restart of the root, the job does
    not run again.
    """
    before = len(scheduler.accounted())
    marks = os.path.join(bench.work, "marks")
    script = os.path.join(bench.work, "mark.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"echo ran >> {marks}\n")
    launched = scheduler.tell("launch", "/bin/sh", script)
    check(": 0 " in launched, launched)
    until(lambda: len(scheduler.accounted()) == before + 1, "the record")
    killed_root(bench)

    def answered():
        """Repeats the launch, and returns the lines that answer it. A repetition is
        lost until the root's successor is attached."""
        told = len(scheduler.lines)
        scheduler.process.stdin.write("again\n")
        scheduler.process.stdin.flush()
        time.sleep(0.5)
        return scheduler.lines[told:]

    until(answered, "the answer of the successor")
    check(scheduler.lines[-1] == launched, f"{scheduler.lines[-1]} after {launched}")
    hello(bench, SLOTS).finish().expect()
    until(lambda: len(scheduler.accounted()) == before + 2, "the record")
    with open(marks, encoding="utf-8") as file:
        check(file.read() == "ran\n", "it has run twice")


def batch(bench, scheduler):
    """A job runs while its agents are killed and replaced; its output is a
    file."""
    before = len(scheduler.accounted())
    gate = os.path.join(bench.work, "gate")
    with contextlib.suppress(FileNotFoundError):
        os.remove(gate)
    script = os.path.join(bench.work, "batch.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"i=0\nwhile [ ! -e {gate} ]; do\n"
                   "echo line $i; i=$((i + 1)); sleep 0.01\ndone\n"
                   "echo no more >&2\nexit 3\n")
    check(": 0 " in scheduler.tell("launch", "/bin/sh", script), scheduler.lines[-1])
    check(jobs(bench)[0]["name"].startswith("batch-"), jobs(bench))
    number = re.search(r"job (\d+)", scheduler.tell("jobs"))[1]
    output = os.path.join(scheduler.directory, f"job-{number}.out")

    def lines():
        with contextlib.suppress(FileNotFoundError):
            with open(output, encoding="utf-8") as file:
                return file.read().splitlines()
        return []

    for restart in (lambda: replaced_agents(bench), lambda: killed_root(bench),
                    lambda: killed_root(bench), lambda: None):
        more = len(lines()) + 20
        until(lambda: len(lines()) > more, "more lines")
        restart()
    with open(gate, "w", encoding="utf-8"):
        pass
    until(lambda: len(scheduler.accounted()) == before + 1, "the record")
    check("exit=3" in scheduler.accounted()[-1], scheduler.accounted()[-1])
    until(lambda: lines()[-1].startswith("canopy: "), "the last line")
    text = [line for line in lines()[:-1] if line != "no more"]
    check(text == [f"line {i}" for i in range(len(text))] and
          len(lines()) == len(text) + 2, "lines are lost, or are there twice")


def drained(bench, scheduler):
    """A drained node takes no jobs until it is resumed."""
    check(": 0 " in scheduler.tell("drain", "node2"), scheduler.lines[-1])
    bench.run("status", "--context", NAME).expect(out=["drained: node2 (drained)"])
    before = len(scheduler.accounted())
    hello(bench, SLOTS - os.cpu_count()).finish().expect()
    until(lambda: len(scheduler.accounted()) == before + 1, "the record")
    check("node2" not in scheduler.accounted()[-1], scheduler.accounted()[-1])
    job = hello(bench, SLOTS)
    wait_jobs(bench, 0, 1)
    check(": 0 " in scheduler.tell("undrain", "node2"), scheduler.lines[-1])
    job.finish().expect()
    check(": -46 " in scheduler.tell("drain", "elsewhere"), scheduler.lines[-1])


def spawned(bench):
    """MPI_Comm_spawn waits for its placement like any other job."""
    held = Held(bench, SLOTS - 3, "held").wait()
    parent = start(bench, 2, bench.mpi("dynamic"), "spawn", 3)
    wait_jobs(bench, 2, 1)
    child = queued(bench)[0]
    check(child["parent"] in child["job"] and "wanted" in child["reason"], child)
    held.end()
    parent.finish().expect(out=["dynamic ok, spawn"])
    # A waiting job can be killed by its name.
    held = Held(bench, SLOTS - 2, "held").wait()
    parent = start(bench, 2, bench.mpi("dynamic"), "spawn", 3)
    wait_jobs(bench, 2, 1)
    bench.run("kill", "--context", NAME, queued(bench)[0]["job"]).expect()
    check(parent.finish().code != 0, "a spawn that was killed has not failed")
    held.end()


def allocations(bench):
    """The scheduler decides PMIx_Allocation_request."""
    program = bench.pmix("allocate")
    start(bench, 1, program, NODES + 1).finish().expect(
        out=["allocate: -29, 0 results"])
    start(bench, 1, program, 1).finish().expect(
        out=["allocate: -47, 0 results"])


def conforms(bench, scheduler):
    """The scheduler passes its check, without jobs and while jobs run and wait."""
    def passes():
        bench.run("host-module", "check", scheduler.address).expect(
            out=["allocate              OK"], absent=["FAILED"])

    passes()
    held = Held(bench, SLOTS, "held").wait()
    waiting = hello(bench, 1)
    wait_jobs(bench, 1, 1)
    passes()
    held.end()
    waiting.finish().expect()


def caller(bench, numbers, goes_on, starts, results):
    """Runs one job after the other, of two ranks each of which makes a file."""
    for number in itertools.takewhile(goes_on, numbers):
        results[number] = start(
            bench, 2, "sh", "-c", 'echo "$0.$PMIX_RANK" >> "$1"; echo "ran $0"',
            number, starts).finish(600)


def breakdowns(bench, scheduler):
    """The scheduler and each agent are killed and restarted, in turn."""
    overlay = Overlay(bench, NAME)
    for node in ("node1", "node2", "node3", "node4", "node1"):
        time.sleep(0.5)
        scheduler.kill()
        scheduler.start()
        time.sleep(0.5)
        overlay.kill(node)
        overlay.restart(node)


def ran_of(scheduler, before):
    """Returns the requests whose jobs have run, by their records. A grant on a node
    whose agent is away is not used, and its record has no nodes."""
    lines = scheduler.accounted()[before:]
    check(all("exit=0 status=0" in line or " nodes= " in line for line in lines),
          f"unexpected records: {lines}")
    return [line.split()[1] for line in lines if " nodes= " not in line]


def many(bench, scheduler):
    """Many callers run many jobs while agents and scheduler are restarted. No job
    is lost or starts twice."""
    jobs_wanted, callers = map(int, MANY.split("x"))
    before = len(scheduler.accounted())
    starts = os.path.join(bench.work, "starts")
    results, all_broken = {}, threading.Event()
    threads = [threading.Thread(target=caller, args=(
        bench, itertools.count(first, callers),
        lambda number: number < jobs_wanted or not all_broken.is_set(), starts,
        results)) for first in range(callers)]
    for thread in threads:
        thread.start()
    try:
        breakdowns(bench, scheduler)
    finally:
        all_broken.set()
        for thread in threads:
            thread.join()
    check(set(range(jobs_wanted)) <= set(results), f"{len(results)} jobs")
    for number, result in results.items():
        result.expect_lines([f"ran {number}"] * 2)
    with open(starts, encoding="utf-8") as file:
        marks = file.read().split()
    check(sorted(marks) == sorted(f"{number}.{rank}" for number in results
                                  for rank in range(2)),
          "some ranks have started twice, or not at all")
    wait_jobs(bench, 0, 0)
    until(lambda: len(ran_of(scheduler, before)) >= len(results),
          "the records of all jobs")
    names = ran_of(scheduler, before)
    check(len(names) == len(set(names)) == len(results), "a job has two records")


def faults(bench):
    """Each fault gives a clear status and affects no other job."""
    held = Held(bench, 2, "held").wait()
    for how, (code, words) in FAULTS.items():
        result = start(bench, 2 if how == "too-few" else 1, "/bin/echo",
                       how).finish(20)
        result.expect(code=code, out=[] if code else [how], err=[words])
    wait_jobs(bench, 1, 0)
    held.end()
    hello(bench, SLOTS).finish().expect()


def dies(bench, scheduler):
    """If the scheduler is killed between the grant and the launch, the launch
    continues."""
    scheduler.kill()
    scheduler.start(DIES="1")
    start(bench, 1, "/bin/echo", "dies-at-the-launch").finish().expect(
        out=["dies-at-the-launch"])
    scheduler.kill()
    scheduler.start()
    hello(bench, SLOTS).finish().expect()


def ended(bench, scheduler):
    """The scheduler also gets the records of jobs that end with their overlay."""
    before = len(scheduler.accounted())
    name = ["--context", NAME + "-ended"]
    bench.run("up", *name, "--emulate", 2, "--host-module",
              scheduler.address).expect()
    job = bench.start("run", *name, "-n", 2, "sh", "-c", "echo up; exec sleep 1000")
    job.wait_for("up", 2)
    bench.run("down", *name, "--force").expect()
    check(job.finish().code != 0, "a job has outlived its overlay")
    check(len(scheduler.accounted()) == before + 1, "no record")


def broken(bench):
    names = ("scheduler: one that is broken", "scheduler: one that dies at a launch",
             "scheduler: jobs that end with their overlay")
    if not bench.wanted(*names):
        return
    with bench.taken() as mine:
        if not mine:
            return
        scheduler = Scheduler(bench.work, BROKEN)
        scheduler.start()
        try:
            with bench.overlay(NAME, "--emulate", NODES, "--host-module",
                               scheduler.address, ignore=("scheduler.py",)) as up:
                if up:
                    bench.case(names[0], lambda: faults(bench), leaves=True)
                    bench.case(names[1], lambda: dies(bench, scheduler),
                               leaves=True)
            bench.case(names[2], lambda: ended(bench, scheduler),
                       ignore=("scheduler.py",))
        finally:
            scheduler.kill()


def run(bench):
    broken(bench)
    names = [f"scheduler: {what}" for what in (
        "a job runs where it says", "jobs wait when all is taken",
        "a short job overtakes", "jobs leave the queue", "what can never run",
        "killed with jobs queued", "killed with a job running",
        "kill -9 of the root with jobs queued", "agents are replaced",
        "its operator's commands", "what jobs have used",
        "records over kill -9 of the root", "records over a replacement",
        "a job of its own", "a launch that is sent again",
        "a job of its own over restarts",
        "a drained node", "a spawn waits",
        "allocation requests", "it passes its check", "many jobs, and restarts")]
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
    with bench.overlay(NAME, "--emulate", NODES, "--restart-grace", 60,
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
                lambda: used(bench, scheduler),
                lambda: accounted_once(bench, scheduler,
                                       lambda: killed_root(bench)),
                lambda: accounted_once(bench, scheduler,
                                       lambda: replaced_agents(bench)),
                lambda: launched(bench, scheduler),
                lambda: once(bench, scheduler),
                lambda: batch(bench, scheduler),
                lambda: drained(bench, scheduler), lambda: spawned(bench),
                lambda: allocations(bench), lambda: conforms(bench, scheduler),
                lambda: many(bench, scheduler)), strict=True):
            bench.case(name, body, leaves=True)
