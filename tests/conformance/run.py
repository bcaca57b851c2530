#!/usr/bin/env python3
"""Conformance: programs in C that check every rule of the PMIx calls from
inside real jobs, on 1, 2 and 4 emulated nodes, at radix 2 and 32.
Usage: tests/conformance/run.py [WORD...]   only the cases with a WORD in them
       tests/conformance/run.py --list [WORD...]   their names
CANOPY_PREFIX=P takes what is installed below P. Otherwise .canopy is taken, where
./quickstart installs, if it is newer than all sources, or Canopy is installed anew.
CANOPY_SHARDS=N runs up to N cases at once (default: one more than CPUs, at most 8).
"""
import contextlib
import glob
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
import cases_running  # noqa: E402
import cases_tools  # noqa: E402
import harness  # noqa: E402
import runner  # noqa: E402

WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
# (nodes, radix, layout of the ranks)
PLACES = [(1, 2, "slot"), (1, 32, "slot"), (2, 2, "node"), (2, 32, "slot"),
          (4, 2, "slot"), (4, 32, "node")]
SIZE = 8
KEYS = os.path.join(HERE, "..", "..", "docs", "reserved_keys.md")
ATTRIBUTES = os.path.join(HERE, "..", "..", "client", "include", "tables",
                          "attributes.tsv")
HELPERS = os.path.join(HERE, "..", "codec", "helpers_test.c")
GENERATOR = os.path.join(HERE, "mutation", "generate.py")
# A machine with fabric devices, in hwloc's format.
DEVICES = os.path.join(HERE, "devices.xml")
# Libraries that programs need in addition to the PMIx library.
LIBRARIES = {name + part: [library] for part in ("", "_names", "_spawn", "_abort")
             for name, library in (("pmi1", "-lpmi"), ("pmi2", "-lpmi2"))}
# In seconds. Agents on a busy machine may be silent for a while.
LOSS_TIMEOUT = 60


class Suite(harness.Bench):
    def __init__(self, share, only):
        super().__init__(share, only)
        self.shape, self.stack = None, contextlib.ExitStack()
        self.library = os.path.join(share.directory, "mutation.so")
        self.flags = self.pkg_config("--cflags", "--libs")

    def pkg_config(self, *args):
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(
            self.prefix, "lib", "pkgconfig"))
        return shlex.split(subprocess.run(
            ["pkg-config", *args, "pmix"], env=env, check=True, text=True,
            stdout=subprocess.PIPE).stdout)

    def program(self, name):
        out = os.path.join(self.share.directory, name)
        self.share.make(out, ["cc", *WARNINGS, "-O1", "-g", "-o", out,
                              os.path.join(HERE, name + ".c"),
                              *LIBRARIES.get(name, []), *self.flags,
                              "-pthread"])
        return out

    def make_library(self):
        """Builds the library that is preloaded to change the calls of a
        program."""
        source = self.library + ".c"
        self.share.make(source, [
            "sh", "-c", f"{sys.executable} {GENERATOR} > {source}"])
        self.share.make(self.library, [
            "cc", *WARNINGS, "-O1", "-fPIC", "-shared", "-o", self.library,
            "-I", os.path.dirname(GENERATOR), source, *self.flags])

    def nonblocking_options(self):
        """Returns options of a job whose blocking calls are carried out by the
        non-blocking forms."""
        self.make_library()
        return ["-x", "LD_PRELOAD=" + self.library, "-x", "CANOPY_NONBLOCKING=1"]

    def shaped(self, nodes, radix):
        """Returns options for jobs on an overlay, which stays up until another
        shape is requested."""
        name = f"shape-{nodes}-{radix}"
        if self.shape != name:
            self.lower()
            self.stack.enter_context(self.standing(
                name, "--emulate", nodes, "--radix", radix, "--loss-timeout",
                LOSS_TIMEOUT, quiet=True))
            self.shape = name
        return ["--context", name]

    def lower(self):
        """Takes down the overlay of shaped()."""
        self.shape = None
        self.stack.close()

    def job(self, name, place, *words, size=SIZE, used=None, first=None,
            then=(), options=(), expect=None, own=False, alone=False,
            nonblocking=False):
        """Runs a program; every rank must print that it kept the rules.

        used: the number of nodes with ranks, if not all. first: the ranks of a
        first application; the others belong to a second one, whose last words
        are `then`. own: the job has its own agents, which end with it. alone:
        it keeps all CPUs busy. nonblocking: blocking calls are carried out by
        the non-blocking forms.
        """
        nodes, radix, layout = place
        label = " ".join([name, *(w for w in map(str, words) if w[0] != "/")])
        if nonblocking:
            label += ", non-blocking"

        def body():
            more = self.nonblocking_options() if nonblocking else []
            program = [self.program(name), size, used or nodes, *words]
            command = ["-n", first or size, "--map-by", layout,
                       "--oversubscribe", *more, *options, *program]
            if first:
                command += [":", "-n", size - first,
                            *program[:-len(then)], *then]
            result = self.run("run", *where, *command, timeout=120)
            if expect:
                expect(result)
            else:
                all_kept(result, name, size)
        label += f": {nodes} nodes, radix {radix}, by {layout}"
        with self.taken(alone) if self.wanted(label) else \
                contextlib.nullcontext() as mine:
            if mine:
                where = ["--emulate", nodes, "--radix", radix] if own else \
                    self.shaped(nodes, radix)
                self.case(label, body)


