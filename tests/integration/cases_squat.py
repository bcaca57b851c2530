"""A user of the machine, or a peer on the network, holds more idle connections than
there are descriptors. Others can connect nevertheless."""
import contextlib
import os
import resource
import subprocess
import tempfile
import time

import cases_c_host
import cases_openpmix
import netns
from cases_control import limited
from cases_netns import context_of
from cases_restart import Overlay
from harness import agent_logs, check, until

STRANGER = 65534
CONTEXT = "squat"
RANKS = 5
SOCKET_HELD = 4200  # more than an endpoint accepts
PORT_HELD = 400
DESCRIPTORS = 300  # of the root agent
LINES = 150  # far fewer than connections
OPTIONS = ("--restart-grace", "30")


@contextlib.contextmanager
def held(bench, *where, uid=STRANGER, count=PORT_HELD, inside=()):
    """Within the block, UID tries to hold COUNT connections to WHERE. INSIDE is a
    command that runs the program in another place."""
    command = [*inside, bench.plain("squat"), uid, count, *where]
    job = bench.start(*command[1:], program=command[0], stdin=subprocess.PIPE)
    job.wait_for("held\n")
    try:
        yield
    finally:
        job.process.stdin.close()
        job.finish().expect(out=["at most "])


def c_host(bench, kind):
    """Ranks of one user connect to a host while another user holds its socket
    and its port."""
    place = cases_c_host.Place(bench)
    program = place.example("exchange") if kind == "ours" else \
        cases_openpmix.build(bench, "modex")
    name = "exchange" if kind == "ours" else "modex"
    with tempfile.TemporaryDirectory(dir="/tmp") as steps:
        go, log = os.path.join(steps, "go"), os.path.join(steps, "log")
        script = (f"echo \"at $CANOPY_SOCKET $PMIX_SERVER_URI41 \"; "
                  f"until [ -e {go} ]; do sleep 0.05; done; "
                  f"{cases_openpmix.KINDS[kind]}; exec {program} {RANKS}")
        job = bench.start(RANKS, "sh", "-c", script, program=place.manager,
                          env={"LD_LIBRARY_PATH": place.lib,
                               "CANOPY_SERVER_LOG": log})
        job.wait_for(" \n", RANKS)
        _, path, uri = bytes(job.texts["out"]).decode().splitlines()[0].split()
        port = uri.rsplit(":", 1)[1]
        with held(bench, "unix", path, count=SOCKET_HELD), \
                held(bench, "tcp", "127.0.0.1", port, count=SOCKET_HELD):
            begun = time.monotonic()
            with open(go, "w", encoding="utf-8"):
                pass
            result = job.finish(60)
            took = time.monotonic() - begun
        with open(log, encoding="utf-8") as file:
            lines = file.read().splitlines()
    result.expect(out=[f"{name} ok size {RANKS}"])
    check(took < 15, f"it took {took:.1f} s")
    check(0 < len(lines) < LINES, f"{len(lines)} lines, from {lines[:3]}")


def ports_of(context):
    """Yields the root's two ports: the links' port, and the control port."""
    root = context_of(context)["members"][0]
    for address in (root["address"], root["control_address"]):
        host, port = address.rsplit(":", 1)
        yield "tcp", host, port


class Nodes:
    """Two nodes, the first of which is the root."""

    def __init__(self, bench, restart=()):
        self.bench = bench
        self.overlay = Overlay(bench, CONTEXT)
        self.restart = restart  # a command for the second node
        self.second = self.overlay.members()[1]["name"]

    def scarce(self):
        """Within the block, the root has few descriptors."""
        root = self.overlay.members()[0]["name"]
        return limited(self.overlay.pid(root), resource.RLIMIT_NOFILE,
                       DESCRIPTORS)

    def run(self):
        self.bench.run("run", "--context", CONTEXT, "--map-by", "node", "-n", 2,
                       self.bench.pmix("fences"), 2, 1000, timeout=30).expect(
                           out=["fences ok 0", "fences ok 1"])

    def rejoin(self):
        """Kills the second agent, and starts another one in its place."""
        self.overlay.kill(self.second)
        agent = os.path.join(self.bench.prefix, "bin", "canopyd")
        done = subprocess.run(
            [*self.restart, agent, "--restart",
             self.overlay.directory(self.second)], env=self.bench.env,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
        check(done.returncode == 0, f"canopyd --restart: {done.stderr}")
        until(self.all_back, "the second agent to be back")

    def all_back(self):
        return all(node["state"] == "up" for node in
                   self.bench.json("status", "--context", CONTEXT)["nodes"])


def shut_in(bench, nodes, **by):
    """While a user holds the root's ports, and afterwards, jobs run and agents
    return."""
    with nodes.scarce():
        nodes.run()
        with contextlib.ExitStack() as stack:
            for port in ports_of(CONTEXT):
                stack.enter_context(held(bench, *port, **by))
            nodes.run()
            nodes.rejoin()
            nodes.run()
        nodes.run()
        nodes.rejoin()
        nodes.run()
    lines = agent_logs().count("\n")
    check(lines < LINES, f"the agents have logged {lines} lines:\n" +
          agent_logs()[-2000:])


def run(bench):
    hosts = {f"squat: a C host, ranks with {what}": kind for what, kind in
             (("our library", "ours"), ("their own OpenPMIx", "openpmix"))}
    for name, kind in hosts.items():
        bench.case(name, lambda kind=kind: c_host(bench, kind))
    name = "squat: an agent's ports, by another user"
    if bench.wanted(name):
        with bench.overlay(CONTEXT, "--emulate", "2", *OPTIONS) as up:
            if up:
                # The case leaves a new agent, because it kills the second one.
                bench.case(name, lambda: shut_in(bench, Nodes(bench)),
                           leaves=True)
    names = {"squat: an agent's ports, from another machine": "n3",
             "squat: an agent's ports, by another user of a node": "n2"}
    if not bench.wanted(*names):
        return
    with netns.Namespaces(3) as space, bench.overlay(
            CONTEXT, "--hosts", "n1,n2", "--launch-agent", netns.LAUNCH_AGENT,
            *OPTIONS) as up:
        for name, node in names.items() if up else ():
            bench.case(name, lambda node=node: shut_in(
                bench, Nodes(bench, ("ip", "netns", "exec", "n2")),
                inside=("ip", "netns", "exec", node)), leaves=True)
