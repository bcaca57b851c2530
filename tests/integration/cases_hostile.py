"""Processes of a job that lie to their agent about their identity, or send it
garbage. They are rejected, and a job beside them on the same nodes continues.
"""
import os

import netns
from cases_faults import Held
from cases_netns import context_of
from harness import PYTHON, RUNTIME, agent_logs, check

CONTEXT = "hostile"
RUN = ["run", "--context", CONTEXT, "--oversubscribe", "--map-by", "node"]

# Sends every kind of garbage, each on a connection of its own, until the agent
# closes it; then opens a connection that sends nothing and a connection that
# reads nothing.
GARBAGE = r"""
import os, socket, struct, sys
path = os.path.join(os.environ["PMIX_SERVER_TMPDIR"], "clients.sock")
rubbish = [b"\0" * 4096, b"\xff" * 65536, os.urandom(1 << 20),
           struct.pack("<IIQ", 0xffffffff, 1, 1), b"GET / HTTP/1.1\r\n\r\n",
           bytes(range(256)) * 64]
for data in rubbish:
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(20)
        one.connect(path)
        try:
            one.sendall(data)
            one.shutdown(socket.SHUT_WR)
            while one.recv(4096):
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass
idle = [socket.socket(socket.AF_UNIX) for _ in range(50)]
for one in idle:
    try:
        one.connect(path)
    except OSError:
        pass
print("garbage sent")
"""


def beside(bench):
    held = Held(bench, *RUN, "-n", 4, bench.pmix("fences"), 4, 1000)
    held.job.wait_for("up\n", 4)
    return held


def well(held):
    held.let_go().finish(30).expect_lines(
        ["up"] * 4 + [f"fences ok {rank}" for rank in range(4)])


def garbage(bench):
    held = beside(bench)
    bench.run(*RUN, "-n", 2, PYTHON, "-c", GARBAGE).expect_lines(
        ["garbage sent"] * 2)
    # The log has one line for each closed connection, with the reason.
    well(held)
    check(agent_logs().count("closing local connection of unknown rank: sent ") >= 12,
          "the agents did not log it:\n" + agent_logs()[-2000:])


def another_rank(bench):
    """Rank 1 claims to be rank 0, and then to be in another job."""
    held = beside(bench)
    for claim in ("PMIX_RANK=0", "PMIX_RANK=77", "PMIX_NAMESPACE=nobody"):
        result = bench.run(*RUN, "-n", 2, "sh", "-c",
                           f"[ $PMIX_RANK = 0 ] || export {claim}; exec \"$@\"",
                           "sh", bench.pmix("fences"), 2, 1000)
        check(result.code > 0 and "init: " in result.err and
              "fences ok" not in result.out,
              f"{claim} was believed" + result.tail())
    well(held)


def wrong_key(bench):
    """Uses a context whose cluster key differs from the key of its overlay."""
    path = os.path.join(RUNTIME, f"canopy-{os.geteuid()}", "contexts",
                        CONTEXT + ".json")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    key = context_of(CONTEXT)
    name = next(n for n in ("clusterKey", "cluster_key") if n in key)
    other = ("A" if key[name][0] != "A" else "B") + key[name][1:]
    held = beside(bench)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(key[name], other))
    try:
        # Only the network leads to the agents.
        hide = "mount -t tmpfs hidden /tmp/elsewhere && exec \"$@\""
        for command in (["run", "-n", 1, "true"], ["status"]):
            result = bench.run(
                "--mount", "sh", "-c", hide, "sh", bench.canopy, command[0],
                "--context", CONTEXT, *command[1:], program="unshare")
            check(result.code == 1 and len(result.err.splitlines()) == 1 and
                  f"'{CONTEXT}' does not fit its overlay" in result.err,
                  "not a clear refusal" + result.tail())
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    well(held)


def run(bench):
    cases = {"hostile: garbage": garbage, "hostile: another rank": another_rank}
    if bench.wanted(*cases):
        with bench.overlay(CONTEXT, "--emulate", "2") as up:
            for name, body in cases.items() if up else ():
                bench.case(name, lambda: body(bench))
    if not bench.wanted("hostile: wrong cluster key"):
        return
    os.makedirs("/tmp/elsewhere", mode=0o700)
    with netns.Namespaces(2) as space, bench.overlay(
            CONTEXT, "--hosts", ",".join(space.names), "--launch-agent",
            "ip netns exec {host} env XDG_RUNTIME_DIR=/tmp/elsewhere") as up:
        if up:
            bench.case("hostile: wrong cluster key",
                       lambda: wrong_key(bench))
    os.rmdir("/tmp/elsewhere")