# Programs that also run with their blocking calls carried out by the
# non-blocking forms, at one place.
NONBLOCKING = ("values", "scopes", "modex", "get_rules", "fence", "fence_errors",
               "fence_order", "events", "notify", "query", "resolve", "topology",
               "job_control", "publish", "groups", "invitations", "resources",
               "spawn", "credentials", "monitors", "usage", "job_life", "qualified",
               "debug")


NONBLOCKING_PLACE = PLACES[2]


def in_that_form(suite, body):
    """Runs a body whose programs are not launched, with the non-blocking forms of
    their calls."""
    before = suite.env
    suite.make_library()
    suite.env = dict(before, LD_PRELOAD=suite.library, CANOPY_NONBLOCKING="1")
    try:
        body(suite)
    finally:
        suite.env = before


def nonblocking_forms(suite, place):
    names = {**dict.fromkeys(NONBLOCKING), "logs": logged, "iof": forwarded}
    for name, expect in names.items():
        suite.job(name, place, expect=expect, nonblocking=True)
    for word in ("well", "badly"):
        cleanup(suite, place, word, nonblocking=True)
    suite.job("psets", place, options=["--pset", "launched"], nonblocking=True)
    by_hand(suite, place, "tools, non-blocking", lambda s: in_that_form(s, tools))
    by_hand(suite, place, "servers, non-blocking",
            lambda s: in_that_form(s, servers))
    suite.job("fabric", place, nonblocking=True)
    suite.job("fabric", place, "devices", nonblocking=True,
              options=["-x", "HWLOC_XMLFILE=" + DEVICES])


def all_kept(result, name, size):
    """Fails unless each of SIZE ranks printed its line without a violated rule.
    """
    result.expect(code=0)
    lines = result.out.splitlines()
    lost = [r for r in range(size) if f"{name} ok {r}" not in lines]
    if lost:
        raise harness.Failure(f"no 'ok' of ranks {lost}{result.tail()}")


def medians(result):
    all_kept(result, "fence_repeat", SIZE)
    print("  " + result.out[result.out.index("fence of"):].splitlines()[0])


def logged(result):
    """The text that ranks have logged must be in their output, on the right
    stream."""
    all_kept(result, "logs", SIZE)
    for rank in range(SIZE):
        for text, stream in ((f"out {rank}", result.out), (f"err {rank}", result.err),
                             (f"fault {rank}", result.err),
                             (f"once {rank}", result.out),
                             (f"stdout: tagged {rank}", result.out),
                             (f"2001-09-09T01:46:40Z timed {rank}", result.out)):
            if stream.splitlines().count(text) != 1:
                raise harness.Failure(f"not once: {text!r}{result.tail()}")
    if not 1 <= result.out.splitlines().count("gathered") <= 4:
        raise harness.Failure(f"not once a node: 'gathered'{result.tail()}")
    for word in ("never", "unserved"):
        if word in result.out or word in result.err:
            raise harness.Failure(f"logged: {word}{result.tail()}")


