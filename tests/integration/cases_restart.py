"""Agents are killed or replaced under running jobs, which continue."""
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import cases_openpmix
import harness
import leftovers
from harness import Failure, check, until

RANKS = 8
LINES = 2000
# Libraries that do not support a restart.
NEVER = ("--inject", "never")
FOREIGN = {"Open MPI with its own library": ("openmpi", NEVER),
           "MPICH": ("mpich", ())}
MOMENTS = ("before", "in", "after")
FOREIGN_NAMES = [f"restart: {what}, {moment} MPI_Init" for what in FOREIGN
                 for moment in MOMENTS]
OPENPMIX_RESTARTS = 4
OPENPMIX_NAMES = [f"restart: {how} under {what} with its own library, {n} nodes"
               for how in ("kill -9", "--replace")
               for what in ("fences and gets", "published names", "Open MPI")
               for n in (2, 4)]
NAMES = ("restart: kill -9 of node4's agent, radix 2",
         "restart: kill -9 of node2's agent, radix 2",
         "restart: kill -9 of node3's agent, radix 32",
         "restart: kill -9 while jobs live and end, radix 2",
         "restart: kill -9 while jobs live and end, radix 32",
         "restart: --replace of dead agents, radix 2",
         "restart: --replace of dead agents, radix 32",
         "restart: --replace under an MPI job, no grace",
         "restart: kill -9 of node1's agent, radix 2",
         "restart: kill -9 of node1's agent, radix 32",
         "restart: a run begins while the root is away",
         "restart: ^C while the controller is away, radix 2",
         "restart: input after the controller's, radix 2",
         "restart: a stream of input, --stdin 3",
         "restart: a stream of input, --stdin all",
         "restart: the clock was set back",
         "restart: an older launcher is not left",
         "restart: a launcher that came by gRPC, radix 2",
         "restart: an agent that is away, radix 2",
         "restart: commits while the agent is away, radix 2",
         "restart: a controller that does not come back",
         "restart: an agent that does not come back",
         "restart: down before a new agent is linked", *FOREIGN_NAMES,
         *OPENPMIX_NAMES)


