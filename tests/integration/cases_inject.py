"""Canopy finds out before the start whether a program can use its libpmix: the
program gets a library that it can use, and at most one line states the reason.
"""
import json
import os
import subprocess

import netns
from harness import PROGRAMS, check

OWN = "rank {} has own 1.0"
OURS = "rank {} has OpenPMIx"
HINT = "--inject never"
# A launch agent that mounts another directory of libraries on one node.
OTHER_FILES = """#!/bin/sh
host=$1
shift
[ "$host" = n2 ] && set -- unshare -m sh -c \
    'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh {other} {own} "$@"
exec ip netns exec "$host" "$@"
"""


class Programs:
    """The programs of one case, and the libraries with which they are linked."""

    def __init__(self, bench, name):
        self.root = os.path.join(bench.work, "inject-" + name)
        self.own = os.path.join(self.root, "own")
        os.makedirs(self.own)
        self.library("libpmix.so.2", "own_pmix.c")

    def gcc(self, out, source, *more):
        subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-o", out,
                        os.path.join(PROGRAMS, source), *more], check=True)
        return out

    def library(self, soname, source, *more, where=None):
        return self.gcc(os.path.join(where or self.own, soname), source,
                        "-shared", "-fPIC", f"-Wl,-soname,{soname}", *more)

    def link(self, *more):
        """Returns the options that link with the program's own libpmix."""
        return [os.path.join(self.own, "libpmix.so.2"), *more]

    def runpath(self, tags="--enable-new-dtags"):
        return f"-Wl,{tags},-rpath,{self.own}"

    def program(self, name, *more):
        return self.gcc(os.path.join(self.root, name), "which.c", *more)

    def two_deep(self, wants=True):
        plain = [] if wants else ["-DPLAIN"]
        deep = self.library("libdeep.so.1", "deep.c", "-DDEEP", *plain,
                            *self.link(self.runpath()))
        middle = self.library("libmiddle.so.1", "deep.c", deep, self.runpath())
        return self.program("two-deep", "-DWANTS_DEEP", middle, *self.link(),
                            self.runpath())


def ran(result, expected, line=()):
    """Checks that both ranks had that library. LINE has words of the one line with
    the reason."""
    result.expect_lines([expected.format(rank) for rank in range(2)])
    lines = result.err.splitlines()
    check(len(lines) == (1 if line else 0), "lines" + result.tail())
    for word in line:
        check(word in lines[0], f"no {word!r}" + result.tail())


def two(bench, program, *options, **more):
    return bench.run("run", "--emulate", 2, "--map-by", "node", "-n", 2, *options,
                     program, **more)


def missing(bench):
    p = Programs(bench, "missing")
    program = p.program("which", "-DWANTS_MORE", *p.link(p.runpath()))
    ran(two(bench, program), OWN, ["which needs pmix_more", p.own])
    ran(two(bench, program, "--inject", "always"), OWN, ["pmix_more"])
    ran(two(bench, program, "--inject", "never"), OWN)
    ran(two(bench, program, "--quiet"), OWN)
    found = two(bench, program, "-o", "json")
    note = json.loads(found.err.splitlines()[-1])["notes"][0]
    check(note["count"] == 2 and "pmix_more" in note["reason"], found.err)


def fits(bench):
    p = Programs(bench, "fits")
    ran(two(bench, p.program("which", *p.link(p.runpath()))), OURS)


def built_anew(bench):
    """If a program's file is replaced, Canopy examines it again."""
    with bench.overlay("inject", "--emulate", "2") as up:
        if not up:
            return

        def again():
            p = Programs(bench, "anew")
            run = ["run", "--context", "inject", "--map-by", "node", "-n", 2]
            program = p.program("which", *p.link(p.runpath()))
            ran(bench.run(*run, program), OURS)
            ran(bench.run(*run, program), OURS)
            p.program("which", "-DWANTS_MORE", *p.link(p.runpath()))
            ran(bench.run(*run, program), OWN, ["pmix_more"])
            ran(bench.run(*run, program), OWN, ["pmix_more"])
        bench.case("inject: a program that is built anew", again)


def two_deep(bench):
    p = Programs(bench, "deep")
    ran(two(bench, p.two_deep()), OWN, ["libdeep.so.1 needs pmix_more"])


def own_place(bench):
    p = Programs(bench, "rpath")
    program = p.program("which", "-DWANTS_MORE",
                        *p.link(p.runpath("--disable-new-dtags")))
    ran(two(bench, program), OWN)


def static(bench):
    p = Programs(bench, "static")
    source = os.path.join(PROGRAMS, "own_pmix.c")
    ran(two(bench, p.program("which", source, "-static"), "--inject",
            "always"), OWN)


