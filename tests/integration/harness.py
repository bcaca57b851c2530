"""Shared by the integration tests: building programs, running canopy, searching
for leftovers, and reporting one line for each case."""
import contextlib
import json
import os
import signal
import subprocess
import threading
import time
import traceback

import leftovers

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAMS = os.path.join(ROOT, "tests", "integration", "programs")
RUNTIME = "/tmp/run"  # XDG_RUNTIME_DIR of all processes of the tests
PYTHON = "/usr/bin/python3"  # the interpreter of Debian's mpi4py

FAMILIES = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}


# The sources of which an installation is made, and files of an installation
# that must be newer than all sources.
SOURCES = ("build", "client", "common", "deploy", "docs/man", "hostmodule",
           "protos", "server", "third_party", "WORKSPACE", "install")
INSTALLED = ("bin/canopy", "bin/canopyd", "bin/canopy-shim",
             "lib/canopy/libpmix.so.2", "include/pmix.h")


def newest_source():
    """Returns the time of the youngest source file of an installation."""
    newest = 0
    for name in SOURCES:
        path = os.path.join(ROOT, name)
        newest = max(newest, os.stat(path).st_mtime)
        for base, _, files in os.walk(path):
            newest = max([newest, *(os.lstat(os.path.join(base, one)).st_mtime
                                    for one in [".", *files])])
    return newest


def current_installation():
    """Returns the prefix of ./quickstart's installation, or None if that lacks a
    file or is older than a source."""
    prefix = os.path.join(ROOT, ".canopy")
    try:
        oldest = min(os.stat(os.path.join(prefix, name)).st_mtime
                     for name in INSTALLED)
    except FileNotFoundError:
        return None
    return prefix if oldest > newest_source() else None


def install(work):
    """Installs Canopy below WORK, unless there is an installation that can be used.
    Returns the paths that must stay visible."""
    prefix = os.path.join(work, "prefix")
    given = os.environ.get("CANOPY_PREFIX") or current_installation()
    if given:
        os.symlink(os.path.abspath(given), prefix)
        return [work, os.path.abspath(given)]
    subprocess.run([os.path.join(ROOT, "install"), "--prefix", prefix],
                   check=True, stdout=subprocess.DEVNULL)
    return [work]


def agent_logs():
    """Returns the logs of all agents that still have their directory, as one
    text."""
    text = ""
    for base, _, names in os.walk(RUNTIME):
        if "agent.log" in names:
            with open(os.path.join(base, "agent.log"), encoding="utf-8",
                      errors="replace") as file:
                text += file.read()
    return text


def processes():
    """Returns every visible process, with the wait channels of its threads."""
    return subprocess.run(
        ["ps", "-eLo", "pid,ppid,tid,stat,wchan:20,args", "--cols", "160"],
        capture_output=True, text=True, check=False).stdout


class Failure(Exception):
    """A case has failed; the message describes the failure."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def until(condition, what, seconds=30):
    """Polls for a condition that cannot be waited for."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise Failure(f"waited {seconds} s for {what}")
        time.sleep(0.02)


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.seconds = code, seconds
        self.raw = out
        self.out = out.decode(errors="replace")
        self.err = err.decode(errors="replace")

    def expect(self, code=0, out=(), err=(), absent=()):
        """Fails unless the exit code is CODE, and the output has the texts OUT and
        ERR and none of ABSENT."""
        problems = []
        if self.code != code:
            problems.append(f"exit code {self.code}, not {code}")
        problems += [f"stdout lacks {t!r}" for t in out if t not in self.out]
        problems += [f"stderr lacks {t!r}" for t in err if t not in self.err]
        problems += [f"{t!r} in the output" for t in absent
                     if t in self.out + self.err]
        if problems:
            raise Failure("; ".join(problems) + self.tail())
        return self

    def expect_lines(self, lines, code=0):
        """Fails unless standard output is exactly these lines, in any order."""
        self.expect(code=code)
        if sorted(self.out.splitlines()) != sorted(lines):
            raise Failure("stdout is not what was expected" + self.tail())
        return self

    def expect_refusal(self, code, *words):
        """Fails unless the command ended with CODE and one line on standard
        error that contains all WORDS."""
        self.expect(code=code, err=words)
        lines = self.err.splitlines()
        if len(lines) != 1 or not lines[0].startswith("canopy: "):
            raise Failure("not a one-line error of canopy's" + self.tail())
        if self.out:
            raise Failure("output beside the error" + self.tail())
        return self

    def tail(self):
        def last(text):
            return "\n".join("      " + line[:400]
                             for line in text.splitlines()[-15:])
        return f"\n    stdout:\n{last(self.out)}\n    stderr:\n{last(self.err)}"


