#!/usr/bin/env python3
"""Mutations: leaves each attribute out of each function that knows it, and
prints which conformance program notices that.

A library that is preloaded into the programs (mutation/) gives the effect of an
implementation that accepts an attribute and ignores it. First every program runs
unchanged, which shows what it passes and receives. Then, for each pair that
coverage.py requires, the programs with the pair run without it until one fails:
that program notices the attribute, and has the row in effects.tsv. All run at
one place, on 2 emulated nodes at radix 2.

Usage: tests/conformance/mutation.py [--write] [WORD...]
       only pairs with a WORD in "FUNCTION ATTRIBUTE", or in "any ATTRIBUTE" of
       the attributes of chapters
--write puts the result into effects.tsv. CANOPY_PREFIX and CANOPY_SHARDS are as
in run.py. A pair fails if no program notices it, unless another table of
coverage.py states why.
"""
import contextlib
import json
import os
import re
import sys
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]
import coverage  # noqa: E402
import harness  # noqa: E402
import run  # noqa: E402
import runner  # noqa: E402
import shards  # noqa: E402

PLACE = (2, 2, "node")
WRITE = "CANOPY_WRITE_EFFECTS"
EFFECTS = os.path.join(HERE, "effects.tsv")
# Cases whose first word is not the name of their program.
PROGRAMS = {"server files": "server_files", "tool server": "tool_server",
            "launcher: indirect": "indirect"}
# The least time of a program that lacks an attribute, in seconds.
LEAST_SECONDS = 6
# The time in which all worlds run every program unchanged, in seconds.
UNCHANGED_SECONDS = 900


def name_of(function, attribute):
    """Returns the name of a pair, which has no function if the attribute
    belongs to a chapter."""
    return f"{'any' if function == '-' else function} {attribute}"


def program_of(label):
    return PROGRAMS.get(label) or re.match(r"\w+", label)[0]


class Suite(run.Suite):
    """The cases of run.py at one place, of which one runs at a time, with the
    library of mutations."""

    def __init__(self, share):
        super().__init__(share, [])
        self.labels, self.chosen, self.problem = [], None, None
        self.plain, self.variables = dict(self.env), {}

    def wanted(self, *names):
        if self.chosen is None:
            self.labels.append(names[0])
        return names[0] == self.chosen

    def start(self, *args, **more):
        """Runs Canopy's commands and agents without the library."""
        if args[0] == "run":
            given = [word for name, value in self.variables.items()
                     for word in ("-x", f"{name}={value}")]
            args = (args[0], *given, *args[1:])
        loaded, self.env = self.env, self.plain
        try:
            return super().start(*args, **more)
        finally:
            self.env = loaded

    def run(self, *args, timeout=60, **more):
        """Jobs that a failed program has spawned may stay."""
        if args[0] == "run":
            timeout = self.seconds + 4
        return super().run(*args, timeout=timeout, **more)

    @contextlib.contextmanager
    def overlay(self, name, *options, **more):
        there = name.startswith(f"{PLACE[0]}-nodes")
        if there and self.chosen is not None and ": 2 nodes" in self.chosen:
            self.shaped(*PLACE[:2])
        yield there

    @contextlib.contextmanager
    def standing(self, name, *options, **more):
        self.run("up", "--context", name, *options).expect()
        try:
            yield True
        finally:
            self.run("down", "--context", name, "--force")

    @contextlib.contextmanager
    def taken(self, alone=False):
        """The chosen case is of this world."""
        yield True

    def lower(self):
        """Leaves the overlay up for the next case, unless the next case needs
        no overlay."""
        if self.chosen is not None and "nodes" not in self.chosen:
            super().lower()

    def case(self, name, body, **_):
        if not self.wanted(name):
            return
        self.jobs = []
        try:
            body()
        except Exception as error:  # any effect of a mutation
            self.problem = str(error) or type(error).__name__
        self.end_jobs()
        if self.problem:  # the overlay ends, with the leftovers of the case
            super().lower()
            self.sweep(types.SimpleNamespace(processes=()))

    def attempt(self, label, drop, seconds):
        """Runs one case, without the attribute that `drop` names. Returns the
        problem, or None, and the lines that the library has written."""
        seen = os.path.join(self.work, "seen")
        with open(seen, "w", encoding="utf-8"):
            os.chmod(seen, 0o666)
        self.variables = {"LD_PRELOAD": self.library,
                          "CANOPY_MUTATION_SEEN": seen,
                          "CANOPY_MUTATION_SECONDS": str(seconds)}
        if drop:
            self.variables["CANOPY_MUTATION_DROP"] = drop
        self.env = dict(self.plain, **self.variables)
        self.chosen, self.problem, self.seconds = label, None, seconds
        run.cases(self, [PLACE])
        self.env = self.plain
        with open(seen, encoding="utf-8", errors="replace") as file:
            return self.problem, set(file.read().splitlines())


