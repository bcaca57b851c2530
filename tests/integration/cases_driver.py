"""The links are driven by a thread of their own, which is the fallback if gRPC
cannot be driven by the agent's loop."""
import cases_restart
from harness import check

NODES = 3
RANKS = 8
ENV = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
CONTEXT = "driver"
KILLED = (("node2", 0), ("node1", 5))
NAMES = ("grpc by thread: the log names it", "grpc by thread: MPI jobs",
         *(f"grpc by thread: kill -9 of {node}'s agent" for node, _ in KILLED))


def named(bench):
    text = bench.run("logs", "--context", CONTEXT).expect().out
    lines = [line for line in text.splitlines() if "links are served" in line]
    check(len(lines) == NODES and all("by a thread" in line for line in lines),
          f"the logs have {lines}")


def jobs(bench):
    """Tests launch, modex and fences across the nodes."""
    for program in ("ring", "alltoall"):
        bench.run("run", "--context", CONTEXT, "--oversubscribe", "--map-by",
                  "node", "-n", RANKS, bench.mpi(program), RANKS,
                  env=ENV).expect(out=[f"{program} ok size {RANKS}"])


def run(bench):
    if not bench.wanted(*NAMES):
        return
    before = bench.env
    bench.env = dict(before, CANOPY_GRPC_DRIVER="thread")
    try:
        with bench.overlay(CONTEXT, "--emulate", NODES, "--radix", 2,
                           "--restart-grace", 60) as up:
            if not up:
                return
            overlay = cases_restart.Overlay(bench, CONTEXT)
            bench.case(NAMES[0], lambda: named(bench))
            bench.case(NAMES[1], lambda: jobs(bench))
            for node, code in KILLED:
                bench.case(
                    f"grpc by thread: kill -9 of {node}'s agent",
                    lambda: cases_restart.killed(bench, overlay, node, code),
                    leaves=True)
    finally:
        bench.env = before