class Job:
    """A command in a session of its own, whose output is collected as it
    arrives."""

    def __init__(self, command, env, cwd=None, stdin=None, stdout=None):
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE if stdout is None else stdout,
            stderr=subprocess.PIPE, env=env, cwd=cwd, start_new_session=True)
        self.pid = self.process.pid
        self.texts = {"out": bytearray(), "err": bytearray()}
        self.changed = threading.Condition()
        streams = [(self.process.stderr, "err")]
        if stdout is None:
            streams.append((self.process.stdout, "out"))
        self.open_streams = len(streams)
        self.threads = [
            threading.Thread(target=self._collect, args=args, daemon=True)
            for args in streams]
        for thread in self.threads:
            thread.start()

    def _collect(self, stream, name):
        while chunk := os.read(stream.fileno(), 1 << 16):
            with self.changed:
                self.texts[name] += chunk
                self.changed.notify_all()
        with self.changed:
            self.open_streams -= 1
            self.changed.notify_all()

    def wait_for(self, text, count=1, stream="out", seconds=30):
        """Waits until TEXT was printed COUNT times."""
        def there():
            return self.texts[stream].count(text.encode()) >= count
        with self.changed:
            self.changed.wait_for(
                lambda: there() or self.open_streams == 0, seconds)
            if there():
                return self
        result = self.end(signal.SIGKILL)
        raise Failure(f"{text!r} did not come {count} times" + result.tail())

    def signal(self, number, group=False):
        (os.killpg if group else os.kill)(self.pid, number)

    def end(self, number):
        """Kills the command with its process group and returns its result."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
        return self.finish(10)

    def finish(self, seconds=60):
        """Waits for the end of the command."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            standing = processes()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()
            for thread in self.threads:
                thread.join(1)
            raise Failure(f"no end after {seconds} s" + self._result().tail() +
                          "\n" + standing)
        for thread in self.threads:
            thread.join(5)
            if thread.is_alive():
                raise Failure("someone holds the output open after the end" +
                              self._result().tail())
        return self._result()

    def _result(self):
        return Result(self.process.returncode, bytes(self.texts["out"]),
                      bytes(self.texts["err"]), time.monotonic() - self.start)


