#!/usr/bin/env python3
"""Conformance: programs in C that check every rule of the PMIx calls from
inside real jobs, on 1, 2 and 4 emulated nodes, at radix 2 and 32.

Usage: tests/conformance/run.py [WORD...]   only the cases with a WORD in them
CANOPY_PREFIX=P takes what is installed below P instead of installing anew.
"""
import glob
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
import harness  # noqa: E402
import isolation  # noqa: E402

WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
# (nodes, radix, how ranks are laid out)
PLACES = [(1, 2, "slot"), (1, 32, "slot"), (2, 2, "node"), (2, 32, "slot"),
          (4, 2, "slot"), (4, 32, "node")]
SIZE = 8


class Suite(harness.Bench):
    def __init__(self, work, only):
        super().__init__(work, only)
        self.flags = self.pkg_config("--cflags", "--libs")

    def pkg_config(self, *args):
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(
            self.prefix, "lib", "pkgconfig"))
        return shlex.split(subprocess.run(
            ["pkg-config", *args, "pmix"], env=env, check=True, text=True,
            stdout=subprocess.PIPE).stdout)

    def program(self, name):
        out = os.path.join(self.work, name)
        if not os.path.exists(out):
            subprocess.run(["cc", *WARNINGS, "-O1", "-g", "-o", out,
                            os.path.join(HERE, name + ".c"), *self.flags,
                            "-pthread"], check=True)
        return out

    def job(self, name, place, *words, size=SIZE, used=None, first=None,
            then=(), expect=None):
        """Runs a program; every rank must say that it kept the rules.

        used: nodes that get ranks, when not all. first: ranks of a first
        application; the rest are a second one, whose last words are `then`.
        """
        nodes, radix, layout = place
        label = " ".join([name, *map(str, words)])

        def body():
            program = [self.program(name), size, used or nodes, *words]
            command = ["-n", first or size, "--map-by", layout,
                       "--oversubscribe", *program]
            if first:
                command += [":", "-n", size - first,
                            *program[:-len(then)], *then]
            result = self.run("run", "--nodes", nodes, "--radix", radix,
                              *command)
            if expect:
                expect(result)
            else:
                all_kept(result, name, size)
        self.case(f"{label}: {nodes} nodes, radix {radix}, by {layout}", body)


def all_kept(result, name, size):
    """Fails unless each of SIZE ranks printed its line, and none a broken rule."""
    result.expect(code=0)
    lines = result.out.splitlines()
    lost = [r for r in range(size) if f"{name} ok {r}" not in lines]
    if lost:
        raise harness.Failure(f"no 'ok' of ranks {lost}{result.tail()}")


def medians(result):
    all_kept(result, "fence_repeat", SIZE)
    print("  " + result.out[result.out.index("fence of"):].splitlines()[0])


def aborts(suite, place):
    """Who ends, with what code, and what the user is told."""
    def ends(result, survivors, text, rank):
        result.expect(code=23, err=[text, f"rank {rank} ", "status 23"])
        told = sorted(result.out.splitlines())
        if told != sorted(f"abort ok {r}" for r in survivors):
            raise harness.Failure("not the survivors" + result.tail())

    for word, survivors, text, rank in (
            ("all", [], "told by the test", SIZE - 1),
            ("wildcard", [], "told by the test", SIZE - 1),
            ("part", range(SIZE // 2), "only a part", 0),
            ("self", [0, *range(2, SIZE)], "called abort", 1)):
        suite.job("abort", place, word, expect=lambda r, s=survivors, t=text,
                  k=rank: ends(r, s, t, k))
    suite.job("abort", place, "refused")


def headers_of_others():
    """The same sources compile against another library's headers."""
    include = "/usr/lib/x86_64-linux-gnu/pmix2/include"
    if not os.path.exists(os.path.join(include, "pmix.h")):
        raise harness.Failure("no headers of libpmix-dev")
    for source in sorted(glob.glob(os.path.join(HERE, "*.c"))):
        subprocess.run(["cc", *WARNINGS, "-fsyntax-only", "-I", include,
                        source], check=True)


def cases(suite):
    for place in PLACES:
        suite.job("lifecycle", place)
        suite.job("reserved", place, 1, "app0")
        suite.job("reserved", place, 2, "app0", first=3, then=["app1"])
        for name in ("values", "scopes", "modex", "get_rules", "large", "fence",
                     "fence_errors", "threads"):
            suite.job(name, place)
        suite.job("fence_repeat", place, "same", expect=medians)
        aborts(suite, place)
    suite.job("reserved", (4, 2, "slot"), 1, "app0", 4, size=2, used=1)
    suite.job("reserved", (4, 32, "node"), 1, "app0", 4, size=2, used=2)


def inside(keep, words):
    suite = Suite(keep[1], words)
    suite.case("sources compile with libpmix-dev", headers_of_others)
    cases(suite)
    print(f"conformance: {suite.passed} passed, {suite.failed} failed")
    return 0 if suite.failed == 0 and suite.passed > 0 else 1


def install(work):
    """Puts Canopy below WORK; returns the paths that must stay visible."""
    prefix = os.path.join(work, "prefix")
    given = os.environ.get("CANOPY_PREFIX")
    if given:
        os.symlink(os.path.abspath(given), prefix)
        return [work, os.path.abspath(given)]
    subprocess.run([os.path.join(harness.ROOT, "install"), "--prefix", prefix],
                   check=True, stdout=subprocess.DEVNULL)
    return [work]


def outside(words):
    trouble = isolation.available()
    if trouble:
        print("FAILED isolation: cannot make namespaces: " + trouble)
        return 1
    work = tempfile.mkdtemp(prefix="canopy-it-", dir="/tmp")
    try:
        return isolation.enter(__file__, [harness.ROOT, *install(work)], words)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    if sys.argv[1:2] == [isolation.INSIDE]:
        return isolation.settle_in(sys.argv[2:], inside)
    return outside(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
