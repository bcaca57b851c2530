"""MPI jobs over four emulated nodes, placed by the example schedulers in C++ and
in Go."""
import os
import signal
import tempfile
import time

from cases_host_module_check import build
from harness import ROOT, check

NODES = 4
GO = os.path.join(ROOT, "examples/host_module/go")


def build_go(bench):
    """Builds the example in Go with only Debian's packages."""
    directory = os.path.join(bench.share.directory, "example-scheduler-go")
    program = os.path.join(directory, "scheduler")
    bench.share.make(program, [os.path.join(GO, "build"),
                               os.path.join(ROOT, "protos"), directory])
    return program


LANGUAGES = {"C++": build, "Go": build_go}


class Example:
    """An overlay whose scheduler is the example in LANGUAGE."""

    def __init__(self, bench, language):
        self.bench = bench
        self.context = "example-scheduler-" + {"C++": "cc", "Go": "go"}[language]
        self.names = [f"scheduler in {language}: {rest}" for rest in (
            "Open MPI jobs and exit codes", "a job waits while all is taken",
            "a job in the background is queued")]
        self.built = f"scheduler in {language}: it is built"
        self.make = LANGUAGES[language]
        self.scheduler = None

    def run(self, *words):
        return self.bench.run("run", "--context", self.context, *words)

    def start(self, *words):
        return self.bench.start("run", "--context", self.context, *words)

    def slots(self):
        nodes = self.bench.json("status", "--context", self.context)["nodes"]
        return sum(node["slots"] for node in nodes)

    def jobs(self):
        ranks = self.slots()
        for _ in range(2):  # the first job's slots are free again
            self.run("-n", ranks, self.bench.mpi("hello"), ranks).expect(
                out=[f"hello ok size {ranks}"])
        self.run("-n", 2, "--account", "physics", "sh", "-c", "exit 5").expect(code=5)
        self.scheduler.wait_for("with exit code 5")
        self.run("-n", ranks + 1, "true").expect(code=1, err=["slots"])
        self.run("--host", "node3:1", "-n", 1, "true").expect()

    def queued(self):
        """If no slot is free, a job waits, reports the reason, and starts when it
        can."""
        ranks = self.slots()
        all_nodes = self.start("-n", ranks, "sh", "-c", "echo is up; exec sleep 1000")
        all_nodes.wait_for("is up", ranks)
        later = self.start("-n", 2, self.bench.mpi("hello"), 2)
        self.wait_for_ps("2 slots wanted, 0 free")
        gone = self.start("-n", ranks, "true")
        self.wait_for_ps(f"queued   {ranks} ")
        gone.signal(signal.SIGINT)
        check(gone.finish(20).code == 128 + signal.SIGINT, "not interrupted")
        all_nodes.signal(signal.SIGTERM)
        all_nodes.finish(20)
        later.finish(30).expect(out=["hello ok size 2"])

    def detached(self, address):
        """A job in the background gets its name immediately, although it is
        queued. The scheduler passes its check while it is in use."""
        busy = self.start("-n", self.slots(), "sh", "-c",
                          "echo is up; exec sleep 1000")
        busy.wait_for("is up", self.slots())
        begun = time.monotonic()
        name = self.run("--detach", "-n", 2, "sh", "-c", "exit 6").expect().out.strip()
        check(time.monotonic() - begun < 5, "the name came late")
        self.wait_for_ps(f"queued: {name}")
        self.bench.run("why", "--context", self.context, name).expect(
            out=["has been queued for"])
        self.bench.run("host-module", "check", address).expect(absent=["FAILED"])
        busy.signal(signal.SIGTERM)
        busy.finish(20)
        self.bench.run("wait", name).expect(code=6)

    def wait_for_ps(self, text):
        for _ in range(200):
            if text in self.bench.run("ps", "--context", self.context).expect().out:
                return
        check(False, f"ps does not say {text!r}: " +
              self.bench.run("ps", "--context", self.context).out)

    def cases(self, directory):
        address = f"unix:{directory}/scheduler.sock"
        if not self.bench.case(self.built, lambda: self.make(self.bench), always=True):
            return
        self.scheduler = self.bench.start(address, program=self.make(self.bench))
        self.scheduler.wait_for("schedules at")
        bodies = (self.jobs, self.queued, lambda: self.detached(address))
        with self.bench.overlay(self.context, "--emulate", str(NODES),
                                "--host-module", address) as up:
            if up:
                for name, body in zip(self.names, bodies, strict=True):
                    self.bench.case(name, body)
        self.scheduler.end(signal.SIGTERM)


def run(bench):
    for language in LANGUAGES:
        example = Example(bench, language)
        if not bench.wanted(*example.names):
            continue
        with bench.taken() as mine:
            if mine:
                with tempfile.TemporaryDirectory() as directory:
                    os.chmod(directory, 0o755)
                    example.cases(directory)