def aborts(suite, place):
    """Checks which processes end, the exit code, and the message for the user.
    """
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
        suite.job("abort", place, word, own=True, expect=lambda r, s=survivors,
                  t=text, k=rank: ends(r, s, t, k))
    suite.job("abort", place, "refused")
    suite.job("pmi1_abort", place, own=True, expect=lambda r: ends(
        r, [], "told by the test", SIZE - 1))
    suite.job("pmi2_abort", place, own=True, expect=lambda r: r.expect(
        code=1, err=["told by the test", f"rank {SIZE - 1} "]))


def bad_ends(suite, place):
    """The survivors must learn which process ended, and the user must get a
    message."""
    def told(result, code, text):
        result.expect(code=code, err=[f"rank {SIZE - 1} ", text],
                      out=[f"ended ok {r}" for r in range(SIZE - 1)])

    for word, code, text in (("killed", 137, "signal 9"), ("exit", 3, "code 3"),
                             ("deserter", 1, "finalize"),
                             ("abort", 17, "status 17: alone")):
        suite.job("ended", place, word, own=True, expect=lambda r, c=code,
                  t=text: told(r, c, t))


def cleanup(suite, place, word, nonblocking=False):
    """Registered files must be gone and the others present, however the job
    ended."""
    kept = ["full.kept", "full.kept/file.kept", "target.kept", "top.kept",
            "tree", "tree/kept", "unregistered.kept"]
    where = tempfile.mkdtemp(dir=suite.work)

    def look(result):
        if word == "well":
            all_kept(result, "cleanup", SIZE)
        else:
            result.expect(code=137)
        left = sorted(os.path.relpath(path, where) for path in glob.glob(
            where + "/**", recursive=True) if path != where + "/")
        want = sorted(str(r) + tail for r in range(SIZE)
                      for tail in ["", *("/" + name for name in kept)])
        if left != want:
            raise harness.Failure(f"left {sorted(set(left) - set(want))}, lost "
                                  f"{sorted(set(want) - set(left))}")
    suite.job("cleanup", place, where, word, own=True, expect=look,
              nonblocking=nonblocking)


def with_place(suite, place, name):
    """Runs a program that needs a directory for files, on every node."""
    where = tempfile.mkdtemp(dir=suite.work)
    os.chmod(where, 0o755)
    suite.job(name, place, where)


def shown(result, where):
    """Checks the output that spawn_output.c requests to be shown, and its
    files."""
    all_kept(result, "spawn_output", SIZE)
    lines = result.out.splitlines() + result.err.splitlines()
    patterns = (
        [rf"\S.*\[\d+,{rank}\]<std{way}>: {name} {way}" for way in ("out", "err")
         for rank, name in ((0, "tagged"), (5, "iof-tagged"))] +
        [rf"\[4\]<std{way}>: ranked {way}" for way in ("out", "err")] +
        [rf'<std{way} nspace="[^"]+" rank="3">element {way}</std{way}>'
         for way in ("out", "err")] +
        ["merged out", "merged err", "iof-merged out", "iof-merged err"])
    for pattern in patterns:
        if sum(re.fullmatch(pattern, line) is not None for line in lines) != 1:
            raise harness.Failure(f"not once: {pattern!r}{result.tail()}")
    for name in ("merged", "iof-merged"):
        harness.check(f"{name} err" in result.out.splitlines(),
                      "streams are not merged")
    harness.check(not any("named" in line or "iof-filed" in line
                          for line in lines), "it is shown" + result.tail())
    found = {}
    for path in glob.glob(where + "/**", recursive=True):
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(path, where)] = file.read()
    nspace = next(name.split("/")[1] for name in found if "/" in name)
    wanted = {"both.1": "merged out\nmerged err\n",
              "rank-2.stdout": "named out\n", "rank-2.stderr": "named err\n",
              f"directory/{nspace}/rank.4/stdout": "ranked out\n",
              f"directory/{nspace}/rank.4/stderr": "ranked err\n",
              f"iof.{nspace}.6.stdout": "iof-merged out\niof-merged err\n",
              f"iof.{nspace}.6.stderr": "",
              f"iof-directory/{nspace}/rank.7/stdout": "iof-filed out\n",
              f"iof-directory/{nspace}/rank.7/stderr": "iof-filed err\n"}
    harness.check(found == wanted, f"files: {found}")