def parent_of(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    return None


class Overlay:
    """The agents of a context, by node."""

    def __init__(self, bench, name):
        self.bench, self.name = bench, name

    def members(self):
        path = os.path.join(harness.RUNTIME, f"canopy-{os.geteuid()}",
                            "contexts", self.name + ".json")
        with open(path, encoding="utf-8") as file:
            return json.load(file)["members"]

    def member(self, node):
        return next(m for m in self.members() if m["name"] == node)

    def directory(self, node):
        return self.member(node)["runtime_dir"]

    def pid(self, node):
        """Returns the process id of the node's agent."""
        found = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and
                 self.serves(int(pid), node)]
        # Before its exec, a child is another process with this log.
        agents = [pid for pid in found if parent_of(pid) not in found]
        check(len(agents) == 1, f"agents of {node}: {agents}")
        return agents[0]

    def serves(self, pid, node):
        """Returns true for an agent whose log is the node's."""
        log = os.path.join(self.directory(node), "agent.log")
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                # A descriptor may be closed during the search.
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/fd/{fd}") == log:
                        return True
        return False

    def kill(self, node):
        pid = self.pid(node)
        os.kill(pid, signal.SIGKILL)
        until(lambda: not self.serves(pid, node), "the agent's death", 10)

    def restart(self, node, **variables):
        agent = os.path.join(self.bench.prefix, "bin", "canopyd")
        done = subprocess.run(
            [agent, "--restart", self.directory(node)],
            env={**self.bench.env, **variables},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
        check(done.returncode == 0, f"canopyd --restart: {done.stderr}")


def go(directory, number):
    with open(os.path.join(directory, f"go{number}"), "w", encoding="utf-8"):
        pass


def waiting_job(bench, overlay, steps):
    """Starts an MPI job that ends after step 1."""
    job = bench.start("run", "--context", overlay.name, "-n", RANKS,
                      "--map-by", "node", "--oversubscribe",
                      bench.mpi("until"), RANKS, os.path.join(steps, "go1"))
    job.wait_for("is ready", RANKS)
    return job


def replaced(bench, overlay, *more):
    """All agents are replaced, first while an MPI job runs, and then while no job
    runs."""
    old = {node: overlay.member(node)["pid"] for node in ("node1", "node2")}
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        job = waiting_job(bench, overlay, steps)
        bench.run("up", "--replace", "--context", overlay.name, *more).expect(
            out=["4 agents replaced"])
        go(steps, 1)
        job.finish(60).expect(out=[f"until ok size {RANKS}"])
    bench.run("up", "--replace", "--context", overlay.name, *more).expect(
        out=["4 agents replaced"])
    bench.run("run", "--context", overlay.name, "-n", 4, "--map-by", "node",
              "echo", "up").expect_lines(["up"] * 4)
    # The processes are the same, with another program.
    check(old == {node: overlay.member(node)["pid"] for node in old}, "pids")


def replaced_dead(bench, overlay, nodes):
    """Agents that have ended are replaced by new processes. The root and whole
    branches of the tree are among them."""
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        job = waiting_job(bench, overlay, steps)
        for node in nodes:
            overlay.kill(node)
        bench.run("up", "--replace", "--context", overlay.name).expect(
            out=["4 agents replaced"])
        for node in nodes:
            check(overlay.pid(node) == int(overlay.member(node)["pid"]),
                  "another pid")
        go(steps, 1)
        job.finish(60).expect(out=[f"until ok size {RANKS}"])


def clock_set_back(bench, overlay):
    """An agent is newer than its predecessor, although the clock was set back."""
    library = bench.compile("gcc", "clock_back", "-shared", "-fPIC")
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        job = waiting_job(bench, overlay, steps)
        for node in ("node3", "node3", "node1"):
            overlay.kill(node)
            overlay.restart(node, LD_PRELOAD=library)
        go(steps, 1)
        job.finish(60).expect(out=[f"until ok size {RANKS}"])


@contextlib.contextmanager
def never_replaced(bench, name, node):
    """Starts a job on two nodes, kills the agent of NODE and does not replace it.
    Yields the job."""
    overlay = Overlay(bench, name)
    job = bench.start("run", "--context", name, "-n", 2, "--map-by", "node",
                      "sh", "-c", "echo up; exec sleep 1000")
    job.wait_for("up\n", 2)
    overlay.kill(node)
    yield job
    # No other process removes the files of a killed agent.
    shutil.rmtree(overlay.directory(node))


def not_restarted(bench):
    """Without a new agent in time, the node is lost like any other."""
    name = "restart-late"
    with bench.overlay(name, "--emulate", 2, "--restart-grace", 1) as up:
        if not up:
            return

        def body():
            with never_replaced(bench, name, "node2") as job:
                job.finish(30).expect(code=1, err=["node node2 was lost"])
        bench.case("restart: an agent that does not come back", body, leaves=True)


def controller_lost(bench):
    """The agent that controls a job does not return in time."""
    name = "restart-lost"
    with bench.overlay(name, "--emulate", 2, "--restart-grace", 1) as up:
        if not up:
            return

        def body():
            with never_replaced(bench, name, "node1") as job:
                job.finish(30).expect(code=1, err=[
                    "lost the agent that controls the job",
                    "no other one came"])
                bench.run("run", "--context", name, "-n", 1,
                          "echo", "next").expect_lines(["next"])
        bench.case("restart: a controller that does not come back", body,
                   leaves=True)


def down_unlinked(bench):
    """`canopy down` also ends a new agent that has no links to the others, and
    removes the files of a killed agent."""
    name = "restart-down"
    before = bench.snapshot()

    def body():
        bench.run("up", "--context", name, "--emulate", 4, "--radix", 2,
                  "--restart-grace", 60).expect()
        overlay = Overlay(bench, name)
        for node in ("node2", "node4"):
            overlay.kill(node)
        overlay.restart("node4")
        new = overlay.pid("node4")
        bench.run("down", "--context", name).expect(
            out=[f"context {name} is down"])
        # The agent has agreed to end; on a busy machine it exits a moment
        # later.
        until(lambda: not os.path.exists(f"/proc/{new}"),
              "the end of the new agent", 10)
    bench.case("restart: down before a new agent is linked", body, settle=5,
               since=before)


def launched_meanwhile(bench, overlay):
    """A run that starts while the root's agent is gone continues as soon as a
    new agent is there."""
    overlay.kill("node1")
    job = bench.start("run", "--context", overlay.name, "-n", 2, "echo", "hello")
    # The launcher has reached another agent, and waits for a root.
    time.sleep(2)
    overlay.restart("node1")
    back = time.monotonic()
    job.finish(60).expect_lines(["hello"] * 2)
    check(time.monotonic() - back < 8, "it has waited for another root")


def interrupted(bench, overlay):
    """Ctrl-C ends the job, even if the agent that controls the job is gone at that
    moment."""
    job = bench.start("run", "--context", overlay.name, "-n", RANKS,
                      "--map-by", "node", "--oversubscribe", "sh", "-c",
                      "echo up; exec sleep 1000")
    job.wait_for("up\n", RANKS)
    overlay.kill("node1")
    job.signal(signal.SIGINT)
    overlay.restart("node1")
    job.finish(30).expect(code=130)


def fed(bench, overlay):
    """After a restart of the controlling agent, a job still gets its standard input
    to the end."""
    read, write = os.pipe()
    job = bench.start("run", "--context", overlay.name, "-n", 2, "--map-by",
                      "node", "--stdin", 1, "cat", stdin=read)
    os.close(read)
    os.write(write, b"one\n")
    job.wait_for("one\n")
    overlay.kill("node1")
    overlay.restart("node1")
    os.write(write, b"two\n")
    job.wait_for("two\n")
    os.close(write)
    job.finish(30).expect_lines(["one", "two"])


class Stream:
    """Standard input that does not end until it is closed."""

    def __init__(self):
        self.reader, self.writer = os.pipe()
        self.written, self.stop = 0, False
        self.hash = hashlib.sha256()
        self.thread = threading.Thread(target=self._write, daemon=True)

    def _write(self):
        with contextlib.suppress(BrokenPipeError):
            self._write_all()
        os.close(self.writer)

    def _write_all(self):
        number = 0
        while not self.stop:
            data = b"".join(b"%d\n" % (number + i) for i in range(5000))
            number += 5000
            self.hash.update(data)
            at = 0
            while at < len(data):
                at += os.write(self.writer, data[at:])
            self.written += len(data)

    def flow(self):
        """Waits until much more data was written."""
        before = self.written
        deadline = time.monotonic() + 60
        while self.written < before + (2 << 20):
            check(time.monotonic() < deadline, "the input does not go on")
            time.sleep(0.001)

    def finish(self, job):
        self.stop = True
        self.thread.join()
        return job.finish(60), self.hash.hexdigest()


def streamed(bench, overlay, target, ranks):
    """No byte of standard input is lost or duplicated when agents that hold it
    are killed."""
    stream = Stream()
    job = bench.start("run", "--context", overlay.name, "-n", 4, "--map-by",
                      "node", "--stdin", target, "sh", "-c",
                      "echo up; exec sha256sum", stdin=stream.reader)
    os.close(stream.reader)
    stream.thread.start()
    job.wait_for("up\n", 4)
    for node in ("node4", "node2", "node1") * 2:
        stream.flow()
        overlay.kill(node)
        overlay.restart(node)
    stream.flow()
    result, wanted = stream.finish(job)
    result.expect()
    found = [line.split()[0] for line in result.out.splitlines()
             if line.endswith(" -")]
    empty = hashlib.sha256().hexdigest()
    check(sorted(found) == sorted([wanted] * ranks + [empty] * (4 - ranks)),
          "the input has changed on its way" + result.tail())


class OlderLauncher:
    """A launcher that cannot reattach to another agent."""

    def __init__(self, directory, *argv):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(os.path.join(directory, "run.sock"))
        check(self.socket.recv(4) == bytes(4), "no greeting")
        app = b"".join(self.field(2, word.encode()) for word in argv)
        job = self.field(1, app + b"\x28\x01")
        launch = b"\x92\x03" + bytes([len(job)]) + job + b"\x70\x01"
        request = self.field(1, launch)
        self.socket.sendall(len(request).to_bytes(4, "big") + request)

    @staticmethod
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data


def older_launcher(bench, overlay):
    """An agent that controls a job for an older launcher is not replaced, and the
    command reports how to proceed."""
    context = ["--context", overlay.name]

    def jobs():
        return bench.json("ps", *context).get("jobs", [])

    launcher = OlderLauncher(overlay.directory("node1"), "/bin/sleep", "1000")
    until(lambda: [job["phase"] for job in jobs()] == ["running"],
          "the job to run")
    pid = overlay.pid("node1")
    bench.run("up", "--replace", *context).expect_refusal(
        1, "node 'node1'", "1 job(s)", "older", "canopy kill")
    check(len(jobs()) == 1 and overlay.pid("node1") == pid, "the job ended")
    launcher.socket.close()
    until(lambda: not jobs(), "the end of the job")
    bench.run("up", "--replace", *context).expect(out=["4 agents replaced"])


def by_grpc(bench, overlay):
    """Runs a case with a launcher that has only the agent's control socket."""
    os.unlink(os.path.join(overlay.directory("node1"), "run.sock"))
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        job = waiting_job(bench, overlay, steps)
        overlay.kill("node1")
        overlay.restart("node1")
        bench.run("up", "--replace", "--context", overlay.name).expect(
            out=["4 agents replaced"])
        go(steps, 1)
        job.finish(60).expect(out=[f"until ok size {RANKS}"])


def away(bench, overlay):
    """Commands report an agent that has ended and may be replaced."""
    def said(node):
        lines = bench.run("status", "--context", overlay.name).out.splitlines()
        return next(line for line in lines if node in line)
    check("no answer" not in said("node4"), "it is there")
    overlay.kill("node4")
    check("no answer" in said("node4"), "it is away: " + said("node4"))
    check("no answer" not in said("node2"), "it is there: " + said("node2"))
    for command in (["why"], ["status"]):
        bench.run(*command, "--context", overlay.name).expect(out=["no answer: node4"])
    bench.run("doctor").expect(code=1, out=["no answer: node4", "jobs will not run"])
    overlay.restart("node4")
    until(lambda: "no answer" not in said("node4"), "the agent to be back")


def foreign(bench, overlay, what, moment):
    """A restart of an agent does not affect its ranks, which use another library."""
    family, options = FOREIGN[what]
    waits = {"before": "true", "in": "[ $PMI_RANK$PMIX_RANK = 00 ]",
             "after": "false"}[moment]
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        go_on = os.path.join(steps, "go1")
        job = bench.start(
            "run", "--context", overlay.name, *options, "-n", RANKS,
            "--map-by", "node", "--oversubscribe", "sh", "-c",
            f"{waits} && {{ echo is ready; until [ -e {go_on} ]; do sleep 0.01;"
            " done; }; exec \"$@\"", "sh", bench.mpi("until", family), RANKS,
            go_on)
        job.wait_for("is ready", 1 if moment == "in" else RANKS)
        overlay.kill("node3")
        overlay.restart("node3")
        go(steps, 1)
        job.finish(60).expect(out=[f"until ok size {RANKS}"])


def all_foreign(bench):
    if not bench.wanted(*FOREIGN_NAMES):
        return
    with bench.overlay("restart-foreign", "--emulate", 4, "--restart-grace", 60,
                       ignore=leftovers.OF_PROGRAMS) as up:
        overlay = Overlay(bench, "restart-foreign")
        for what in FOREIGN if up else ():
            for moment in MOMENTS:
                bench.case(f"restart: {what}, {moment} MPI_Init",
                           lambda: foreign(bench, overlay, what, moment),
                           leaves=True)


def openpmix(bench, overlay, how, program):
    """Agents are killed and restarted under a program whose library does not
    support a restart.
    """
    nodes = [m["name"] for m in overlay.members()]
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        job = bench.start("run", "--context", overlay.name, *NEVER, "-n", RANKS,
                          "--map-by", "node", "--oversubscribe", program, RANKS,
                          os.path.join(steps, "go1"))
        job.wait_for("is ready", RANKS)
        for number in range(OPENPMIX_RESTARTS):
            if how == "--replace":
                bench.run("up", "--replace", "--context", overlay.name).expect(
                    out=["agents replaced"])
            else:
                node = nodes[number % len(nodes)]
                overlay.kill(node)
                overlay.restart(node)
        go(steps, 1)
        return job.finish(60).expect()


def all_openpmix(bench):
    if not bench.wanted(*OPENPMIX_NAMES):
        return
    for nodes in (2, 4):
        with bench.overlay(f"restart-openpmix{nodes}", "--emulate", nodes,
                           "--restart-grace", 60) as up:
            if not up:
                continue
            overlay = Overlay(bench, f"restart-openpmix{nodes}")
            programs = {"fences and gets": cases_openpmix.build(bench, "through"),
                        "published names": cases_openpmix.build(bench,
                                                                "published"),
                        "Open MPI": bench.mpi("until")}
            for how in ("kill -9", "--replace"):
                for what, program in programs.items():
                    bench.case(
                        f"restart: {how} under {what} with its own library, "
                        f"{nodes} nodes",
                        lambda: openpmix(bench, overlay, how, program),
                        leaves=True)


def commits_away(bench, overlay):
    """Other processes find the data that a process commits while its agent is gone,
    without further calls of that process."""
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o777)
        job = bench.start("run", "--context", overlay.name, "-n", 2,
                          "--map-by", "node", program(bench, "left"), steps)
        job.wait_for("is ready", 2)
        overlay.kill("node2")
        go(steps, 1)
        until(lambda: os.path.exists(os.path.join(steps, "committed")),
              "the commit, which does not wait for the agent")
        overlay.restart("node2")
        go(steps, 2)
        job.wait_for("rank 0 has found it")
        go(steps, 3)
        job.wait_for("rank 0 has found more")
        go(steps, 4)
        job.finish(60).expect()


