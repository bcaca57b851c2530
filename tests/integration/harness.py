"""What the integration tests share: building programs, running canopy, and
reporting one line a case."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAMS = os.path.join(ROOT, "tests", "integration", "programs")


class Failure(Exception):
    """A case that did not behave; the message says how."""


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def expect(self, code=0, out=(), err=(), absent=()):
        """Fails unless exit code and texts are as told."""
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

    def tail(self):
        def last(text):
            return "\n".join("      " + line for line in text.splitlines()[-15:])
        return f"\n    stdout:\n{last(self.out)}\n    stderr:\n{last(self.err)}"


class Bench:
    """A place with an installed Canopy and built programs."""

    def __init__(self):
        self.work = tempfile.mkdtemp(prefix="canopy-it-")
        self.prefix = os.path.join(self.work, "prefix")
        self.canopy = os.path.join(self.prefix, "bin", "canopy")
        self.passed = self.failed = 0
        self.only = sys.argv[1:]

    def install(self):
        subprocess.run([os.path.join(ROOT, "install"), "--prefix", self.prefix],
                       check=True, stdout=subprocess.DEVNULL)

    def compile(self, compiler, name, *extra):
        """Builds programs/NAME.c and returns the program's path."""
        out = os.path.join(self.work, f"{name}.{os.path.basename(compiler)}")
        if not os.path.exists(out):
            subprocess.run(
                [compiler, "-O1", "-o", out,
                 os.path.join(PROGRAMS, name + ".c"), *extra], check=True)
        return out

    def run(self, *args, timeout=60, stdin=None, env=None, cwd=None, program=None):
        """Runs `canopy ARGS` in a process group of its own."""
        command = [program or self.canopy, *map(str, args)]
        full = dict(os.environ, **(env or {}))
        start = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE if stdin is not None
            else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=full, cwd=cwd, start_new_session=True)
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise Failure(f"no end after {timeout} s" + Result(
                -1, out.decode(errors="replace"), err.decode(errors="replace"),
                timeout).tail())
        return Result(process.returncode, out.decode(errors="replace"),
                      err.decode(errors="replace"), time.monotonic() - start)

    def case(self, name, body):
        """Runs one case and prints its line."""
        if self.only and not any(word in name for word in self.only):
            return
        start = time.monotonic()
        try:
            body()
        except (Failure, AssertionError, subprocess.SubprocessError) as error:
            self.failed += 1
            print(f"FAILED {name}: {error or traceback.format_exc()}", flush=True)
            return
        self.passed += 1
        print(f"ok {name} ({time.monotonic() - start:.1f} s)", flush=True)

    def finish(self):
        shutil.rmtree(self.work, ignore_errors=True)
        print(f"integration: {self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 and self.passed > 0 else 1
