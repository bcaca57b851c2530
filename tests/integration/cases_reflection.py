"""gRPC health and reflection of the agents' control port, used by a client
without any earlier knowledge."""
import json
import os

from cases_netns import context_of
from cases_tls import Authority
from harness import PROGRAMS, PYTHON, agent_logs, check

REFLECT = os.path.join(PROGRAMS, "reflect.py")
CONTROL = "canopy.control.v1.Control"
METHODS = ("Run", "Status", "ListJobs", "Why", "SignalJob", "Shutdown", "Replace",
           "AddNodes", "DecideNodes")


def ask(bench, address, files, *methods):
    """Returns the output of reflect.py. FILES: CA, certificate and key."""
    return bench.run(REFLECT, address, *(files or ("-", "-", "-")), *methods,
                     program=PYTHON)


def addresses(context):
    return [node["control_address"] for node in context_of(context)["members"]]


def by_reflection(bench, security, files):
    """Every agent reports its services and their health, and a discovered call
    works."""
    bench.run("up", "--context", "told", "--emulate", 2, "--reflection",
              *security, "--tls-names", "agent").expect()
    pids = set()
    for address in addresses("told"):
        out = ask(bench, address, files, CONTROL + "/Status",
                  CONTROL + "/ListJobs").expect().out
        lines = dict(line.split(": ", 1) for line in out.splitlines()
                     if ": " in line and "/" not in line)
        check(lines["server"] == "SERVING" and
              lines["no.such.Service"] == "NOT_FOUND", out)
        check(lines[CONTROL].split()[1:] == list(METHODS), out)
        check("grpc.health.v1.Health" in lines, out)
        status, = (json.loads(line.split(" ", 1)[1])
                   for line in out.splitlines()
                   if line.startswith(CONTROL + "/Status "))
        names = [node["name"] for node in status["nodes"]]
        check(names == ["node1", "node2"] and int(status["pid"]) not in pids, out)
        pids.add(int(status["pid"]))
    bench.run("down", "--context", "told").expect()


def without(bench, security, files):
    """Agents serve health checks. They serve reflection only if it was requested."""
    bench.run("up", "--context", "silent", "--emulate", 1, *security).expect()
    address, = addresses("silent")
    ask(bench, address, files).expect_lines([
        "server: SERVING", "no.such.Service: NOT_FOUND",
        "no reflection: UNIMPLEMENTED"])
    bench.run("down", "--context", "silent").expect()


def stranger(bench, security, files):
    """A client without a certificate of the authority gets no reply to any call."""
    bench.run("up", "--context", "closed", "--emulate", 1, "--reflection",
              *security).expect()
    address, = addresses("closed")
    other = files_of(Authority(bench, "other", "DNS:localhost,IP:127.0.0.1").issue())
    for wrong in (None, (files[0], *other[1:])):
        out = ask(bench, address, wrong).expect().out
        check("SERVING" not in out and CONTROL not in out, out)
        check("server: UNAVAILABLE" in out, out)
    bench.run("down", "--context", "closed").expect()


def printer(bench, security, files):
    """The owner of any certificate of the authority may ask for health alone. The owner
    of one with a name of --tls-names may call everything."""
    methods = [CONTROL + "/Status", "canopy.relay.v1.ToolRelay/Describe"]
    for names, opens in (([], False), (["--tls-names", "root.example,agent"], True)):
        bench.run("up", "--context", "printed", "--emulate", 1, "--reflection",
                  *security, *names).expect()
        address, = addresses("printed")
        for _ in range(2):
            out = ask(bench, address, files, *methods).expect().out
            check("server: SERVING" in out, out)
            for method in methods:
                line, = (l for l in out.splitlines() if l.startswith(method))
                refused = "UNAUTHENTICATED: " in line and "certificate of" in line
                check(refused != opens, out)
        lines = agent_logs().count("does not entitle its owner")
        check(lines == (0 if opens else 1), f"{lines} lines:\n{agent_logs()[-2000:]}")
        bench.run("down", "--context", "printed").expect()


def files_of(options):
    return tuple(options[options.index(name) + 1]
                 for name in ("--tls-ca", "--tls-cert", "--tls-key"))


CASES = (("reflection: a client without a stub", by_reflection),
         ("reflection: health without it", without),
         ("reflection: not for strangers", stranger),
         ("reflection: certificates of others", printer))


def run(bench):
    if not bench.wanted(*(name for name, _ in CASES)):
        return
    options = Authority(bench, "reflection", "DNS:localhost,IP:127.0.0.1").issue()
    for name, body in CASES:
        bench.case(name, lambda body=body: body(bench, options, files_of(options)))
