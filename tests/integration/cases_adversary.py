"""Clients that speak a protocol of the agent correctly up to a point and then
attack it, each seed in another way, beside a job that fences all the time on
the same agents. No agent may be lost, no fence may be slow or have a wrong
result, and the agents must need no more memory and descriptors afterwards.

Nine seeds, unless CANOPY_ADVERSARY_SECONDS=S makes it last S seconds;
CANOPY_ADVERSARY_SEED=N is the first seed. CANOPY_ADVERSARY_STEP=9, the number of
kinds of clients, makes all attacks of the kind of the first seed. The seeds of a run
are printed."""
import contextlib
import os
import subprocess
import time

import cases_openpmix
import cases_pmi
from cases_netns import context_of
from cases_reflection import files_of
from cases_tls import Authority
from fence_watch import FenceWatch, Machine
from harness import PROGRAMS, PYTHON, Failure, check, until

CONTEXT = "adversary"
NODES = 2
# The attacks of a short run: one of each kind.
SHORT = 9
SECONDS = float(os.environ.get("CANOPY_ADVERSARY_SECONDS", "0"))
FIRST = int(os.environ.get("CANOPY_ADVERSARY_SEED", "14"))
STEP = int(os.environ.get("CANOPY_ADVERSARY_STEP", "1"))
# The maximum duration of a job that an attack has stopped.
JOB_SECONDS = 4
# The memory that an agent may gain: a factor of its earlier memory, and the
# free memory that its allocator keeps.
GROWTH, KEPT = 1.1, 24 << 20
MORE_DESCRIPTORS = 8
SHIM_FD = 3  # kShimAgentFd of server/shim/protocol.h
NET = os.path.join(PROGRAMS, "adversary_net.py")


def library(bench):
    return bench.compile("gcc", "adversary", "-shared", "-fPIC", "-ldl")


def seed_file(bench):
    return os.path.join(bench.work, "adversary.seed")


@contextlib.contextmanager
def hostile_shims(bench):
    """Within the block, started agents have shims that attack them while there is a
    seed. Yields a function that ends the block for other programs."""
    path = os.path.join(bench.work, "hostile-shim")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
        for name, value in (("LD_PRELOAD", library(bench)),
                            ("ADVERSARY_TARGET", f"fd:{SHIM_FD}"),
                            ("ADVERSARY_SEED_FILE", seed_file(bench)),
                            ("ADVERSARY_LOG", log_file(bench))):
            file.write(f"export {name}={value}\n")
        file.write(f'exec {bench.prefix}/bin/canopy-shim "$@"\n')
    os.chmod(path, 0o755)
    bench.env["CANOPY_SHIM"] = path

    def restore():
        bench.env.pop("CANOPY_SHIM", None)
    try:
        yield restore
    finally:
        restore()


def log_file(bench):
    return os.path.join(bench.work, "adversary.log")


