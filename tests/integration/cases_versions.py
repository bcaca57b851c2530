"""Agents of one overlay that speak neighbouring versions of its protocol."""
import os
import re
import tempfile

import harness
from cases_io import no_line_torn
from harness import Failure, check

RANKS = 8
HOSTS = ("v1", "v2", "v3", "v4")
# The agents that speak the older version: v1 is the root; at radix 2 v2 and v3
# are below it, and v4 is below v2.
MIXES = (("root", 2, ("v1",)), ("all but the root", 2, ("v2", "v3", "v4")),
         ("inner", 2, ("v2",)), ("leaf", 2, ("v4",)),
         ("root and leaf", 2, ("v1", "v4")), ("root", 32, ("v1",)),
         ("all but the root", 32, ("v2", "v3", "v4")))
# Open MPI considers the hosts different machines.
ENV = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
NAMES = [f"versions: {what} older, radix {radix}" for what, radix, _ in MIXES]
RADICES = (2, 32)
UPGRADES = [f"versions: --replace of older ones, radix {radix}"
            for radix in RADICES]


def newest():
    """Returns the newest version of the protocol."""
    path = os.path.join(harness.ROOT, "server", "overlay", "compatibility.h")
    with open(path, encoding="utf-8") as file:
        return int(re.search(r"kNewestVersion = (\d+);", file.read())[1])


def launch_agent(bench, older):
    """Returns a command that starts the agents of OLDER with the older version.
    """
    path = os.path.join(bench.work, "start-" + "-".join(older))
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nhost=$1 agent=$2\nshift 2\ncase $host in\n"
                   f"{'|'.join(older)}) set -- --overlay-protocol "
                   f"{newest() - 1} \"$@\";;\nesac\nexec $agent \"$@\"\n")
    os.chmod(path, 0o755)
    return path + " {host}"


def rounds(bench):
    return bench.compile("gcc", "rounds", f"-I{bench.prefix}/include",
                         f"-L{bench.prefix}/lib", "-lpmix",
                         f"-Wl,-rpath,{bench.prefix}/lib")


def check_rounds(result, at_least):
    """Checks that every rank printed all rounds once, in order."""
    result.expect()
    lines = result.out.splitlines()
    last = len(lines) // RANKS
    for rank in range(RANKS):
        start = f"rank {rank} round "
        own = [line for line in lines if line.startswith(start)]
        if own != [start + str(i) for i in range(last)]:
            raise Failure(f"lines of rank {rank} are not whole and in order" +
                          result.tail())
    check(len(lines) == last * RANKS and last >= at_least,
          f"{len(lines)} lines" + result.tail())


def told(bench, name, older):
    """Checks that the agents of OLDER, and no others, log the older version."""
    text = bench.run("logs", "--context", name).expect().out
    parts = re.split(r"==> (\S+) <==\n", text)[1:]
    says = {host for host, log in zip(parts[::2], parts[1::2])
            if f"speaks version {newest() - 1} of" in log}
    check(says == set(older), f"older agents are {says}")


def mixed(bench, name, older):
    """The operations that jobs need from the overlay work across versions."""
    where = ["run", "--context", name, "--oversubscribe", "--map-by", "node"]
    told(bench, name, older)
    for program in ("ring", "alltoall"):
        bench.run(*where, "-n", RANKS, bench.mpi(program), RANKS,
                  env=ENV).expect(out=[f"{program} ok size {RANKS}"])
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        stop = os.path.join(place, "stop")
        job = bench.start(*where, "-n", RANKS, rounds(bench), RANKS, stop)
        job.wait_for("round 20\n", RANKS)
        with open(stop, "w", encoding="utf-8"):
            pass
        check_rounds(job.finish(60), 20)
    no_line_torn(bench, [], "", where)
    bench.run(*where, "-n", RANKS, bench.mpi("abort"), RANKS, 9,
              env=ENV).expect(code=9, err=["rank 7"])
    bench.run(*where, "-n", RANKS, "--stdin", "all", "cat",
              stdin=b"in and out\n").expect_lines(["in and out"] * RANKS)


def older_ones(bench, name):
    """Returns the nodes whose agents were started with the older version."""
    found = set()
    for node in bench.json("status", "--context", name)["nodes"]:
        with open(f"/proc/{node['pid']}/cmdline", "rb") as file:
            if b"--overlay-protocol" in file.read():
                found.add(node["name"])
    return found


def upgraded(bench, name):
    """All agents become newer, one after the other, under an MPI job and a job
    that uses them all the time."""
    where = ["run", "--context", name, "--oversubscribe", "--map-by", "node",
             "-n", RANKS]
    check(older_ones(bench, name) == set(HOSTS), "not all are older")
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        stop = os.path.join(place, "stop")
        going = bench.start(*where, rounds(bench), RANKS, stop)
        job = bench.start(*where, bench.mpi("until"), RANKS, stop, env=ENV)
        going.wait_for("round 5\n", RANKS)
        job.wait_for("is ready", RANKS)
        bench.run("up", "--replace", "--context", name).expect(
            out=["4 agents replaced"])
        check(not older_ones(bench, name), "some are older")
        done = going.texts["out"].count(b"\n") // RANKS
        going.wait_for(f"round {done + 5}\n", RANKS)
        with open(stop, "w", encoding="utf-8"):
            pass
        check_rounds(going.finish(60), done + 5)
        job.finish(60).expect(out=[f"until ok size {RANKS}"])


def run(bench):
    if not bench.wanted(*NAMES, *UPGRADES):
        return
    for radix, name in zip(RADICES, UPGRADES):
        if not bench.wanted(name):
            continue
        context = "upgrade"
        with bench.overlay(context, "--hosts", ",".join(HOSTS), "--listen",
                           "127.0.0.1", "--radix", radix, "--launch-agent",
                           launch_agent(bench, HOSTS)) as up:
            if up:
                bench.case(name, lambda: upgraded(bench, context), leaves=True)
    for name, (_, radix, older) in zip(NAMES, MIXES):
        if not bench.wanted(name):
            continue
        context = "versions"
        with bench.overlay(context, "--hosts", ",".join(HOSTS), "--listen",
                           "127.0.0.1", "--radix", radix, "--launch-agent",
                           launch_agent(bench, older)) as up:
            if up:
                bench.case(name, lambda: mixed(bench, context, older),
                           leaves=True)