class Mutations:
    """The runs of one world."""

    def __init__(self, share, words):
        self.share, self.words = share, words
        self.suite = Suite(share)
        run.cases(self.suite, [PLACE])
        self.labels = [label for label in dict.fromkeys(self.suite.labels)
                       if label != "helpers" and ": 4 nodes" not in label]
        self.hints = {(row.function, row.attribute): row.program
                      for row in coverage.effects()}

    def path(self, name):
        return os.path.join(self.share.directory, name)

    def run_unchanged(self):
        """Records what each program passes and receives. The worlds share the
        programs, and each waits for all."""
        for number, label in enumerate(self.labels):
            if self.share.take(False):
                begin = time.monotonic()
                problem, lines = self.suite.attempt(label, None, 100)
                if problem:
                    self.share.report("unchanged: " + label, 0, problem)
                record = [label, time.monotonic() - begin,
                          [] if problem else sorted(lines)]
                with open(self.path(f"part-{number}"), "w",
                          encoding="utf-8") as file:
                    json.dump(record, file)
                os.rename(file.name, self.path(f"unchanged-{number}"))
        self.records = [self.read(number) for number in range(len(self.labels))]

    def read(self, number):
        path = self.path(f"unchanged-{number}")
        harness.until(lambda: os.path.exists(path), "all programs",
                      UNCHANGED_SECONDS)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def candidates(self, pair, key):
        """Returns (label, seconds) of the programs with the pair: first the
        program that noticed the pair last time, then the programs of effects,
        then the others, the fastest first."""
        def has(lines):
            return any(line.endswith(" " + key) and
                       (pair[0] == "-" or line == f"{pair[0]} {key}")
                       for line in lines)
        hint = self.hints.get(pair)
        found = [(program_of(label) != hint,
                  not program_of(label).endswith("_effects"), seconds, label)
                 for label, seconds, lines in self.records
                 if has(lines) and coverage.names(program_of(label), *pair)]
        return [(label, seconds) for *_, seconds, label in sorted(found)]

    def judge(self, pair, key):
        """Returns the program that notices the pair and how, or None and why
        there is none."""
        candidates = self.candidates(pair, key)
        if not candidates:
            return None, "no program passes or receives it"
        drop = f"{'*' if pair[0] == '-' else pair[0]}:{key}"
        for label, seconds in candidates:
            bound = round(max(LEAST_SECONDS, 4 * seconds))
            problem, lines = self.suite.attempt(label, drop, bound)
            if problem and "dropped" in lines:
                return program_of(label), first_line(problem)
        return None, f"survives {len(candidates)} cases"

    def run_pairs(self):
        for function, attribute, key in coverage.pairs():
            name = name_of(function, attribute)
            if self.words and not any(word in name for word in self.words):
                continue
            if not self.share.take(False):
                continue
            begin = time.monotonic()
            program, how = self.judge((function, attribute), key)
            excused = coverage.stated((function, attribute))
            problem = None if program or excused else how
            text = f"{name}: {program or 'no program'} ({how})"
            self.share.report(name if problem else text,
                              time.monotonic() - begin, problem)
            with self.share.lock("verdicts"), open(
                    self.path("verdicts"), "a", encoding="utf-8") as file:
                file.write(json.dumps([function, attribute, program]) + "\n")


def first_line(problem):
    """Returns the line of the problem that a conformance program has printed, if
    there is one."""
    found = re.search(r"\w+: rank \d+: (?:\S*/)?(.*)", problem)
    return (found[1] if found else problem.splitlines()[0]).strip()[:120]


def write(path):
    """Puts the verdicts into effects.tsv, whose other rows stay."""
    found = {(row.function, row.attribute): row.program
             for row in coverage.effects()}
    with open(path, encoding="utf-8") as file:
        for function, attribute, program in map(json.loads, file):
            found[function, attribute] = program
    with open(EFFECTS, "w", encoding="utf-8") as file:
        file.write("function\tattribute\tprogram\n")
        for function, attribute, _ in coverage.pairs():
            program = found.get((function, attribute))
            if program:
                file.write(f"{function}\t{attribute}\t{program}\n")


def inside(share, words):
    if share.name == shards.ALONE:  # the last world
        count = len(Mutations(share, words).labels) + sum(
            not words or any(word in name_of(f, a) for word in words)
            for f, a, _ in coverage.pairs())
        share.seen = count
        verdicts = os.path.join(share.directory, "verdicts")
        if os.environ.get(WRITE) and os.path.exists(verdicts):
            write(verdicts)
        return
    mutations = Mutations(share, words)
    mutations.suite.make_library()
    with mutations.suite.stack:
        mutations.run_unchanged()
        mutations.run_pairs()


if __name__ == "__main__":
    if "--write" in sys.argv:
        sys.argv.remove("--write")
        os.environ[WRITE] = "1"
    sys.exit(runner.main(__file__, __doc__, "mutations", inside))