def spawned_output(suite, place):
    for way in ("blocking", "nonblocking"):
        where = tempfile.mkdtemp(dir=suite.work)
        os.chmod(where, 0o755)
        suite.job("spawn_output", place, where, way,
                  expect=lambda result, where=where: shown(result, where))


# The number of jobs of each kind in spawn_reports.c.
REPORTS = 2


def reported(result):
    """The launcher must have the text that each job of spawn_reports.c
    requests."""
    all_kept(result, "spawn_reports", SIZE)
    lines = result.out.splitlines() + result.err.splitlines()

    def expect(count, pattern):
        found = sum(re.fullmatch(pattern, line) is not None for line in lines)
        if found != count:
            raise harness.Failure(f"{found} times {pattern!r}, not {count} times"
                                  + result.tail())

    texts = {"map": [(1, "job {}: 1 process on 1 node, .*")],
             "completion": [(1, "canopy: job {} has ended")],
             "events": [(1, "canopy: job {} has started: 1 process"),
                        (1, "canopy: job {} has ended")],
             "process": [(1, r"canopy: job {}: rank 0 on \S+ exited with code 0")],
             # One line is about the failure of every job.
             "failure": [(2, r"canopy: job {}: rank 0 on \S+ exited with code 3")],
             "state": [(1, "canopy: job {}: the job ran into its time limit .*")],
             "stacks": [(1, "canopy: job {}: the job ran into its time limit .*")]}
    for name, wanted in texts.items():
        jobs = [line.split()[1] for line in lines
                if re.fullmatch(rf"{name} \S+", line)]
        harness.check(len(jobs) == REPORTS, f"jobs of {name}: {jobs}")
        for job in jobs:
            for count, pattern in wanted:
                expect(count, pattern.format(re.escape(job)))
    for pattern in (r"rank 0 on \S+ is (not )?bound.*",
                    r"rank 0 on \S+, process \d+: (running|in MPI)", "1 rank 0:"):
        expect(REPORTS, pattern)


def reserved_keys():
    """Returns the table of docs/reserved_keys.md as lines for reserved_table:
    the key, its type, and the ways of a request that find it."""
    with open(ATTRIBUTES, encoding="utf-8") as file:
        keys = dict(line.split("\t")[:2] for line in file)
    with open(KEYS, encoding="utf-8") as file:
        for name, kind, ways in re.findall(
                r"^\| `(\w+)` \| (\S+) \| (\S+) \|", file.read(), re.M):
            if ways != "varies":
                yield f"{keys[name]} {kind} {ways}\n"


def reserved_table(suite, place):
    """Uses the first job of an overlay, whose session has no gap in its ranks.
    """
    path = os.path.join(suite.work, "keys")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(reserved_keys())
    suite.job("reserved_table", place, path, own=True,
              options=["--bind-to", "none"])


def two_jobs(suite, program, nodes, layout, nonblocking=False):
    """Runs a program as two jobs on the current overlay, which connect."""
    size = SIZE // 2
    options = suite.nonblocking_options() if nonblocking else []
    pipes = tempfile.mkdtemp(dir=suite.work)
    for name in ("first", "second"):
        os.mkfifo(os.path.join(pipes, name))
    jobs = [suite.start("run", *options, "--oversubscribe", "-n", size,
                        "--map-by", layout, suite.program(program), size, nodes,
                        pipes, name)
            for name in ("first", "second")]
    for job in jobs:
        all_kept(job.finish(60), program, size)


