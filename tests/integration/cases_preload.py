"""Programs and files that are copied to the nodes of a job before its launch."""
import hashlib
import functools
import os
import shutil
import signal
import stat
import time

import cases_restart
import netns
from harness import RUNTIME, check

HOSTS = ("n1", "n2")
# Hides a directory from one node.
HIDING = """#!/bin/sh
host=$1
shift
[ "$host" = n2 ] && set -- unshare -m sh -c \
    'mount -t tmpfs hidden "$1" && shift && exec "$@"' sh {hidden} "$@"
exec ip netns exec "$host" "$@"
"""


class Place:
    """A directory with a program and files that only the first node has."""

    def __init__(self, bench):
        self.root = os.path.join(bench.work, "preload")
        self.hidden = os.path.join(self.root, "hidden")
        os.makedirs(os.path.join(self.hidden, "data"), exist_ok=True)
        self.seen = bench.pmix("preload")  # on both nodes
        for name in ("data/first", "second"):
            with open(os.path.join(self.hidden, name), "w",
                      encoding="utf-8") as file:
                file.write(name + "\n")
        agent = os.path.join(self.root, "agent")
        with open(agent, "w", encoding="utf-8") as file:
            file.write(HIDING.format(hidden=self.hidden))
        os.chmod(agent, 0o755)
        self.run = ["run", "--host", ",".join(f"{h}:4" for h in HOSTS),
                    "--launch-agent", agent + " {host}"]

    @functools.cached_property
    def program(self):
        """Returns the program's copy, which is made for the first case that needs
        it."""
        return shutil.copy(self.seen, os.path.join(self.hidden, "only-here"))

    @property
    def relative(self):
        """Returns the path of the program relative to the hidden directory."""
        return "./" + os.path.basename(self.program)


def copies():
    """Returns the directories of copies, complete or not."""
    return [os.path.join(base, name) for base, names, _ in os.walk(RUNTIME)
            for name in names
            if name in ("files", "programs") or name.endswith("-preload")]


def nothing_left():
    deadline = time.monotonic() + 20
    while copies():
        check(time.monotonic() < deadline, copies())
        time.sleep(0.01)


def spawned(bench, place):
    bench.run(*place.run, "-n", 1, place.seen, "spawn", place.relative,
              "data/first", "SUCCESS", cwd=place.hidden).expect_lines(
                  ["spawn gives SUCCESS", "rank 0 has data/first",
                   "rank 1 has data/first"])
    nothing_left()


def launched(bench, place):
    bench.run(*place.run, "-n", 2, "--map-by", "node", "--preload-binary",
              "--preload-files", "data/first,./second", place.relative, "copy",
              "second", cwd=place.hidden).expect_lines(
                  ["rank 0 has second", "rank 1 has second"])
    nothing_left()


def without(bench, place):
    """Without preloading, the program fails on the other nodes."""
    result = bench.run(*place.run, "-n", 2, "--map-by", "node", place.program,
                       "copy", "second")
    result.expect(code=127, err=["n2", "only-here"])


def refused_spawns(bench, place):
    def gives(program, files, status, *words):
        result = bench.run(*place.run, "-n", 1, place.seen, "spawn", program,
                           files, status, cwd=place.hidden)
        result.expect(out=[f"spawn gives {status}"], err=words)
        nothing_left()
    gives("./none", "second", "EXECUTABLE NOT FOUND", "canopy: job", "none")
    gives("./second", "second", "APPLICATION NOT EXECUTABLE", "canopy: job")
    gives(place.relative, "second,none", "JOB FAILED TO LAUNCH", "No such file")
    gives(place.relative, "second,../second", "BAD-PARAM",
          "cannot spawn", "..")
    gives(place.relative, f"second,{place.seen}/second", "BAD-PARAM",
          "the same name")


def refused_runs(bench, place):
    def gives(code, *words, files="second", program=place.relative):
        bench.run(*place.run, "-n", 2, "--preload-binary", "--preload-files",
                  files, program, cwd=place.hidden).expect_refusal(code, *words)
    gives(127, "none", program="./none")
    gives(126, "second", program="./second")
    gives(1, "none", "No such file", files="second,none")
    gives(1, "data", "directory", files="data")
    gives(2, "..", files="../x")
    gives(2, "the same name", files="second,/etc/second")


def large(bench, place):
    """A large file is copied to each node, and no agent holds more than a small
    part of it."""
    path = os.path.join(place.hidden, "large")
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for i in range(96):
            piece = bytes([i]) * (1 << 20)
            digest.update(piece)
            file.write(piece)
    os.chmod(path, 0o440)
    script = ("sha256sum < $CANOPY_JOB_DIR/files/large; "
              "stat -c %A $CANOPY_JOB_DIR/files/large; "
              "for p in $(pgrep canopyd); do grep VmHWM /proc/$p/status; done")
    result = bench.run("run", "--emulate", 4, "-n", 4, "--map-by", "node",
                       "--oversubscribe", "--preload-files", path, "sh", "-c",
                       script)
    result.expect()
    check(result.out.count(digest.hexdigest()) == 4, result.tail())
    check(result.out.count(stat.filemode(0o100400)) == 4, result.tail())
    most = max(int(line.split()[1]) for line in result.out.splitlines()
               if line.startswith("VmHWM"))
    check(most < 80 << 10, f"an agent has had {most} KiB")
    os.unlink(path)
    nothing_left()