def musl(bench):
    """Ranks whose C library is musl exchange data across nodes, and a host whose C
    library is musl serves a rank."""
    def build(name):
        return bench.compile("musl-gcc", name, f"-I{bench.prefix}/include",
                             f"-L{bench.prefix}/lib", "-lpmix")
    fences = build("fences")
    bench.run("doctor", fences).expect(out=["musl", "runs with Canopy's library"])
    bench.run("run", "--emulate", 2, "--map-by", "node", "-n", 4, fences, 4, 1000,
              stdin=b"").expect(out=["up"])
    bench.run(program=build("few_functions"), env={
        "LD_LIBRARY_PATH": f"{bench.prefix}/lib"}).expect(out=["few functions ok"])


def small(bench):
    """Uses a 32-bit program, which the agents examine but this machine need not
    be able to run."""
    p = Programs(bench, "small")
    text = os.path.join(p.root, "a.s")
    with open(text, "w", encoding="utf-8") as file:
        file.write(".globl _start, f\n_start: f: hlt\n")
    for command in (
            ["as", "--32", "-o", "a.o", text],
            ["ld", "-m", "elf_i386", "-shared", "-soname", "libpmix.so.2", "-o",
             "libpmix.so.2", "a.o"],
            ["ld", "-m", "elf_i386", "-dynamic-linker", "/lib/ld-linux.so.2",
             "-rpath", p.root, "--enable-new-dtags", "-o", "small", "a.o",
             "libpmix.so.2"]):
        subprocess.run(command, cwd=p.root, check=True)
    bench.run("doctor", os.path.join(p.root, "small")).expect(
        out=["runs with its own library: Canopy's libpmix has 64 bits, the "
             "program has 32"])


def script(bench):
    """Canopy does not know which programs a script starts. A script whose program
    cannot use the library fails with a hint that names the remedy."""
    p = Programs(bench, "script")
    program = p.program("which", "-DWANTS_MORE", *p.link(p.runpath()))
    path = os.path.join(p.root, "script")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{program}\n")
    os.chmod(path, 0o755)
    two(bench, path).expect(code=127, err=["symbol lookup error", HINT])
    ran(two(bench, path, "--inject", "never"), OWN)
    two(bench, "sh", "--inject", "never").expect()
    bench.run("run", "sh", "-c", "exit 3").expect(code=3, absent=[HINT])
    # A missing command is not a program that cannot be loaded.
    bench.run("run", "-n", 1, "sh", "-c", "no-such-command").expect(
        code=127, err=["no-such-command", "not found"], absent=[HINT])
    bench.run("run", "-n", 1, "sh", "-c", "exit 127").expect(
        code=127, absent=[HINT])


def doctor(bench):
    p = Programs(bench, "doctor")
    program = p.two_deep()
    text = bench.run("doctor", program).expect(out=[
        "missing: pmix_more, needed by libdeep.so.1", "runs with its own library",
        os.path.join(p.own, "libpmix.so.2")]).out
    check(text.count("\non ") == 0 and text.startswith("on "), text)
    bench.run("doctor", "/bin/true").expect(out=["not linked"])
    bench.run("doctor", os.path.join(PROGRAMS, "which.c")).expect(
        code=126, err=["make it executable"])
    bench.run("doctor", "no-such-program").expect(code=127, err=["not found"])


def doctor_of_an_overlay(bench):
    with bench.overlay("doctor", "--emulate", "3") as up:
        if not up:
            return

        def ask():
            program = Programs(bench, "doctor-overlay").two_deep()
            bench.run("doctor", "--context", "doctor", program).expect(
                out=["on node1, node2, node3:\n", "runs with its own library"])
            notes = bench.json("doctor", "--context", "doctor", program)
            check(notes["notes"][0]["count"] == 3, str(notes))
            check(not bench.json("ps", "--context", "doctor").get("jobs"),
                  "a job is left")
        bench.case("inject: doctor on every node", ask)


def nodes_differ(bench):
    p = Programs(bench, "differ")
    program = p.two_deep()
    other = os.path.join(p.root, "other")
    subprocess.run(["cp", "-r", p.own, other], check=True)
    p.library("libdeep.so.1", "deep.c", "-DDEEP", "-DPLAIN",
              *p.link(p.runpath()), where=other)
    agent = os.path.join(p.root, "agent")
    with open(agent, "w", encoding="utf-8") as file:
        file.write(OTHER_FILES.format(other=other, own=p.own))
    os.chmod(agent, 0o755)
    with netns.Namespaces(2):
        result = bench.run("run", "--host", "n1,n2", "--launch-agent",
                           agent + " {host}", "-n", 2, "--map-by", "node",
                           program)
    result.expect_lines([OWN.format(0), OURS.format(1)])
    lines = result.err.splitlines()
    check(len(lines) == 1 and lines[0].endswith("(on n1)") and
          "libdeep.so.1 needs pmix_more" in lines[0], result.err)


def run(bench):
    for name, body in (
            ("all is there", fits), ("a symbol missing", missing), ("a symbol missing two deep",
                                            two_deep),
            ("a place of its own", own_place), ("linked statically", static),
            ("a program of musl", musl), ("32 bits", small),
            ("a script", script), ("doctor", doctor),
            ("nodes that differ", nodes_differ)):
        bench.case("inject: " + name, lambda: body(bench))
    built_anew(bench)
    doctor_of_an_overlay(bench)
