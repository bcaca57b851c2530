"""Runs inside allocations of PBS and Grid Engine, described by their files and
variables. The nodes are network namespaces; a script stands for the batch
system's launcher or ssh."""
import os
import re
import signal
import socket
import tempfile

import netns
from harness import check

# The agent's command is a single text, which a shell on the other side parses.
SSH = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
host=$1; shift
exec ip netns exec "$host" sh -c "$*"
"""
QRSH = """#!/bin/sh
[ "$1 $2" = "-inherit -V" ] || exit 1
shift 2
exec ip netns exec "$@"
"""


class Allocation:
    """An allocation whose nodes are in a file that VARIABLE names, with further
    VARIABLES."""

    def __init__(self, bench, directory, variable, nodes, variables):
        self.bench = bench
        file = os.path.join(directory, "nodes")
        with open(file, "w", encoding="utf-8") as out:
            out.write(nodes)
        for name, text in (("ssh", SSH), ("qrsh", QRSH)):
            path = os.path.join(directory, name)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(path, 0o755)
        self.env = {**variables, variable: file,
                    "PATH": directory + ":" + bench.env["PATH"]}

    def run(self, *args):
        return self.bench.run(*args, env=self.env)

    def start(self, script, **streams):
        """Runs SCRIPT as the script of the batch job, which leads a session."""
        return self.bench.start("-c", script, program="sh", env=self.env,
                                **streams)


def pbs(bench, directory):
    return Allocation(bench, directory, "PBS_NODEFILE", "n2\nn1\nn2\nn2\n",
                      {"PBS_JOBID": "17.head"})


def grid_engine(bench, directory):
    here = socket.gethostname()
    return Allocation(
        bench, directory, "PE_HOSTFILE",
        f"{here} 2 all.q@{here} UNDEFINED\nn1 1 all.q@n1 <NULL>\n",
        {"JOB_ID": "18", "NSLOTS": "3"})


def slots(place, hosts):
    """The job gets one process for each slot of each node, and no more."""
    names = [name for name, count in hosts.items() for _ in range(count)]
    out = place.run("run", "--map-by", "slot", "--report-bindings", "--bind-to",
                    "none", "--tag-output", "sh", "-c",
                    "ip -4 -o addr show | grep -o '10.213.7.[0-9]*' | head -1"
                    ).expect().out
    nodes = re.findall(r"10\.213\.7\.(\d+)$", out, re.M)
    check(sorted(nodes) == sorted(names), f"ranks on {nodes}: {out}")
    place.run("run", "-n", len(names) + 1, "true").expect(
        code=1, err=["not enough slots"])


def mpi(place, program, ranks):
    place.run("run", program, ranks).expect(out=[f"hello ok size {ranks}"])
    place.run("run", "-n", ranks, "sh", "-c", "exit 9").expect(code=9)


def overlay(place, program, ranks, name):
    """The overlay ends with the script's session, even without `canopy down`."""
    job = place.start(f"canopy up && canopy run {program} {ranks}")
    result = job.finish().expect(
        out=[f"context {name} is up: 2 nodes, {ranks} slots",
             f"hello ok size {ranks}"])
    check(not result.err, "complaints" + result.tail())


def killed(place, ranks):
    """Ends a job as a batch system does: kills everything that its script
    started there."""
    job = place.start("canopy up && canopy run sh -c "
                      "'echo a rank is up; exec sleep 1000'")
    job.wait_for("a rank is up", ranks)
    job.end(signal.SIGKILL)


def some(place, host):
    place.run("run", "--host", host, "sh", "-c", "echo here").expect_lines(["here"])


def counted(place):
    """--nodes uses the first nodes of the allocation, and no more than it has."""
    for command in (["run", "--nodes", 3, "true"], ["up", "--nodes", 3]):
        place.run(*command).expect_refusal(1, "--nodes 3", "has only 2")
    out = place.run("run", "--nodes", 1, "--display", "map", "true").expect()
    listed = place.run("run", "--nodes", 1, "--oversubscribe", "-n", 8, "sh", "-c",
                       "ip -4 -o addr show | grep -o '10.213.7.[0-9]*' | head -1"
                       ).expect().out
    check(len(set(listed.split())) == 1, f"not one node: {listed}" + out.tail())


def bad(bench, directory):
    """Reports files that are missing or not in the batch system's format."""
    place = pbs(bench, directory)
    place.env["PBS_NODEFILE"] = "/nonexistent"
    for command in (["run", "true"], ["up"]):
        place.run(*command).expect_refusal(1, "PBS_NODEFILE", "/nonexistent")
    place = grid_engine(bench, directory)
    with open(place.env["PE_HOSTFILE"], "w", encoding="utf-8") as file:
        file.write("n1 2 all.q@n1 UNDEFINED\nn2\n")
    for command in (["run", "true"], ["up"]):
        place.run(*command).expect_refusal(2, "nodes:2: ", "HOST SLOTS QUEUE")


def run(bench):
    hello = bench.mpi("hello")
    kinds = (("PBS", pbs, "pbs-17.head", {"1": 1, "2": 3}, "n1"),
             ("Grid Engine", grid_engine, "sge-18", {"254": 2, "1": 1}, "n1"))
    with netns.Namespaces(2), tempfile.TemporaryDirectory() as directory:
        for kind, make, name, hosts, one in kinds:
            ranks = sum(hosts.values())
            place = make(bench, directory)
            bench.case(f"{kind}: nodes and slots of an allocation",
                       lambda: slots(place, hosts))
            bench.case(f"{kind}: Open MPI and exit codes in an allocation",
                       lambda: mpi(place, hello, ranks))
            bench.case(f"{kind}: an overlay ends with the job's script",
                       lambda: overlay(place, hello, ranks, name))
            bench.case(f"{kind}: an overlay ends when the job is killed",
                       lambda: killed(place, ranks))
            bench.case(f"{kind}: one node of an allocation",
                       lambda: some(place, one))
            bench.case(f"{kind}: a number of nodes of an allocation",
                       lambda: counted(place))
        bench.case("PBS and Grid Engine: bad files", lambda: bad(bench, directory))