def lives(bench, overlay, nodes):
    """Events about jobs arrive once, whichever agents are killed and restarted
    meanwhile."""
    path = os.path.join(bench.work, "job_life")
    subprocess.run(
        ["gcc", "-O1", "-o", path, os.path.join(
            cases_openpmix.CONFORMANCE, "job_life.c"),
         f"-I{bench.prefix}/include", f"-L{bench.prefix}/lib", "-lpmix",
         "-lpthread", f"-Wl,-rpath,{bench.prefix}/lib"], check=True)
    job = bench.start(
        "run", "--context", overlay.name, "-n", RANKS, "--map-by", "node",
        "--oversubscribe", path, RANKS, 4)
    for number in range(6):
        if job.process.poll() is not None:
            break
        overlay.kill(nodes[number % len(nodes)])
        overlay.restart(nodes[number % len(nodes)])
    job.finish(120).expect(out=[f"ok {rank}\n" for rank in range(RANKS)])


def program(bench, name="restart"):
    return bench.compile("gcc", name, f"-I{bench.prefix}/include",
                         f"-L{bench.prefix}/lib", "-lpmix",
                         f"-Wl,-rpath,{bench.prefix}/lib")


def check_lines(result):
    """Checks that every rank's lines arrived once, in order."""
    for rank in range(RANKS):
        start = f"rank {rank} line "
        lines = [line for line in result.out.splitlines()
                 if line.startswith(start)]
        if lines != [start + str(i) for i in range(LINES)]:
            raise Failure(f"{len(lines)} lines of rank {rank}, or out of order"
                          + result.tail())


