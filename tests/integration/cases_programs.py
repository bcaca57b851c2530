"""Programs of other authors, and jobs of many ranks."""
import os
import re
import shutil

from cases_mpi import hello
from harness import PROGRAMS, PYTHON, check

HPCC_INPUT = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
MATRIX_SIZE = 256


def place(nodes):
    """Returns the options for a number of emulated nodes, or for the overlay of
    a context."""
    return (["--context", nodes] if isinstance(nodes, str) else
            ["--emulate", nodes])


def netpipe(bench, nodes=2, options=()):
    """Bandwidth between two ranks; 31 sizes from 1 byte to 64 KiB."""
    sizes = bench.run("run", *options, *place(nodes), "--oversubscribe",
                      "--map-by", "node", "-n", 2, "NPopenmpi", "-l", 1, "-u",
                      65536, "-p", 0, "-n", 20, "-o",
                      os.path.join(bench.work, "np.out")).expect()
    text = sizes.out + sizes.err
    check(len(re.findall(r"bytes\s+\d+ times -->", text)) == 32 and
          "65536 bytes" in text, "not all sizes were measured" + sizes.tail())


def mpi4py(bench, nodes, options=()):
    script = os.path.join(PROGRAMS, "hello_mpi4py.py")
    bench.run("run", *options, *place(nodes), "--oversubscribe", "-n", 4,
              PYTHON, script, 4).expect(out=["mpi4py ok size 4"])


def hpcc(bench, nodes, options=()):
    directory = os.path.join(bench.work, "hpcc")
    os.mkdir(directory)
    with open(HPCC_INPUT, encoding="utf-8") as file:
        text = re.sub(r"^\d+(\s+Ns)$", rf"{MATRIX_SIZE}\1", file.read(), 1,
                      re.M)
    with open(os.path.join(directory, "hpccinf.txt"), "w",
              encoding="utf-8") as file:
        file.write(text)
    try:
        bench.run("run", *options, *place(nodes), "--oversubscribe",
                  "--map-by", "node", "--wdir", directory, "-n", 4, "hpcc",
                  timeout=600).expect()
        with open(os.path.join(directory, "hpccoutf.txt"),
                  encoding="utf-8") as file:
            report = file.read()
        for line in ("Success=1", "CommWorldProcs=4"):
            check(line in report.splitlines(), f"the report lacks {line}")
    finally:
        shutil.rmtree(directory)


def many(bench, program):
    """Ranks that spin may keep an agent from the CPU for longer than the
    default time after which the others consider it lost."""
    with bench.standing("many", "--emulate", 4, "--loss-timeout", 60,
                        quiet=True):
        hello(bench, ["run", "--context", "many", "--oversubscribe"], program,
              64, timeout=120)


def run(bench):
    for nodes in (1, 2, 4):
        bench.case(f"NetPIPE on {nodes} nodes", lambda: netpipe(bench, nodes))
        bench.case(f"mpi4py on {nodes} nodes", lambda: mpi4py(bench, nodes))
        bench.case(f"HPCC on {nodes} nodes", lambda: hpcc(bench, nodes))
    for family in ("openmpi", "mpich"):
        program = bench.mpi("hello", family)
        bench.case(f"64 ranks of {family} on 4 nodes",
                   lambda: many(bench, program), alone=True)
        bench.case(f"128 ranks of {family} on one node", lambda: hello(
            bench, ["run", "--emulate", 1, "--oversubscribe"], program, 128,
            timeout=300), alone=True)