class Agents:
    """The memory and the descriptors of the agents."""

    def __init__(self, bench):
        self.pids = [int(node["pid"]) for node in bench.json(
            "status", "--context", CONTEXT)["nodes"]]
        self.memory, self.descriptors = self.now()

    def now(self):
        memory, descriptors = [], []
        for pid in self.pids:
            with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
                memory.append(int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE"))
            descriptors.append(len(os.listdir(f"/proc/{pid}/fd")))
        return memory, descriptors

    def back(self):
        memory, descriptors = self.now()
        return all(now <= before * GROWTH + KEPT for before, now in
                   zip(self.memory, memory)) and all(
            now <= before + MORE_DESCRIPTORS for before, now in
            zip(self.descriptors, descriptors))

    def check(self):
        until(self.back, "memory and descriptors to be as before", 60)
        print("   memory " + ", ".join(
            f"{a >> 20} -> {b >> 20} MiB" for a, b in zip(self.memory, self.now()[0])),
            flush=True)


class Attacks:
    """Runs one attack for each seed."""

    def __init__(self, bench, files):
        self.bench, self.files = bench, files
        self.library, self.log = library(bench), log_file(bench)
        self.times = {}  # the beginning of each attack, by its seed
        with open(self.log, "w", encoding="utf-8"):
            pass
        member = context_of(CONTEXT)["members"][0]
        self.ports = (member["address"], member["control_address"])
        openpmix = cases_openpmix.build(bench, "modex")
        self.kinds = (
            lambda seed: self.ranks(seed, "unix:clients.sock", [],
                                    bench.pmix("fences"), 4, 1000),
            lambda seed: self.ranks(seed, "unix:clients.sock", [],
                                    bench.pmix("attack"), "get", 1),
            lambda seed: self.ranks(seed, "tcp", ["--inject", "never"], openpmix, 4),
            lambda seed: self.ranks(seed, "pmi", [], bench.pmix("pmi_wire"), "mixed"),
            lambda seed: self.ranks(seed, "pmi", ["--inject", "never"],
                                    cases_pmi.client(bench), "exchange", 4),
            self.launcher, self.ports_by_seed, self.barrier, self.shims)

    def env(self, seed, target):
        return {"LD_PRELOAD": self.library, "ADVERSARY_SEED": str(seed),
                "ADVERSARY_TARGET": target, "ADVERSARY_LOG": self.log}

    def job(self, options, *command, **more):
        """Runs a job, and ignores its result."""
        self.bench.run("run", "--context", CONTEXT, "--oversubscribe", "--map-by",
                       "node", "-n", 4, "--timeout", JOB_SECONDS, "--kill-grace", 1,
                       *options, *command, timeout=60, **more)

    def ranks(self, seed, target, options, *program):
        words = [f"{name}={value}" for name, value in self.env(seed, target).items()]
        self.job(options, "env", *words, *program)

    def launcher(self, seed):
        """The attack of `canopy run` on its agent. Afterwards it may wait for ever
        for an answer; it is killed, sometimes before its job has ended."""
        job = self.bench.start(
            "run", "--context", CONTEXT, "-n", 2, "--oversubscribe", "--timeout",
            JOB_SECONDS, "sh", "-c", "echo out; sleep 0.5; echo end",
            env=self.env(seed, "unix:run.sock"))
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.process.wait(2 * JOB_SECONDS if seed % 2 else seed % 7 / 5)
        job.process.kill()
        job.finish(20)

    def ports_by_seed(self, seed):
        self.bench.run(NET, seed, *self.ports, *self.files, program=PYTHON,
                       timeout=60)

    def shims(self, seed):
        """The shims of a job, which hold its processes, attack their agents."""
        with open(seed_file(self.bench), "w", encoding="utf-8") as file:
            file.write(str(seed))
        try:
            self.job([], "sh", "-c", "echo out; sleep 1; echo end")
        finally:
            os.unlink(seed_file(self.bench))

    def barrier(self, seed):
        self.job([], self.bench.pmix("attack"), "barrier", 1 + seed % 2)

    def one(self, seed):
        self.times[seed] = time.time()
        try:
            self.kinds[seed % len(self.kinds)](seed)
        except Failure as failure:
            raise Failure(f"seed {seed}: {failure}") from failure

    def seed_at(self, moment):
        """Returns the seed whose attack ran at this time."""
        return max((seed for seed, begin in self.times.items() if begin <= moment),
                   default=FIRST)


def attack(bench, files):
    machine = Machine(bench, CONTEXT, NODES)
    attacks = Attacks(bench, files)
    agents = Agents(bench)
    watch = FenceWatch(bench, CONTEXT, NODES)
    end = time.monotonic() + SECONDS
    seed = FIRST
    while time.monotonic() < end or (SECONDS == 0 and seed < FIRST + SHORT):
        attacks.one(seed)
        seed += STEP
    print(f"   seeds {FIRST} to {seed - STEP}", flush=True)
    bench.run("run", "--context", CONTEXT, "--oversubscribe", "--map-by", "node",
              "-n", 4, bench.pmix("fences"), 4, 1000).expect(
                  out=[f"fences ok {rank}" for rank in range(4)])
    fences = watch.end()
    slow = sorted({attacks.seed_at(end) for end in fences.slow_ends})
    if slow:
        print(f"   fences were slow during the attacks of the seeds {slow}", flush=True)
    machine.judge(fences)
    agents.check()
    with open(attacks.log, encoding="utf-8") as file:
        kinds = {line.split(":")[0] for line in file}
    print("   replaced messages of " + ", ".join(sorted(kinds)), flush=True)
    check(SECONDS > 0 or len(kinds) >= 3, "few messages were replaced")


NAME = "adversary: every protocol, by seeds"


def run(bench):
    if not bench.wanted(NAME):
        return
    options = Authority(bench, "adversary", "DNS:localhost,IP:127.0.0.1").issue()
    # Other activity would be attributed to the attacks.
    with hostile_shims(bench) as up_is_over, bench.overlay(
            CONTEXT, "--emulate", str(NODES), *options, alone=True) as up:
        up_is_over()
        if up:
            bench.case(NAME, lambda: attack(bench, files_of(options)))
