"""MPI's dynamic processes: spawning, and halves of a job that connect by a
name. Debian's Open MPI runs with Canopy's library, and with its own OpenPMIx.
"""
KINDS = (("spawn", 3), ("multiple", 2), ("many", 5), ("names", 0))


def lines(kind, count):
    """Returns the lines that the processes are expected to print."""
    out = [f"dynamic ok, {kind}"]
    if kind == "spawn":
        out += [f"child {n} of {count}, number 1, one" for n in range(count)]
    if kind == "multiple":
        of = f"of {count + 1}, number 7"
        out += [f"child {n} {of}, one" for n in range(count)]
        out += [f"child {count} {of}, two"]
    if kind == "many":
        out += [f"child 0 of 1, number {n}, one" for n in range(count)]
    return out


def dynamic(bench, nodes, inject, kind, count):
    ranks = 4 if kind == "names" else 2
    # Jobs share no memory, and Open MPI excludes the loopback interface.
    lo = ["--mca", "btl_tcp_if_include", "lo"] if nodes == 1 else []
    bench.run("run", "--emulate", nodes, "--inject", inject, "--oversubscribe",
              "--map-by", "node", *lo, "-n", ranks, bench.mpi("dynamic"), kind,
              count).expect_lines(lines(kind, count))


def run(bench):
    for nodes in (1, 2, 4):
        for inject in ("auto", "never"):
            for kind, count in KINDS:
                bench.case(
                    f"dynamic: {kind} on {nodes} nodes, --inject {inject}",
                    lambda nodes=nodes, inject=inject, kind=kind, count=count:
                    dynamic(bench, nodes, inject, kind, count))
