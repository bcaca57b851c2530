"""Tools on a machine without an agent: a network namespace with directories of
its own, from which a relay leads to an agent over TLS."""
import base64
import glob
import json
import os
import re
import shutil
import signal
import stat

import harness
import netns
from cases_netns import context_of
from cases_openpmix import build
from harness import check, until

CONTEXT = "relayed"
DESK = "/tmp/desk"  # on the machine without an agent
BASE = os.path.join(DESK, f"canopy-{os.geteuid()}")
EVENT = "-3111"
STRANGER = 65534


class Desk:
    """Runs commands on the machine whose network is the namespace NAME."""

    def __init__(self, bench, name):
        self.bench, self.name = bench, name
        self.env = {"XDG_RUNTIME_DIR": DESK, "TMPDIR": DESK}

    def start(self, *command, **env):
        return self.bench.start("netns", "exec", self.name, *command,
                                program="ip", env=dict(self.env, **env))

    def copy(self, context, **changed):
        """Copies the context file to that machine."""
        for directory in (DESK, BASE, os.path.join(BASE, "contexts")):
            os.makedirs(directory, mode=0o700, exist_ok=True)
        path = os.path.join(BASE, "contexts", context + ".json")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600),
                  "w", encoding="utf-8") as file:
            json.dump({**context_of(context), **changed}, file)

    def relay(self, context, *options):
        """Starts a relay. Returns its output when it is ready, and its Job."""
        job = self.start(self.bench.canopy, "relay", "--context", context, "-o",
                         "json", *options)
        job.wait_for("}\n")
        return json.loads(bytes(job.texts["out"])), job


def waiting_job(bench):
    job = bench.start(
        "run", "--context", CONTEXT, "-n", 2, "--map-by", "node", "sh", "-c",
        'echo "mine $PMIX_NAMESPACE $PMIX_RANK"; exec sleep 600')
    job.wait_for("mine ", 2)
    return job, bytes(job.texts["out"]).decode().split()[1]


def library_of(bench, kind):
    return {"LD_LIBRARY_PATH": os.path.join(bench.prefix, "lib", "canopy")} \
        if kind == "ours" else {}


def tool(bench, desk, kind, relay):
    """The tool queries, gets data, pulls output and receives events. When the relay
    ends, it loses its server."""
    program = build(bench, "far_tool")
    job, nspace = waiting_job(bench)
    far = desk.start(program, nspace, EVENT, **library_of(bench, kind))
    far.wait_for("listening\n")
    with open(f"/proc/{far.pid}/maps", encoding="utf-8") as maps:
        check((os.path.realpath(bench.prefix) in maps.read()) ==
              (kind == "ours"), "another library")
    bench.run("event", "--context", CONTEXT, "--", EVENT).expect()
    far.wait_for("event heard\n")
    relay.signal(signal.SIGTERM)
    relay.finish().expect()
    result = far.finish().expect(
        out=["size 2\n", "on 2 nodes\n", f"pulled mine {nspace} 0\n",
             f"pulled mine {nspace} 1\n", "server lost\n"])
    check("error" not in result.err.lower(), "it complains" + result.tail())
    job.end(signal.SIGTERM)


def whole(bench, desk, kind):
    told, relay = desk.relay(CONTEXT, "--node", "n1")
    check(told["node"] == "n1", f"leads to {told}")
    tool(bench, desk, kind, relay)
    check(not glob.glob(BASE + "/relay-*"), "its directory is there")


def ways(bench, desk):
    """Tests each way that leads to a relay; none works without a relay."""
    job, nspace = waiting_job(bench)
    pps = os.path.join(bench.prefix, "bin", "canopy-pps")

    def sees(*options):
        far = desk.start(pps, *options).finish()
        far.expect(out=[nspace])
    desk.start(pps).finish().expect(code=1, err=["no server"])
    told, relay = desk.relay(CONTEXT)
    mode = stat.S_IMODE(os.stat(told["file"]).st_mode)
    check(mode == 0o600, f"the file's mode is {mode:o}")
    check(re.fullmatch(r"canopy-agent-\w+\.0;tcp4://127\.0\.0\.1:\d+",
                       told["uri"]), f"the URI is {told['uri']}")
    sees()
    sees("--uri", told["uri"])
    sees("--uri", "file:" + told["file"])
    sees("--pid", str(relay.pid))
    sees("--namespace", told["uri"].split(".")[0])
    relay.end(signal.SIGKILL)
    # The files of the killed relay lead nowhere, and the next relay removes
    # them.
    check(os.path.exists(told["file"]), "a killed relay has cleared up")
    desk.start(pps).finish().expect(code=1, err=["no server"])
    _, relay = desk.relay(CONTEXT, "--node", "n2")
    check(not os.path.exists(told["file"]), "what was left is there")
    sees()
    relay.signal(signal.SIGINT)
    relay.finish().expect()
    job.end(signal.SIGTERM)


