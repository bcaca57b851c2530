"""Resource managers in C, whose server is part of Canopy's libpmix."""
import contextlib
import glob
import os
import shutil
import signal
import tempfile

import cases_openpmix
import hostility
from harness import PROGRAMS, ROOT, check

MANAGER = os.path.join(ROOT, "examples", "resource_manager", "manager.c")
EXAMPLES = os.path.join(ROOT, "examples", "pmix")
RANKS = cases_openpmix.RANKS


class Place:
    """The fixture: a host, and the programs that it runs."""

    def __init__(self, bench):
        self.bench = bench
        self.lib = os.path.join(bench.prefix, "lib")
        self.manager = self._build("manager", MANAGER, f"-Wl,-rpath,{self.lib}")

    def _build(self, name, source, *more):
        out = os.path.join(self.bench.share.directory, f"c_host.{name}")
        self.bench.share.make(out, [
            "gcc", "-std=gnu11", "-O1", "-o", out, source,
            f"-I{self.bench.prefix}/include", f"-L{self.lib}", "-lpmix", *more])
        return out

    def program(self, name, kind, *more):
        """Builds a program of the tests for the library of this kind."""
        prefix = self.bench.prefix if kind == "ours" else cases_openpmix.PMIX
        out = os.path.join(self.bench.share.directory, f"c_host.{name}.{kind}")
        self.bench.share.make(out, [
            "gcc", "-std=gnu11", "-O1", "-o", out,
            os.path.join(PROGRAMS, name + ".c"), f"-I{prefix}/include",
            f"-L{prefix}/lib", "-lpmix", "-lpthread", *more])
        return out

    def example(self, name):
        return self._build(name, os.path.join(EXAMPLES, name + ".c"))

    def run(self, count, *program, ours=True, **more):
        env = {"LD_LIBRARY_PATH": self.lib} if ours else {}
        return self.bench.run(count, *program, program=self.manager, env=env,
                              **more)


def modex(place, kinds):
    """Ranks of these kinds, in turn, exchange their committed data."""
    program = cases_openpmix.build(place.bench, "modex")
    cases = "; ".join(
        f"{i}) {cases_openpmix.KINDS[kind]};;" for i, kind in enumerate(kinds))
    script = (f"case $((PMIX_RANK % {len(kinds)})) in {cases} esac; "
              f"exec {program} {RANKS}").replace(";;;", ";;")
    cases_openpmix.ended(place.run(RANKS, "sh", "-c", script), "modex", kinds)


def examples(place):
    for name in ("exchange", "direct", "nonblocking", "scopes", "subset",
                 "job_info", "events"):
        place.run(RANKS, place.example(name), RANKS).expect(
            out=[f"{name} ok size {RANKS}"])


def aborts(place):
    place.run(3, place.example("abort"), 3, 7).expect(
        code=7, err=["rank 2 aborts the job with 7"])


def dies(place):
    place.run(3, "sh", "-c", "test $PMIX_RANK != 1 || kill -9 $$; "
              "exec sleep 1000").expect(code=137)


def twice(place):
    """Runs two hosts at the same time, whose jobs have the same name."""
    program = place.example("exchange")
    jobs = [place.bench.start(2, program, 2, program=place.manager,
                              env={"LD_LIBRARY_PATH": place.lib})
            for _ in range(2)]
    for job in jobs:
        job.finish().expect(out=["exchange ok size 2"])


def slots(place, kind):
    """Runs a host of two nodes that has all functions, and ranks that call
    each."""
    servers = place.program("two_servers", "ours", f"-Wl,-rpath,{place.lib}")
    program = place.program("slots", kind)
    env = {"LD_LIBRARY_PATH": place.lib} if kind == "ours" else {}
    place.bench.run(RANKS, program, RANKS, program, program=servers,
                    env=env).expect(
        out=[f"slots ok size {RANKS}\n",
             *(f"rank {rank} logs a line\n" for rank in range(RANKS))])


