"""The same MPI programs on four nodes with addresses of their own: network
namespaces, reached by a launch agent, with TLS between the agents."""
import json
import os
import socket

import netns
from cases_mpi import hello
from cases_programs import hpcc, mpi4py, netpipe
from harness import FAMILIES, RUNTIME, check

NODES = 4
RANKS = 8


def context_of(name):
    path = os.path.join(RUNTIME, f"canopy-{os.geteuid()}", "contexts",
                        name + ".json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def agents_speak_tls(bench, space, context):
    """The agents listen on the nodes' own addresses and do not answer plain
    text."""
    check(context_of(context)["security"] == "tls", "security is not tls")
    nodes = bench.json("status", "--context", context)["nodes"]
    hosts = [node["address"].rsplit(":", 1)[0] for node in nodes]
    check(hosts == [space.address(i) for i in range(NODES)],
          f"agents listen on {hosts}")
    host, port = nodes[0]["address"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as plain:
        plain.settimeout(10)
        plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) +
                      b"\x04\x00" + bytes(4))
        try:
            answer = plain.recv(64)
        except ConnectionResetError:
            answer = b""
    # An HTTP/2 server begins with a SETTINGS frame, of type 4.
    check(answer[3:4] != b"\x04", f"an agent answered plain text: {answer!r}")


def every_program(bench, context, family):
    run = ["run", "--context", context, "--oversubscribe"]

    def well(name, *more, options=()):
        program = bench.mpi(name, family)
        bench.case(f"{name}: {family} on {context}", lambda: bench.run(
            *run, *options, "-n", RANKS, program, RANKS, *more).expect(
                out=[f"{name} ok size {RANKS}"]))

    bench.case(f"hello: {family} on {context}",
               lambda: hello(bench, run, bench.mpi("hello", family), RANKS))
    well("ring", options=["--map-by", "node"])
    well("alltoall")
    well("split", RANKS // NODES, options=["--map-by", "node"])
    bench.case(f"abort: {family} on {context}", lambda: bench.run(
        *run, "-n", 4, "--map-by", "node", bench.mpi("abort", family), 4, 9)
               .expect(code=9, err=["rank 3"], absent=["abort ok"]))
    bench.case(f"segv: {family} on {context}", lambda: bench.run(
        *run, "-n", 4, "--map-by", "node", bench.mpi("segv", family), 4).expect(
            code=139, err=["rank 3", "signal 11", "n4"], absent=["segv ok"]))


def large_programs(bench, context):
    for name, body in (("NetPIPE", netpipe), ("mpi4py", mpi4py),
                       ("HPCC", hpcc)):
        bench.case(f"{name} on {context}", lambda: body(bench, context))


def embedded(bench, space):
    """Runs a job with agents of its own, which end with the job, without a context."""
    where = ["run", "--host", ",".join(f"{n}:2" for n in space.names),
             "--launch-agent", netns.LAUNCH_AGENT]
    bench.case("hello: openmpi, agents in namespaces for one job",
               lambda: hello(bench, where, bench.mpi("hello"), RANKS))


def over_the_network(bench, space):
    """The launcher has no socket of an agent and connects to the root over TLS.
    """
    context = "remote"
    agent = "ip netns exec {host} env XDG_RUNTIME_DIR=/tmp/remote"
    os.makedirs("/tmp/remote", mode=0o700, exist_ok=True)
    with bench.overlay(context, "--hosts", ",".join(space.names),
                       "--launch-agent", agent) as up:
        if not up:
            return
        hide = "mount -t tmpfs hidden /tmp/remote && exec \"$@\""
        command = ["--mount", "sh", "-c", hide, "sh", bench.canopy, "run",
                   "--context", context, "--oversubscribe", "-n", RANKS,
                   bench.mpi("hello"), RANKS]
        bench.case("hello: launcher without a way but TLS", lambda: bench.run(
            *command, program="unshare").expect(
                out=[f"hello ok size {RANKS}"]))
    os.rmdir("/tmp/remote")


def run(bench):
    with netns.Namespaces(NODES) as space:
        for radix in (2, 32):
            context = f"net{radix}"
            with bench.overlay(context, *space.options, "--radix",
                               str(radix)) as up:
                if not up:
                    continue
                bench.case(f"agents speak TLS on {context}",
                           lambda: agents_speak_tls(bench, space, context))
                for family in FAMILIES:
                    every_program(bench, context, family)
                large_programs(bench, context)
        embedded(bench, space)
        over_the_network(bench, space)