def singleton(suite):
    """Without an agent a process is a job of its own."""
    env = dict(suite.env, LD_LIBRARY_PATH=os.path.join(suite.prefix, "lib"))
    done = subprocess.run([suite.program("singleton"), "1", "1"], env=env,
                          check=False, capture_output=True, timeout=60)
    all_kept(harness.Result(done.returncode, done.stdout, done.stderr, 0),
             "singleton", 1)


def server_files(suite):
    """Runs a resource manager in C, whose files tools find."""
    env = dict(suite.env, LD_LIBRARY_PATH=os.path.join(suite.prefix, "lib"))
    done = subprocess.run([suite.program("server_files"), "1", "1"], env=env,
                          check=False, capture_output=True, timeout=60)
    all_kept(harness.Result(done.returncode, done.stdout, done.stderr, 0),
             "server_files", 1)


def tool_server(suite, *words):
    """Runs a tool that serves a process; with a directory it has a server
    itself."""
    env = dict(suite.env, LD_LIBRARY_PATH=os.path.join(suite.prefix, "lib"))
    done = subprocess.run([suite.program("tool_server"), "1", "1", *words],
                          env=env, check=False, capture_output=True, timeout=60)
    all_kept(harness.Result(done.returncode, done.stdout, done.stderr, 0),
             "tool_server", 1)


def tools(suite):
    """Runs a program that was not launched beside a job, whose agent it finds
    and which it ends."""
    job, nspace, directory = cases_tools.waiting_job(suite, suite.shape)
    tool_server(suite, directory)
    env = dict(suite.env, LD_LIBRARY_PATH=os.path.join(suite.prefix, "lib"))
    where = ["--context", suite.shape]

    def spawned_by(word):
        spawner = subprocess.run(
            [suite.program("tools"), "1", "1", directory, nspace, word],
            env=env, check=False, capture_output=True, timeout=60)
        return harness.Result(
            spawner.returncode, spawner.stdout, spawner.stderr,
            0).expect(out=["spawned "]).out.split()[-1]

    def jobs():
        return {one["job"] for one in suite.json("ps", *where)["jobs"]}

    # The second job ends with its tool; the first job has had time to end.
    stays, goes = spawned_by("nohup"), spawned_by("spawner")
    cases_running.until(lambda: goes not in jobs())
    harness.check(stays in jobs(), "a job has ended in spite of PMIX_NOHUP")
    suite.run("kill", *where, "--now", stays).expect()
    cases_running.until(lambda: jobs() == {nspace})
    done = subprocess.run(
        [suite.program("tools"), "1", "1", directory, nspace], env=env,
        check=False, capture_output=True, timeout=60)
    all_kept(harness.Result(done.returncode, done.stdout, done.stderr, 0),
             "tools", 1)
    job.finish(60).expect(code=128 + signal.SIGTERM, err=["asked to kill it"])


def servers(suite):
    """Does the same with all agents of the overlay as the tool's servers."""
    job, nspace, directory = cases_tools.waiting_job(suite, suite.shape)
    env = dict(suite.env, LD_LIBRARY_PATH=os.path.join(suite.prefix, "lib"))
    done = subprocess.run(
        [suite.program("servers"), "1", "1", os.path.dirname(directory), nspace],
        env=env, check=False, capture_output=True, timeout=60)
    all_kept(harness.Result(done.returncode, done.stdout, done.stderr, 0),
             "servers", 1)
    job.finish(60).expect(code=128 + signal.SIGTERM, err=["asked to kill it"])


def launcher(suite):
    """Without an agent a tool starts canopy run, which ends with the tool."""
    env = dict(suite.env, LD_LIBRARY_PATH=os.path.join(suite.prefix, "lib"))
    command = [suite.program("launcher"), "1", "1", suite.canopy]
    done = subprocess.run(command, env=env, check=False, capture_output=True,
                          timeout=90)
    all_kept(harness.Result(done.returncode, done.stdout, done.stderr, 0),
             "launcher", 1)
    done = subprocess.run([*command, "orphan"], env=env, check=False,
                          capture_output=True, timeout=90)
    harness.Result(done.returncode, done.stdout, done.stderr, 0).expect(
        out=["orphan "])


