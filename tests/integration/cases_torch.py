"""Programs of torch.distributed, which find each other by variables."""
import os

from harness import PROGRAMS, PYTHON

SCRIPT = os.path.join(PROGRAMS, "all_reduce_torch.py")


def all_reduce(bench, nodes):
    bench.run("run", "--emulate", nodes, "--torch-env", "--oversubscribe",
              "--map-by", "node", "-n", 4, PYTHON, SCRIPT, 4, nodes,
              timeout=120).expect(out=[f"torch ok, 4 ranks on {nodes} nodes"])


def from_app_file(bench):
    """A program in an application file can have the option."""
    path = os.path.join(bench.work, "torch.app")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"-n 2 --torch-env {PYTHON} {SCRIPT} 2 1\n")
    bench.run("run", "--oversubscribe", "--app", path,
              timeout=120).expect(out=["torch ok, 2 ranks on 1 nodes"])


def without(bench):
    """Without the option the variables are absent."""
    bench.run("run", "-n", 1, "sh", "-c",
              "echo \"port=$MASTER_PORT.\"").expect(out=["port=."])


def run(bench):
    for nodes in (1, 2, 4):
        bench.case(f"torch: all-reduce on {nodes} nodes",
                   lambda nodes=nodes: all_reduce(bench, nodes))
    bench.case("torch: from an application's file",
               lambda: from_app_file(bench))
    bench.case("torch: not asked for", lambda: without(bench))