def killed(bench, overlay, node, exit_code):
    """Kills one agent at each step of a job; the output and the exit code are
    unaffected."""
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        job = bench.start("run", "--context", overlay.name, "-n", RANKS,
                          "--map-by", "node", "--oversubscribe",
                          program(bench), steps, exit_code)
        job.wait_for("is ready", RANKS)
        overlay.kill(node)
        overlay.restart(node)
        go(steps, 1)
        job.wait_for("is new", RANKS)
        overlay.kill(node)
        overlay.restart(node)
        go(steps, 2)
        job.wait_for("is through", RANKS)
        overlay.kill(node)
        go(steps, 3)
        go(steps, 4)
        overlay.restart(node)
        result = job.finish(60)
    result.expect(code=exit_code)
    check_lines(result)


def run(bench):
    if not bench.wanted(*NAMES):
        return
    for name, radix, nodes in (("restart2", 2, ("node4", "node2", "node1")),
                               ("restart32", 32, ("node3", "node1"))):
        with bench.overlay(name, "--emulate", 4, "--radix", radix,
                           "--restart-grace", 60) as up:
            if not up:
                continue
            overlay = Overlay(bench, name)
            for node, code in zip(nodes, (0, 7, 5)):
                bench.case(f"restart: kill -9 of {node}'s agent, radix {radix}",
                           lambda: killed(bench, overlay, node, code),
                           leaves=True)
            bench.case(f"restart: kill -9 while jobs live and end, radix {radix}",
                       lambda: lives(bench, overlay, nodes), leaves=True)
            dead = ("node1", "node2") if radix == 2 else ("node1", "node3")
            bench.case(f"restart: --replace of dead agents, radix {radix}",
                       lambda: replaced_dead(bench, overlay, dead),
                       leaves=True)
            if radix == 2:
                bench.case("restart: a run begins while the root is away",
                           lambda: launched_meanwhile(bench, overlay), leaves=True)
                bench.case("restart: ^C while the controller is away, radix 2",
                           lambda: interrupted(bench, overlay), leaves=True)
                bench.case("restart: input after the controller's, radix 2",
                           lambda: fed(bench, overlay), leaves=True)
                for target, ranks in ((3, 1), ("all", 4)):
                    bench.case(
                        f"restart: a stream of input, --stdin {target}",
                        lambda: streamed(bench, overlay, target, ranks),
                        leaves=True)
                bench.case("restart: the clock was set back",
                           lambda: clock_set_back(bench, overlay), leaves=True)
                bench.case("restart: an older launcher is not left",
                           lambda: older_launcher(bench, overlay), leaves=True)
                bench.case("restart: a launcher that came by gRPC, radix 2",
                           lambda: by_grpc(bench, overlay), leaves=True)
                bench.case("restart: an agent that is away, radix 2",
                           lambda: away(bench, overlay), leaves=True)
                bench.case("restart: commits while the agent is away, radix 2",
                           lambda: commits_away(bench, overlay), leaves=True)
    with bench.overlay("restart-all", "--emulate", 4, "--radix", 2) as up:
        if up:
            bench.case("restart: --replace under an MPI job, no grace",
                       lambda: replaced(bench, Overlay(bench, "restart-all")),
                       leaves=True)
    down_unlinked(bench)
    not_restarted(bench)
    controller_lost(bench)
    all_foreign(bench)
    all_openpmix(bench)