class Bench:
    """An installed Canopy and the programs of the tests. It runs its SHARE of the
    cases whose names contain a word of ONLY."""

    def __init__(self, share, only):
        self.share = share
        self.prefix = os.path.join(share.directory, "prefix")
        self.canopy = os.path.join(self.prefix, "bin", "canopy")
        self.only = only
        self.mine = None  # whether the enclosing part is in this share
        self.jobs = []  # of the current case
        self.skip = {share.directory, ROOT}
        self.work = share.own_directory()
        os.makedirs(RUNTIME, mode=0o700, exist_ok=True)
        self.env = {
            "PATH": f"{self.prefix}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:"
                    "/sbin",
            "HOME": self.work, "XDG_RUNTIME_DIR": RUNTIME, "LANG": "C.UTF-8",
            "XDG_STATE_HOME": os.path.join(self.work, "state"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def compile(self, compiler, name, *extra):
        """Builds programs/NAME.c and returns the program's path."""
        out = os.path.join(self.share.directory,
                           f"{name}.{os.path.basename(compiler)}")
        self.share.make(out, [compiler, "-O1", "-o", out, os.path.join(
            PROGRAMS, name + ".c"), *extra])
        return out

    def mpi(self, name, family="openmpi"):
        return self.compile(FAMILIES[family], name)

    def plain(self, name):
        """Builds a program without MPI."""
        return self.compile("gcc", name)

    def pmix(self, name):
        """Builds a program with the installed libpmix."""
        return self.compile("gcc", name, f"-I{self.prefix}/include",
                            f"-L{self.prefix}/lib", "-lpmix")

    def start(self, *args, env=None, cwd=None, program=None, **streams):
        """Starts `canopy ARGS` and returns its Job."""
        command = [program or self.canopy, *map(str, args)]
        job = Job(command, dict(self.env, **(env or {})), cwd or self.work,
                  **streams)
        self.jobs.append(job)
        return job

    def run(self, *args, timeout=60, stdin=None, **more):
        """Runs `canopy ARGS` to its end; STDIN is bytes."""
        if stdin is None:
            return self.start(*args, **more).finish(timeout)
        reader, writer = os.pipe()
        job = self.start(*args, stdin=reader, **more)
        os.close(reader)

        def feed():
            with contextlib.suppress(BrokenPipeError), \
                    os.fdopen(writer, "wb") as pipe:
                pipe.write(stdin)
        threading.Thread(target=feed, daemon=True).start()
        return job.finish(timeout)

    def json(self, *args):
        """Returns the output of `canopy ARGS -o json`."""
        result = self.run(*args, "-o", "json").expect()
        return json.loads(result.out)

    def snapshot(self):
        return leftovers.Snapshot(self.skip)

    def wanted(self, *names):
        """Returns true if one of NAMES is among the requested cases."""
        return not self.only or any(word in name for name in names
                                    for word in self.only)

    @contextlib.contextmanager
    def taken(self, alone=False):
        """Takes everything in the block as one part, unless it is within a part
        already. Yields whether this bench shall run it."""
        enclosing = self.mine
        if enclosing is None:
            self.mine = self.share.take(alone)
        try:
            yield self.mine
        finally:
            self.mine = enclosing

    def case(self, name, body, *, always=False, alone=False, **more):
        """Runs one case and prints its line, if it is wanted, or ALWAYS, and no
        other world has taken it. ALONE: nothing else may run at the same time.
        MORE is passed to _run_case. Returns whether the case ran and passed."""
        if not always and not self.wanted(name):
            return False
        self.share.offer(name)
        with self.taken(alone) as mine:
            return mine and self._run_case(name, body, **more)

    def _run_case(self, name, body, settle=10.0, leaves=False, since=None,
                  ignore=(), quiet=False):
        """Everything that BODY started must be gone after SETTLE seconds at the
        latest, unless it LEAVES things on purpose or they contain a text of
        IGNORE. SINCE is the state to compare with, if it is not the state
        before BODY. QUIET: a line is printed only after a failure."""
        start = time.monotonic()
        before = since or self.snapshot()
        problem = None
        self.jobs = []
        try:
            body()
        except (Failure, AssertionError, subprocess.SubprocessError) as error:
            problem = str(error) or traceback.format_exc()
        except Exception:  # a defect of the case itself
            problem = traceback.format_exc()
        if problem:
            self.end_jobs()
        left = [] if leaves else before.wait_clean(settle, ignore)
        if left:
            problem = (problem + "\n    " if problem else "") + \
                "left behind: " + "\n      ".join(left[:20])
            self.sweep(before)
        if problem or not quiet:
            self.share.report(name, time.monotonic() - start, problem)
        return not problem

    def end_jobs(self):
        """Ends the jobs of a failed case, because its overlay must go down."""
        for job in self.jobs:
            if job.process.poll() is None:
                with contextlib.suppress(Failure):
                    job.end(signal.SIGKILL)

    def sweep(self, before):
        """Ends the processes that a failed case left, because they could affect
        later cases."""
        for pid in leftovers.processes():
            if pid not in before.processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    @contextlib.contextmanager
    def overlay(self, name, *options, alone=False, **more):
        """Brings an overlay up inside the block, named NAME; its up and down
        are cases too. It is one part with everything in the block, ALONE or
        not. Yields False if it is not up. MORE is passed to standing()."""
        self.share.offer(f"overlay {name}, with its cases")
        with self.taken(alone) as mine:
            if not mine:
                yield False
                return
            with self.standing(name, *options, **more) as up:
                yield up

    @contextlib.contextmanager
    def standing(self, name, *options, settle=10.0, ignore=(), quiet=False):
        """Brings up an overlay for the cases that this bench takes meanwhile.
        Leftovers may contain the texts in IGNORE. QUIET is as in _run_case."""
        before = self.snapshot()
        up = ["up", "--context", name, *options]
        if not self._run_case(f"up: {name}", lambda: self.run(*up).expect(),
                              leaves=True, quiet=quiet):
            self.sweep(before)
            yield False
            return
        try:
            yield True
        finally:
            down = ["down", "--context", name]
            if not self._run_case(f"down: {name}",
                                  lambda: self.run(*down).expect(),
                                  since=before, settle=settle, ignore=ignore,
                                  quiet=quiet):
                self.run(*down, "--force")