def half(place, kind):
    """If a rank of one node ends, the ranks of the other node get an error.
    """
    servers = place.program("two_servers", "ours", f"-Wl,-rpath,{place.lib}")
    env = {"LD_LIBRARY_PATH": place.lib} if kind == "ours" else {}
    out = place.bench.run(RANKS, place.program("half", kind), program=servers,
                          env=env).expect().out
    check(out.count("half ok") == RANKS - 1, out)


# The ways in which a host misbehaves or omits functions, with the kinds of
# ranks.
ODD = {
    "answers-twice": ("ours", "openpmix"),  # also on another thread
    "refuses": ("ours", "openpmix"),
    "refuses-at-once": ("ours", "openpmix"),
    "is-silent": ("ours", "openpmix"),
    "lies": ("ours", "openpmix"),
    "has-nothing": ("ours",),
    "has-no-module": ("ours",),
    "dies-in-a-fence": ("ours", "openpmix"),
    "dies-in-a-spawn": ("ours", "openpmix"),
    "comes-again": ("ours", "openpmix"),  # after dlclose
    "leaves-jobs": ("ours", "openpmix"),
    "has-a-tool": ("ours", "openpmix"),
    "accepts-itself": ("ours", "openpmix"),
    "tells-nonsense": ("ours", "openpmix"),  # and then describes correctly
    "answers-late": ("ours", "openpmix"),  # after the end of its server
    "asks-itself": ("ours",),  # and ends without a reply
}


def odd(place, mode, kind, ranks=2):
    host = place.program("odd_host", "ours", f"-Wl,-rpath,{place.lib}", "-ldl")
    env = {"LD_LIBRARY_PATH": place.lib} if kind == "ours" else {}
    # The host also receives fences that involve only its node.
    env["PMIX_MCA_pmix_server_fence_localonly_opt"] = "0"
    # A host that is killed leaves the files of its server.
    temporary = tempfile.mkdtemp(dir=place.bench.work)
    place.bench.skip.add(temporary)
    env["TMPDIR"] = temporary
    cycles = 3 if mode in ("comes-again", "leaves-jobs") else 1
    try:
        out = place.bench.run(mode, ranks, place.program("odd_ranks", kind),
                              program=host, env=env, timeout=90).expect().out
        check(out.count(f"{mode} ok") == ranks * cycles, out)
        dies = mode.startswith("dies")
        check(dies or not os.listdir(temporary), "its server has left files")
    finally:
        shutil.rmtree(temporary)


def few_functions(place):
    """A server uses none of the memory behind a module of 21 functions."""
    host = place.program("few_functions", "ours", f"-Wl,-rpath,{place.lib}")
    env = {"LD_LIBRARY_PATH": place.lib}
    place.bench.run(program=host, env=env).expect(out=["few functions ok"])


def users(place, kind):
    """Runs jobs of two users beside each other, in a directory that both can
    read, and tools of each."""
    check(os.geteuid() == 0, "this needs root")
    host = place.program("odd_host", "ours", f"-Wl,-rpath,{place.lib}", "-ldl")
    shared = tempfile.mkdtemp(dir="/tmp")
    place.bench.skip.add(shared)
    try:
        os.chmod(shared, 0o755)
        shutil.copy(os.path.join(place.lib, "libpmix.so.2"), shared)
        ranks = shutil.copy(place.program("odd_ranks", kind), shared)
        env = {"LD_LIBRARY_PATH": shared} if kind == "ours" else {}
        out = place.bench.run("has-users", 2, ranks, program=host,
                              env=env).expect().out
        check(out.count("has-users ok") == 4, out)
    finally:
        shutil.rmtree(shared)


