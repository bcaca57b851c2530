"""Unmodified MPI programs of both families on emulated nodes."""
from harness import FAMILIES

RANKS = 8
# Without these variables, Open MPI uses UCX only with InfiniBand.
UCX = {"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any",
       "OMPI_MCA_pml_ucx_devices": "any", "UCX_NET_DEVICES": "lo"}


def place(nodes, radix):
    return ["run", "--emulate", nodes, "--radix", radix, "--oversubscribe"]


def hello(bench, where, program, ranks, timeout=60):
    """Every rank prints the size of the job once."""
    result = bench.run(*where, "-n", ranks, program, ranks, timeout=timeout)
    result.expect(out=[f"hello ok size {ranks}"] +
                  [f"hello from rank {r} of {ranks} on " for r in range(ranks)])


def everywhere(bench, family):
    program = bench.mpi("hello", family)
    for nodes in (1, 2, 4):
        for radix in (2, 32):
            bench.case(
                f"hello: {family} on {nodes} nodes, radix {radix}",
                lambda: hello(bench, place(nodes, radix), program, RANKS))


def ended_well(bench, family, name, nodes, radix, *more, options=()):
    program = bench.mpi(name, family)
    bench.case(
        f"{name}: {family} on {nodes} nodes, radix {radix}",
        lambda: bench.run(*place(nodes, radix), *options, "-n", RANKS, program,
                          RANKS, *more).expect(out=[f"{name} ok size {RANKS}"]))


def ended_badly(bench, family, nodes, radix):
    bench.case(
        f"abort: {family} on {nodes} nodes, radix {radix}",
        lambda: bench.run(*place(nodes, radix), "-n", 4,
                          bench.mpi("abort", family), 4, 7).expect(
                              code=7, err=["rank 3"], absent=["abort ok", "N/A"]))
    bench.case(
        f"segv: {family} on {nodes} nodes, radix {radix}",
        lambda: bench.run(*place(nodes, radix), "-n", 4,
                          bench.mpi("segv", family), 4).expect(
                              code=139, err=["rank 3", "signal 11"],
                              absent=["segv ok"]))


def over_ucx(bench, inject, nodes):
    """With UCX a rank puts one address for its own node and one address for
    other nodes, under the same key."""
    for name in ("hello", "ring", "alltoall"):
        program = bench.mpi(name)
        bench.case(
            f"{name}: openmpi over UCX on {nodes} nodes, --inject {inject}",
            lambda: bench.run(*place(nodes, 2), "--inject", inject, "-n", RANKS,
                              program, RANKS, env=UCX).expect(
                                  out=[f"{name} ok size {RANKS}"]))


def run(bench):
    for inject in ("auto", "never"):
        for nodes in (1, 2, 4):
            over_ucx(bench, inject, nodes)
    for family in FAMILIES:
        everywhere(bench, family)
        for nodes, radix in ((1, 32), (2, 2), (4, 2)):
            ended_well(bench, family, "ring", nodes, radix)
            ended_well(bench, family, "split", nodes, radix, RANKS // nodes,
                       options=["--map-by", "node"])
            ended_badly(bench, family, nodes, radix)
        for nodes, radix in ((1, 2), (2, 32), (4, 32)):
            ended_well(bench, family, "alltoall", nodes, radix)
