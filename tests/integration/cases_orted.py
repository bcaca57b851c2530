"""Debian's Open MPI 4.1 launches with its own daemons, whose PMIx server is
part of Canopy's libpmix. Nothing of Open MPI is changed; its plug-in finds this
library first."""
import os

import cases_dynamic
import cases_openpmix
import netns
from harness import ROOT, check

EXAMPLES = os.path.join(ROOT, "examples", "pmix")
RANKS = 4
NODES = 2

# The hosts of the daemons that serve the ranks: orterun itself, or one on each
# node.
PLACES = {"orterun": ["localhost"], "two orted": ["n1", "n2"]}
KINDS = {"our library": "ours", "their own OpenPMIx": "openpmix"}

# orterun starts this in place of ssh.
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec $host unshare --uts sh -c "hostname $host; $*"
"""

# A script that fails with a message if the server uses another library than
# LIBRARY.
SERVED = """set -- $(grep libpmix.so /proc/$PPID/maps)
cmp /proc/$PPID/map_files/$1 {library} && echo served by ours
"""


class Place:
    """Runs ranks of a KIND on HOSTS."""

    def __init__(self, bench, hosts, kind):
        self.bench = bench
        self.kind = kind
        self.hosts = hosts
        self.lib = os.path.join(bench.prefix, "lib")
        self.env = {"LD_LIBRARY_PATH": self.lib, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.options = [
            "--host", ",".join(f"{host}:{RANKS}" for host in hosts),
            "--map-by", "node", "--oversubscribe", "--mca", "plm_rsh_agent", self._agent(),
            # Jobs share no memory, and loopback is excluded by default.
            "--mca", "btl_tcp_if_include", "lo" if hosts == ["localhost"]
            else f"{netns.SUBNET}.0/24"]

    def _agent(self):
        path = os.path.join(self.bench.work, "orted-agent")
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(AGENT)
            os.chmod(path, 0o755)
        return path

    def orterun(self, count, *command, **more):
        return self.bench.run(*self.options, "-n", count, *command,
                              program="orterun", env={**self.env, **more})

    def run(self, count, program, *args):
        """Runs the program with the library of this kind."""
        return self.orterun(count, "sh", "-c",
                            f'{cases_openpmix.KINDS[self.kind]}; exec "$0" "$@"',
                            program, *args)

    def example(self, name):
        """Builds an example for the library of this kind."""
        prefix = self.bench.prefix if self.kind == "ours" else cases_openpmix.PMIX
        out = os.path.join(self.bench.share.directory, f"orted.{name}.{self.kind}")
        self.bench.share.make(out, [
            "gcc", "-std=gnu11", "-o", out, os.path.join(EXAMPLES, name + ".c"),
            f"-I{prefix}/include", f"-L{prefix}/lib", "-lpmix"])
        return out


def served(place):
    """Every daemon that has ranks is a daemon of Open MPI and has loaded Canopy's
    library."""
    script = SERVED.format(library=os.path.join(place.lib, "libpmix.so.2"))
    out = place.orterun(RANKS, "sh", "-c", script +
                        "readlink /proc/$PPID/exe").expect().out
    check(out.count("served by ours") == RANKS, out)
    daemon = "/usr/bin/orterun" if place.hosts == ["localhost"] else "/usr/bin/orted"
    check(out.count(daemon) == RANKS, out)


def programs(place):
    for name in ("hello", "ring", "alltoall"):
        place.run(RANKS, place.bench.mpi(name), RANKS).expect(
            out=[f"{name} ok size {RANKS}"])


def dynamic(place):
    """Tests spawning, and halves of a job that publish and look up a name."""
    for kind, count in cases_dynamic.KINDS:
        ranks = 4 if kind == "names" else 2
        place.run(ranks, place.bench.mpi("dynamic"), kind, count).expect(
            out=cases_dynamic.lines(kind, count))


def aborts(place):
    place.run(RANKS, place.bench.mpi("abort"), RANKS, 7).expect(
        code=7, absent=["abort ok"])


def dies(place):
    place.run(RANKS, place.bench.mpi("segv"), RANKS).expect(
        code=139, err=["signal 11"])


def examples(place):
    names = ["nonblocking", "events"]
    if place.kind == "ours":
        names += ["exchange", "subset"]
    # The host's fences and direct modex exchange data without scopes between
    # nodes, and its node numbers count orterun's node too.
    if len(place.hosts) == 1:
        names += ["direct", "scopes"]
        names += ["job_info"] if place.kind == "ours" else []
    for name in names:
        place.run(RANKS, place.example(name), RANKS).expect(
            out=[f"{name} ok size {RANKS}"])


BODIES = (("MPI programs", programs), ("spawn and names", dynamic),
          ("MPI_Abort", aborts), ("a rank dies", dies),
          ("the examples", examples))


def run(bench):
    names = [f"orted: {what} by {daemons}, {kind}" for what, _ in BODIES
             for daemons in PLACES for kind in KINDS]
    if not bench.wanted(*names, *(f"orted: ranks served by {d}" for d in PLACES)):
        return
    with bench.taken() as mine:
        if not mine:
            return
        with netns.Namespaces(NODES):
            for daemons, hosts in PLACES.items():
                bench.case(f"orted: ranks served by {daemons}",
                           lambda: served(Place(bench, hosts, "ours")))
                for kind, library in KINDS.items():
                    place = Place(bench, hosts, library)
                    for what, body in BODIES:
                        bench.case(f"orted: {what} by {daemons}, {kind}",
                                   lambda body=body, place=place: body(place))
