"""Executes the README and the pages of docs/users: their files are written, and the
commands of their blocks of kind `console` run in order, in one shell and an empty
directory. The README uses the files of the pages.

A block with a name after its kind is that file. In a console, a line that begins
with "$ " is a command, and the lines below it are its output, on either stream, in
any order. "..." in a line stands for any text, and a line "..." for any lines. Every
job name, time in seconds and user name (ada) of a page stands for any other. A
command ends with 0, unless the next command is `echo $?`. Commands that observe a job
behind the prompt are repeated until their output is as shown, as a reader would.
"""
import os
import re
import shutil
import subprocess
import tempfile

import harness
from harness import Failure, check

README = os.path.join(harness.ROOT, "README.md")
# Commands of other machines and of a batch system, which stay on this machine.
STAND_INS = os.path.join(harness.PROGRAMS, "stand_ins")
PAGES = os.path.join(harness.ROOT, "docs", "users")
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
OBSERVERS = ("canopy output ", "canopy ps", "canopy stack ", "canopy why")
# The texts that differ from run to run, and the patterns for them.
VARIABLE = ((r"canopy-[0-9a-f]{8}-\d+", r"canopy-[0-9a-f]{8}-\d+"),
            (r"\b\d+(?:\.\d+)? s\b", r"\d+(?:\.\d+)? (?:ms|s)"),
            (r"\bada\b", r"\S+"), (r"\.\.\.", r".*"), (r"\s+", r"\s+"))


def blocks(path):
    """Returns the files of a page by name, and its commands with the lines that
    each is to print."""
    with open(path, encoding="utf-8") as page:
        found = BLOCK.findall(page.read())
    files = {name: text for _, name, text in found if name}
    steps = []
    for kind, _, text in found:
        for line in text.splitlines() if kind == "console" else ():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
    return files, steps


def pattern(line):
    """Returns the regular expression for the lines that a page's line stands for."""
    parts = "|".join(f"({text})" for text, _ in VARIABLE)
    result, at = "", 0
    for found in re.finditer(parts, line.strip()):
        result += re.escape(line.strip()[at:found.start()])
        result += VARIABLE[found.lastindex - 1][1]
        at = found.end()
    return re.compile(result + re.escape(line.strip()[at:]))


def difference(shown, out):
    """Returns the difference between a page's lines and a command's output, or
    None."""
    left = [line.strip() for line in out.splitlines()]
    for line in shown:
        if line.strip() == "...":
            continue
        match = next((text for text in left if pattern(line).fullmatch(text)), None)
        if match is None:
            return f"no line {line!r}"
        left.remove(match)
    return f"also {left[0]!r}" if left and "..." not in map(
        str.strip, shown) else None


class Shell:
    """A shell that runs one command after the other."""

    def __init__(self, directory, env):
        self.directory = directory
        self.commands = 0
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, cwd=directory, env=env, text=True,
            pass_fds=[writer], start_new_session=True)
        os.close(writer)
        self.codes = os.fdopen(reader)
        self.send(f"was() {{ return $1; }}; last=0; report={writer}")

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def run(self, command):
        """Returns the exit code and the output of a command. The command sees
        the exit code of the previous command as `$?`, and an empty file as its
        input. Jobs behind the prompt keep the file of their own command."""
        self.commands += 1
        name = f".out.{self.commands}"
        self.send(f"was $last\n{{ {command}\n}} > {name} 2>&1 < /dev/null\n"
                  'last=$?; echo "$last" >&"$report"')
        code = self.codes.readline()
        check(code, f"the shell has ended at {command!r}")
        with open(os.path.join(self.directory, name), encoding="utf-8", errors="replace") as file:
            return int(code), file.read()

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.codes.close()


def step(shell, command, shown, after):
    """Runs one command; AFTER is the next command."""
    code, problem, out = 0, None, ""

    def as_shown():
        nonlocal code, problem, out
        code, out = shell.run(command)
        problem = difference(shown, out)
        if code and after != "echo $?":
            problem = f"exit code {code}"
        return problem is None

    if command.startswith(OBSERVERS):
        try:
            harness.until(as_shown, "the page's output")
            return
        except Failure:
            pass
    elif as_shown():
        return
    raise Failure(f"$ {command}\n    {problem} in:\n{out}")


def check_kinds(path):
    """Fails if a page of docs/users has a block that is neither executed nor a file."""
    with open(path, encoding="utf-8") as text:
        fences = re.findall(r"^```(.*)$", text.read(), re.M)
    for kind in fences[::2] if path != README else ():
        check(kind == "console" or len(kind.split()) == 2,
              f"a block of kind {kind!r} is not executed")


def page(bench, path, files):
    _, steps = blocks(path)
    check(steps, "the page has no commands")
    check_kinds(path)
    directory = tempfile.mkdtemp()
    for name, text in files.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text)
    shell = Shell(directory, dict(
        bench.env, PATH=STAND_INS + ":" + bench.env["PATH"],
        XDG_STATE_HOME=os.path.join(directory, ".state")))
    following = [command for command, _ in steps[1:]] + [""]
    try:
        for (command, shown), after in zip(steps, following):
            step(shell, command, shown, after)
    except Failure:
        shell.run("canopy kill --all --now; canopy down --force; kill $(jobs -p)")
        raise
    finally:
        shell.end()
        shutil.rmtree(directory)


def run(bench):
    every = {}
    for name in sorted(os.listdir(PAGES)):
        path = os.path.join(PAGES, name)
        files = blocks(path)[0]
        every.update(files)
        bench.case(f"user page: {name}",
                   lambda path=path, files=files: page(bench, path, files))
    bench.case("user page: README.md", lambda: page(bench, README, every))