def address(suite):
    """Runs a launcher to which its processes connect back."""
    env = dict(suite.env, LD_LIBRARY_PATH=os.path.join(suite.prefix, "lib"))
    done = subprocess.run([suite.program("address"), "1", "1"], env=env,
                          check=False, capture_output=True, timeout=60)
    all_kept(harness.Result(done.returncode, done.stdout, done.stderr, 0),
             "address", 1)


def indirect(suite):
    """A tool starts a launcher that stops, with both styles of command line and
    both names of the launcher."""
    env = dict(suite.env, LD_LIBRARY_PATH=os.path.join(suite.prefix, "lib"))
    program = suite.program("indirect")
    run = ["--oversubscribe"]
    job = ["-n", "2", program, "2", "1", "child"]
    mpirun = [suite.canopy + "-mpirun", "--allow-run-as-root"]
    for words in (["defers", suite.canopy, "run", *run, *job],
                  ["defers", *mpirun, *run, *job],
                  ["parses", suite.canopy, "run", *run],
                  ["parses", *mpirun]):
        done = subprocess.run([program, "1", "1", *words], env=env, check=False,
                              capture_output=True, timeout=90)
        all_kept(harness.Result(done.returncode, done.stdout, done.stderr, 0),
                 "indirect", 1)


def helpers(suite):
    """Runs the program that calls every helper, with the installed library."""
    out = os.path.join(suite.share.directory, "helpers")
    suite.share.make(out, ["cc", *WARNINGS, "-O1", "-g", "-o", out, HELPERS,
                           *suite.flags])
    env = dict(suite.env, LD_LIBRARY_PATH=os.path.join(suite.prefix, "lib"))
    done = subprocess.run([out], env=env, check=False, capture_output=True,
                          timeout=60)
    harness.Result(done.returncode, done.stdout, done.stderr, 0).expect(code=0)


# Programs that use definitions which release 4.2, whose headers libpmix-dev
# has, lacks.
NEWER = ("delete_keys", "usage")


def headers_of_others():
    """Compiles the same sources with another library's headers."""
    include = "/usr/lib/x86_64-linux-gnu/pmix2/include"
    if not os.path.exists(os.path.join(include, "pmix.h")):
        raise harness.Failure("no headers of libpmix-dev")
    for source in sorted(glob.glob(os.path.join(HERE, "*.c"))):
        if os.path.basename(source)[:-2] in (*LIBRARIES, *NEWER):
            continue
        subprocess.run(["cc", *WARNINGS, "-fsyntax-only", "-I", include,
                        source], check=True)


def by_hand(suite, place, name, body):
    """Runs a case of a program that is not launched."""
    label = f"{name}: {place[0]} nodes, radix {place[1]}"
    if not suite.wanted(label):
        return
    with suite.taken() as mine:
        if mine:
            suite.shaped(*place[:2])
            suite.case(label, lambda: body(suite))


def forwarded(result):
    """Output pulled as a copy must be shown, and redirected output must not."""
    all_kept(result, "iof", SIZE)
    lines = result.out.splitlines()
    for text in [f"{what} {rank}" for what in ("copied", "later") for rank in range(SIZE)]:
        if lines.count(text) != 1:
            raise harness.Failure(f"not once: {text!r}{result.tail()}")
    for text, count in ((f"redirected {SIZE - 1}", 0), (f"restored {SIZE - 1}", 1)):
        if lines.count(text) != count:
            raise harness.Failure(f"not {count} times: {text!r}{result.tail()}")


def only_in_file(result):
    """Output that is pulled for files alone must not be shown."""
    all_kept(result, "iof_effects", SIZE)
    harness.check("only in a file" not in result.out, "it is shown")