def strangers(bench, desk):
    """Another user of the tool's machine is rejected at both sockets."""
    told, relay = desk.relay(CONTEXT)
    port = told["uri"].rsplit(":", 1)[1]
    knock = ("import socket; s = socket.create_connection(('127.0.0.1', "
             f"{port})); s.settimeout(20); print('got', s.recv(9))")
    desk.start("setpriv", f"--reuid={STRANGER}", "--clear-groups",
               harness.PYTHON, "-c", knock).finish().expect(out=["got b''"])
    relay.wait_for(f"uid {STRANGER}", stream="err")
    knock = ("import socket; s = socket.socket(socket.AF_UNIX); s.connect('" +
             os.path.dirname(told["file"]) + "/clients.sock')")
    desk.start("setpriv", f"--reuid={STRANGER}", "--clear-groups",
               harness.PYTHON, "-c", knock).finish().expect(
                   code=1, err=["PermissionError"])
    relay.signal(signal.SIGTERM)
    relay.finish().expect()


def silent(bench, desk):
    """The agent closes connections that send nothing or garbage."""
    told, relay = desk.relay(CONTEXT)
    port = told["uri"].rsplit(":", 1)[1]
    for says in (b"", b"x" * 64):
        knock = ("import socket; s = socket.create_connection(('127.0.0.1', "
                 f"{port})); s.settimeout(20); s.sendall({says!r}); "
                 "print('got', s.recv(9))")
        desk.start(harness.PYTHON, "-c", knock).finish().expect(
            out=["got b''"])
    relay.signal(signal.SIGTERM)
    relay.finish().expect()


def refusals(bench, desk):
    def refused(*words, options=()):
        desk.start(bench.canopy, "relay", "--context", CONTEXT,
                   *options).finish().expect_refusal(1, *words)
    refused("has no node 'n7'", options=["--node", "n7"])
    desk.copy(CONTEXT, cluster_key=base64.b64encode(bytes(32)).decode())
    refused("does not accept our cluster key or certificates")
    desk.copy(CONTEXT, security="plaintext")
    refused("their own machines only")
    desk.copy(CONTEXT)


def over_a_restart(bench, desk):
    """A tool loses its server when the agent is killed. The relay then leads to the
    agent's successor.
    """
    pps = os.path.join(bench.prefix, "bin", "canopy-pps")
    told, relay = desk.relay(CONTEXT, "--node", "n2")
    job, nspace = waiting_job(bench)
    desk.start(pps, "--uri", told["uri"]).finish().expect(out=[nspace])
    far = desk.start(build(bench, "far_tool"), nspace, EVENT,
                     **library_of(bench, "ours"))
    far.wait_for("listening\n")
    bench.run("event", "--context", CONTEXT, "--", EVENT).expect()
    far.wait_for("event heard\n")
    bench.run("up", "--context", CONTEXT, "--replace").expect()
    far.finish().expect(out=["server lost\n"])
    until(lambda: nspace in
          desk.start(pps, "--uri", told["uri"]).finish().out,
          "the next agent to be reached")
    relay.signal(signal.SIGTERM)
    relay.finish().expect()
    job.end(signal.SIGTERM)


def run(bench):
    cases = (("our library", lambda desk: whole(bench, desk, "ours")),
             ("OpenPMIx", lambda desk: whole(bench, desk, "openpmix")),
             ("ways to find it", lambda desk: ways(bench, desk)),
             ("other users", lambda desk: strangers(bench, desk)),
             ("who says nothing", lambda desk: silent(bench, desk)),
             ("what it refuses", lambda desk: refusals(bench, desk)),
             ("another agent", lambda desk: over_a_restart(bench, desk)))
    cases = [(f"relay of tools: {name}", body) for name, body in cases]
    if not bench.wanted(*(name for name, _ in cases)):
        return
    with netns.Namespaces(3) as space, bench.overlay(
            CONTEXT, "--hosts", "n1,n2", "--launch-agent",
            netns.LAUNCH_AGENT) as up:
        if up:
            desk = Desk(bench, space.names[2])
            desk.copy(CONTEXT)
            for name, body in cases:
                bench.case(name, lambda run_it=body: run_it(desk))
            shutil.rmtree(DESK)