def input_comes_later(bench, place):
    """Standard input of the job is not lost while files are copied."""
    bench.run("run", "--emulate", 2, "-n", 2, "--oversubscribe",
              "--preload-files", os.path.join(place.hidden, "second"), "cat",
              stdin=b"input\n").expect_lines(["input"])


def searched(bench, place):
    """A program without a path is found in the same way as without a copy; each
    program of a job has its own copy."""
    result = bench.run(
        "run", "--emulate", 2, "--oversubscribe", "-s", "-n", 1, "readlink",
        "/proc/self/exe", ":", "-n", 1, "readlink", "/proc/self/exe",
        env={"PATH": f"{place.hidden}:{bench.env['PATH']}"})
    result.expect()
    check(result.out.count("/programs/0/readlink") == 1, result.tail())
    check(result.out.count("/bin/readlink") == 1, result.tail())


class Copying:
    """A file whose copy takes a while, with agents that stay."""

    def __init__(self, bench, place):
        self.bench = bench
        self.agents = cases_restart.Overlay(bench, "preload")
        self.seen = place.seen
        self.file = os.path.join(place.root, "slow")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("slow\n")
            file.truncate(256 << 20)

    def start(self, *words):
        """Starts a job with preloading, and returns when the copy is in
        progress."""
        job = self.bench.start("run", "--context", "preload", "--oversubscribe",
                               *words)
        directory = self.agents.directory("node2")
        deadline = time.monotonic() + 20
        while not any(path.startswith(directory) for path in copies()):
            check(time.monotonic() < deadline, os.listdir(directory))
            time.sleep(0.01)
        return job

    def launch(self):
        return self.start("-n", 2, "--map-by", "node", "--preload-files",
                          self.file, "sh", "-c",
                          "stat -c %s $CANOPY_JOB_DIR/files/slow")

    def restart(self, node):
        self.agents.kill(node)
        self.agents.restart(node)

    def to_the_end(self):
        self.launch().finish(90).expect_lines([str(256 << 20)] * 2)
        nothing_left()

    def of_a_lost_launcher(self, number, code):
        job = self.launch()
        job.signal(number)
        job.finish().expect(code=code)
        nothing_left()

    def over_a_restart(self):
        job = self.launch()
        self.restart("node2")
        job.finish(90).expect_lines([str(256 << 20)] * 2)
        nothing_left()

    def without_a_controller(self):
        job = self.launch()
        self.restart("node1")
        check(job.finish(90).code != 0, "the job has begun")
        nothing_left()

    def spawned_anew(self):
        job = self.start("-n", 1, self.seen, "spawn", self.seen, self.file,
                         "SUCCESS")
        self.restart("node1")
        result = job.finish(90)
        result.expect(out=["spawn gives SUCCESS"])
        nothing_left()


def agents_that_stay(bench, place):
    with bench.overlay("preload", "--emulate", 2, "--restart-grace", 60) as up:
        if not up:
            return
        copying = Copying(bench, place)
        for name, body in (
                ("to the end", copying.to_the_end),
                ("launcher interrupted", lambda: copying.of_a_lost_launcher(
                    signal.SIGINT, 128 + signal.SIGINT)),
                ("launcher killed", lambda: copying.of_a_lost_launcher(
                    signal.SIGKILL, -signal.SIGKILL)),
                ("restart of an agent", copying.over_a_restart),
                ("restart of the controller", copying.without_a_controller),
                ("spawn, restart of the controller", copying.spawned_anew)):
            bench.case("preload, agents that stay: " + name, body, leaves=True)
        os.unlink(copying.file)


def run(bench):
    names = ("spawn", "run", "nothing copied", "spawns refused",
             "runs refused")
    names = [f"preload: {name}" for name in names]
    stay = "preload, agents that stay"
    alone = ["preload: a large file", "preload: standard input",
             "preload: a program of PATH"]
    if not bench.wanted(*names, *alone, stay):
        return
    place = Place(bench)
    with netns.Namespaces(2):
        for name, body in zip(names, (spawned, launched, without,
                                      refused_spawns, refused_runs)):
            bench.case(name, lambda body=body: body(bench, place))
    for name, body in zip(alone, (large, input_comes_later, searched)):
        bench.case(name, lambda body=body: body(bench, place))
    if bench.wanted(stay):
        agents_that_stay(bench, place)