@contextlib.contextmanager
def exposed(place):
    """Prepares an attack of a user on root. Yields a function that runs a host
    of root the given number of times, whose server uses a directory of the
    user; a directory with the library and programs that the user can read; the
    user's directory; and a directory of root with a file and an empty
    directory, which must stay unchanged."""
    check(os.geteuid() == 0, "this needs root")
    host = place.program("exposed_host", "ours", f"-Wl,-rpath,{place.lib}")
    top = tempfile.mkdtemp(dir="/tmp")
    place.bench.skip.add(top)
    try:
        os.chmod(top, 0o755)
        shutil.copy(os.path.join(place.lib, "libpmix.so.2"), top)
        hostility.make_target(os.path.join(top, "target"))
        for name in ("users", "server"):
            hostility.make_for_user(os.path.join(top, name))

        def run(rounds, *program):
            return place.bench.run(
                hostility.USER, os.path.join(top, "server"), rounds, *program,
                program=host, env={"LD_LIBRARY_PATH": top}, timeout=300)
        yield run, top
        hostility.check_target(os.path.join(top, "target"))
    finally:
        shutil.rmtree(top)


def cleanup_race(place):
    """A rank requests the removal of paths that lead to root's files a moment
    later. The server does not remove root's files."""
    with exposed(place) as (run, top):
        program = shutil.copy(place.program("cleanup_race", "ours"), top)
        for number in range(3):
            users = os.path.join(top, "users", str(number))
            hostility.make_for_user(users)
            run(1, program, users, os.path.join(top, "target")).expect(
                out=["cleanup_race ok 9000", "exposed_host ok 1"])
            check(not glob.glob(users + "/last.*"), "the user's file has stayed")


def swapped_entries(place):
    """A process of the user replaces files that a server makes by links. The server
    does not follow the links."""
    with exposed(place) as (run, top):
        program = shutil.copy(place.bench.plain("swap_entries"), top)
        swapper = place.bench.start(
            *hostility.AS_USER, program, os.path.join(top, "server"),
            os.path.join(top, "target", "file"), program="setpriv")
        swapper.wait_for("ready")
        result = run(1000, "true")
        swapper.end(signal.SIGKILL)
        hostility.check_target(os.path.join(top, "target"))
        result.expect(out=["exposed_host ok 1000"])


def stranger(place):
    """A rank's environment has no variable that only a launcher of Open MPI
    sets."""
    lines = place.run(1, "env").expect().out.splitlines()
    names = [line.split("=", 1)[0] for line in lines]
    check(not [name for name in names if name.startswith("OMPI_")],
          "it says what only launchers may:\n" + "\n".join(names))


def run(bench):
    names = ("C host: ranks with our library",
             "C host: ranks with their own OpenPMIx",
             "C host: ranks of both kinds",
             "C host: the examples",
             "C host: a rank aborts the job",
             "C host: a rank is killed",
             "C host: two of them",
             "C host: each of its functions, ranks with our library",
             "C host: each of its functions, ranks with OpenPMIx",
             "C host: a rank of one node ends in a fence, ranks with our library",
             "C host: a rank of one node ends in a fence, ranks with OpenPMIx",
             "C host: nothing in the environment is a launcher's",
             "C host: a module of 21 functions",
             *(f"C host: jobs of two users, {kind}" for kind in ("ours", "openpmix")),
             "C host: of root, a rank's cleanup removes nothing of root's",
             "C host: of root, links in the user's directory lead it nowhere",
             *(f"C host: it {mode.replace('-', ' ')}, {kind}"
               for mode, kinds in ODD.items() for kind in kinds))
    if not bench.wanted(*names):
        return
    place = Place(bench)
    bodies = (lambda: modex(place, ("ours",)),
              lambda: modex(place, ("openpmix",)),
              lambda: modex(place, ("openpmix", "ours")),
              lambda: examples(place), lambda: aborts(place),
              lambda: dies(place), lambda: twice(place),
              lambda: slots(place, "ours"), lambda: slots(place, "openpmix"),
              lambda: half(place, "ours"), lambda: half(place, "openpmix"),
              lambda: stranger(place), lambda: few_functions(place),
              *(lambda kind=kind: users(place, kind) for kind in ("ours", "openpmix")),
              lambda: cleanup_race(place), lambda: swapped_entries(place),
              *(lambda mode=mode, kind=kind: odd(place, mode, kind)
                for mode, kinds in ODD.items() for kind in kinds))
    for name, body in zip(names, bodies, strict=True):
        bench.case(name, body)
