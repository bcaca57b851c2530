"""A rank writes to its PMI socket as fast as it can, beside a job of another
launch that fences all the time on the same agents. The flood must not get more
than its share of the agent's time. CANOPY_ATTACK_SECONDS=S makes each flood
last S seconds."""
import subprocess
import time

from fence_watch import SECONDS, FenceWatch, Machine

CONTEXT = "floods"
NODES = 2
RUN = ["run", "--context", CONTEXT, "--oversubscribe", "--host", "node1", "-n",
       1, "sh", "-c"]
INIT = "echo cmd=init pmi_version=1 pmi_subversion=1; "
INIT2 = "echo cmd=init pmi_version=2 pmi_subversion=0; "
READ = " >&$PMI_FD & exec cat <&$PMI_FD >/dev/null"

# The script of the only rank. The agent closes some of these connections.
FLOODS = {
    "spawn before init": "(echo mcmd=spawn; exec yes) >&$PMI_FD",
    "spawn without an end": f"({INIT}echo mcmd=spawn; exec yes) >&$PMI_FD",
    "commands": f"({INIT}exec yes cmd=get_appnum)" + READ,
    "unread answers": f"({INIT}exec yes cmd=get_maxes) >&$PMI_FD",
    "half lines": f"({INIT}while :; do printf cmd=get_app; "
                  "printf 'num\\ncmd=get_'; printf 'appnum\\n'; done)" + READ,
    "messages of PMI-2": f"({INIT2}yes '    14cmd=job-getid;' | tr -d '\\n')"
                         + READ,
    "a long message of PMI-2 in pieces":
        f"({INIT2}printf ' 65536cmd=x;k='; while :; do printf x; done)" + READ,
}


def flood(bench, machine, script):
    """Floods for some time, and starts again when the agent closes the
    connection."""
    watch = FenceWatch(bench, CONTEXT, NODES)
    end = time.monotonic() + SECONDS / 2
    while (left := end - time.monotonic()) > 0:
        job = bench.start(*RUN, script)
        try:
            job.process.wait(left)
        except subprocess.TimeoutExpired:
            job.process.terminate()
        job.finish(20)
    watch.finish(machine)


def run(bench):
    cases = {f"flood: {name}": script for name, script in FLOODS.items()}
    if not bench.wanted(*cases):
        return
    # Other activity would be attributed to the flood.
    with bench.overlay(CONTEXT, "--emulate", str(NODES), alone=True) as up:
        machine = Machine(bench, CONTEXT, NODES) if up else None
        for name, script in cases.items() if up else ():
            bench.case(name,
                       lambda script=script: flood(bench, machine, script))
