"""PMI-2 over PMI_FD: with the client library of Slurm, and written by hand,
beside PMI-1 and PMIx in one job."""
import os
import tempfile

import cases_restart
from harness import check

NODES = (1, 2, 4)
RANKS = 8
NEVER = ("--inject", "never")
RESTARTS = tuple(f"pmi: agents of {n} nodes restart under PMI-2" for n in (1, 2))
NONSENSE = ("999999cmd=x;", "     0", "nonsense", "     4nope",
            "cmd=get_appnum\n")


def place(nodes):
    return ("--emulate", nodes, "--map-by", "node", "--oversubscribe")


def client(bench):
    """Links with Debian's libpmi2-0, whose header equals Canopy's."""
    return bench.compile("gcc", "pmi2", f"-I{bench.prefix}/include", "-ldl",
                         "-l:libpmi2.so.0")


def exchange(bench, nodes):
    bench.run("run", *NEVER, *place(nodes), "-n", RANKS, client(bench),
              "exchange", RANKS).expect_lines(
                  [f"exchange {rank} ok" for rank in range(RANKS)])


def spawn(bench, nodes):
    bench.run("run", *NEVER, *place(nodes), "-n", 4, client(bench), "spawn",
              4).expect_lines([f"spawn {rank} ok" for rank in range(4)] +
                              [f"child {rank} ok" for rank in range(3)])


def abort(bench, nodes):
    bench.run("run", *NEVER, *place(nodes), "-n", 4, client(bench), "abort",
              1).expect(code=1, err=["rank 1; has had enough"])


def by_hand(bench, nodes, mode):
    bench.run("run", *place(nodes), "-n", RANKS, bench.pmix("pmi_wire"),
              mode).expect_lines(
                  [f"{mode} {rank} ok" for rank in range(RANKS)])


def bad(bench, nonsense):
    """A process that violates the protocol is disconnected. No other process is."""
    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        job = bench.start("run", "--emulate", 1, "--oversubscribe", "-n", 4,
                          bench.pmix("pmi_wire"), "bad", nonsense, steps)
        job.wait_for("is closed")
        cases_restart.go(steps, 1)
        job.wait_for("goes on", 3)
        cases_restart.go(steps, 2)
        job.finish()


def restart(bench, overlay, nodes):
    """Each node's agent is killed at each place where a rank may wait."""
    def everywhere():
        for member in overlay.members():
            overlay.kill(member["name"])
            overlay.restart(member["name"])

    with tempfile.TemporaryDirectory() as steps:
        os.chmod(steps, 0o755)
        job = bench.start("run", "--context", overlay.name, *NEVER, "-n", RANKS,
                          "--map-by", "node", "--oversubscribe", client(bench),
                          "steps", RANKS, steps)
        job.wait_for("is ready", RANKS)
        everywhere()
        cases_restart.go(steps, 1)
        job.wait_for("is new", RANKS)
        everywhere()
        cases_restart.go(steps, 2)
        job.wait_for("is through", RANKS)
        everywhere()
        cases_restart.go(steps, 3)
        job.wait_for("has waited", RANKS)
        everywhere()
        cases_restart.go(steps, 4)
        out = job.finish(60).expect().out.splitlines()
    for line in ([f"steps {rank} ok" for rank in range(RANKS)] +
                 [f"child {rank} ok" for rank in range(3)]):
        check(out.count(line) == 1, f"not once: {line}")


def restarts(bench):
    if not bench.wanted(*RESTARTS):
        return
    for nodes, name in zip((1, 2), RESTARTS):
        context = f"pmi-restart{nodes}"
        with bench.overlay(context, "--emulate", nodes, "--restart-grace",
                           60) as up:
            overlay = cases_restart.Overlay(bench, context)
            if up:
                bench.case(name, lambda: restart(bench, overlay, nodes),
                           leaves=True)


def run(bench):
    for nodes in NODES:
        for what, body in (("keys, attributes and names", exchange),
                           ("spawning", spawn), ("abort", abort)):
            bench.case(f"pmi: {what} by Slurm's PMI-2 on {nodes} nodes",
                       lambda nodes=nodes, body=body: body(bench, nodes))
        for what, mode in (("messages of PMI-2", "forms"),
                           ("PMI-2, PMI-1 and PMIx in one job", "mixed")):
            bench.case(f"pmi: {what} on {nodes} nodes",
                       lambda nodes=nodes, mode=mode: by_hand(bench, nodes,
                                                              mode))
    for number, nonsense in enumerate(NONSENSE):
        bench.case(f"pmi: nonsense {number} in place of a PMI-2 message",
                   lambda nonsense=nonsense: bad(bench, nonsense))
    restarts(bench)