def cases(suite, places=PLACES):
    for place in places:
        suite.job("lifecycle", place, own=True)
        suite.job("reserved", place, 1, "app0")
        suite.job("reserved", place, 2, "app0", first=3, then=["app1"])
        for name in ("values", "scopes", "delete_keys", "modex", "get_rules", "large", "fence",
                     "fence_errors", "fence_order", "threads", "events",
                     "notify", "query", "resolve", "progress", "topology",
                     "job_control", "pmi1", "pmi2", "publish", "groups",
                     "invitations", "bootstrap", "resources", "pmi1_names", "pmi2_names",
                     "spawn", "pmi1_spawn", "pmi2_spawn", "credentials",
                     "monitors", "usage", "job_life", "thread_stop", "qualified",
                     "strings", "buffers", "nulls"):
            suite.job(name, place, alone=name == "large")
        suite.job("directive_walk", place, ATTRIBUTES)
        by_hand(suite, place, "tools", tools)
        if place[0] > 1:
            by_hand(suite, place, "servers", servers)
        suite.job("psets", place, options=["--pset", "launched"])
        suite.job("logs", place, expect=logged)
        suite.job("iof", place, expect=forwarded)
        suite.job("iof_effects", place, expect=only_in_file)
        suite.job("topology", place, "bound", size=2,
                  options=["--bind-to", "core:overload-allowed"])
        suite.job("buffers", place, "described")
        suite.job("fabric", place)
        suite.job("fabric", place, "devices",
                  options=["-x", "HWLOC_XMLFILE=" + DEVICES])
        suite.job("fence_repeat", place, "same", expect=medians)
        aborts(suite, place)
        bad_ends(suite, place)
        for word in ("well", "badly"):
            cleanup(suite, place, word)
        reserved_table(suite, place)
        for name in ("spawn_statuses", "spawn_attributes", "spawn_effects"):
            with_place(suite, place, name)
    for place in dict.fromkeys((places[0], places[-1])):
        suite.job("fence_repeat", place, "new", expect=medians)
        suite.job("limits", place)
        suite.job("debug", place)
        # It adds a node.
        suite.job("spawn_honoured", place, own=True)
        spawned_output(suite, place)
        suite.job("spawn_reports", place, expect=reported)
    nonblocking_forms(suite, NONBLOCKING_PLACE if NONBLOCKING_PLACE in places
                      else places[0])
    suite.lower()
    suite.case("singleton", lambda: singleton(suite))
    suite.case("server files", lambda: server_files(suite))
    suite.case("tool server", lambda: tool_server(suite))
    suite.case("launcher", lambda: launcher(suite), settle=10)
    suite.case("address", lambda: address(suite))
    suite.case("launcher: indirect", lambda: indirect(suite), settle=10)
    suite.case("helpers", lambda: helpers(suite))
    for nodes, radix, layout in ((1, 32, "slot"), (2, 2, "node"), (4, 2, "node"),
                                 (4, 32, "slot")):
        name = f"{nodes} nodes, radix {radix}, by {layout}"
        with suite.overlay(name.replace(" ", "-").replace(",", ""), "--emulate",
                           str(nodes), "--radix", str(radix)) as up:
            for program in ("two_jobs", "connect") if up else ():
                suite.case(f"{program}: {name}", lambda p=program, n=nodes,
                           y=layout: two_jobs(suite, p, n, y))
            if up and (nodes, radix, layout) == NONBLOCKING_PLACE:
                suite.case(f"connect, non-blocking: {name}", lambda n=nodes,
                           y=layout: two_jobs(suite, "connect", n, y, True))
    suite.job("reserved", (4, 2, "slot"), 1, "app0", 4, size=2, used=1)
    suite.job("reserved", (4, 32, "node"), 1, "app0", 4, size=2, used=2)


def inside(share, words):
    suite = Suite(share, words)
    suite.case("sources compile with libpmix-dev", headers_of_others)
    with suite.stack:
        cases(suite)


if __name__ == "__main__":
    sys.exit(runner.main(__file__, __doc__, "conformance", inside))
