#!/usr/bin/env python3
"""Runs Indexed Jobs one after the other on the small Kubernetes of the tests, and
measures their starts, their requests of the API server, and what the agents keep.

Usage: many_pods.py PREFIX [--jobs 200] [--nodes 4] [--ranks 8]

PREFIX has an installed Canopy. Each job has a pod on each node, with the ranks of a
program that only initializes and finalizes PMIx. Prints the times from the creation of
a job to the end of its last pod, and to the moment at which its last rank has left
PMIx_Init; the requests of a job; and the memory of the agents, in KiB, after a quarter
of the jobs and at the end. Needs root."""
import argparse
import collections
import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "kubernetes"))
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))
PORT = 7117
PROGRAM = r"""
#include <pmix.h>
#include <stdio.h>
#include <time.h>
int main(void) {
  pmix_proc_t self;
  struct timespec now;
  if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) return 1;
  clock_gettime(CLOCK_REALTIME, &now);
  printf("initialized %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 2;
}
"""


def compile_program(prefix, directory):
    source = os.path.join(directory, "start.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    program = os.path.join(directory, "start")
    subprocess.run(["cc", "-O1", "-o", program, source, f"-I{prefix}/include",
                    f"-L{prefix}/lib", "-lpmix"], check=True)
    return program


def install_files(prefix, directory):
    """Makes what containers get as /opt/canopy."""
    for folder, names in {"bin": ["bin/canopy-exec"],
                          "lib": ["lib/canopy/canopy-entry.so",
                                  "lib/canopy/libpmix.so.2"]}.items():
        os.makedirs(os.path.join(directory, folder))
        subprocess.run(["cp", *(os.path.join(prefix, name) for name in names),
                        os.path.join(directory, folder)], check=True)


class Agents:
    """An agent on each node of the small Kubernetes."""

    def __init__(self, prefix, cluster, home):
        files = os.path.join(home, "files")
        install_files(prefix, files)
        key = os.path.join(home, "key")
        with open(key, "w", encoding="utf-8",
                  opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(secrets.token_hex(32))
        nodes = [f"{node.name}={node.address}:{PORT}" for node in cluster.nodes]
        self.processes = []
        for node in cluster.nodes:
            path = os.path.join(home, f"{node.name}.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"nodes = {nodes}\nkey-file = '{key}'\n"
                           f"directory = '{home}/run'\n[kubernetes]\npods = true\n"
                           f"device-plugins = '{node.device_plugins}'\n"
                           f"host-run = '{node.run}'\nhost-files = '{files}'\n")
            with open(os.path.join(home, f"{node.name}.log"), "wb") as log:
                self.processes.append(subprocess.Popen(
                    [f"{prefix}/bin/canopyd", "--cluster", path, "--node", node.name],
                    env={**os.environ, **cluster.api.environment()}, stdout=log,
                    stderr=log, stdin=subprocess.DEVNULL))

    def memory(self):
        """Returns the private memory of each agent in KiB."""
        found = []
        for process in self.processes:
            with open(f"/proc/{process.pid}/smaps_rollup", encoding="utf-8") as file:
                found.append(sum(int(line.split()[1]) for line in file
                                 if line.startswith("Private_")))
        return found

    def close(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


def run_job(cluster, program, number, options):
    """Returns the seconds until the last rank has left PMIx_Init, and until the end.
    """
    begin = time.time()
    job = cluster.apply_job(f"job{number}", [program], completions=options.nodes,
                            ranks=options.ranks,
                            volumes=((os.path.dirname(program),) * 2 + (True,),
                                     (ROOT, ROOT, True)))
    codes = job.wait(120)
    end = time.time()
    log = job.logs()
    if codes != [0] * options.nodes:
        sys.exit(f"job {number} ended with {codes}:\n{log}")
    times = [float(text) for text in re.findall(r"initialized ([\d.]+)", log)]
    if len(times) != options.nodes * options.ranks:
        sys.exit(f"job {number} has {len(times)} ranks:\n{log}")
    job.delete()
    return max(times) - begin, end - begin


def requests(cluster):
    """Returns how often each kind of request was made, by verb and resource."""
    return collections.Counter({name: count for name, count
                                in cluster.api.counts.items() if name.islower()
                                and "/" not in name})


def measure(cluster, agents, program, options):
    starts, ends = [], []
    early = None
    before = requests(cluster)
    for number in range(options.jobs):
        start, end = run_job(cluster, program, number, options)
        starts.append(start)
        ends.append(end)
        if number + 1 == max(options.jobs // 4, 1):
            early = agents.memory()
    print(f"{options.jobs} jobs of {options.nodes} x {options.ranks} ranks")
    for name, values in (("out of PMIx_Init", starts), ("ended", ends)):
        print(f"  {name}: median {statistics.median(values) * 1000:.0f} ms, "
              f"longest {max(values) * 1000:.0f} ms")
    made = {name: count - before[name] for name, count in requests(cluster).items()}
    print("  requests of the API server for each job:",
          {name: round(count / options.jobs, 2) for name, count in made.items()})
    print(f"  memory of the agents: {early} KiB, then {agents.memory()} KiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("prefix")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--ranks", type=int, default=8)
    options = parser.parse_args()
    if os.environ.get("CANOPY_MANY_PODS") is None:
        os.execvpe("unshare", ["unshare", "--net", "/usr/bin/python3", *sys.argv],
                   {**os.environ, "CANOPY_MANY_PODS": "1"})
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    import pods as bed
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        program = compile_program(options.prefix, home)
        with bed.Cluster(home, options.nodes) as cluster:
            agents = Agents(options.prefix, cluster, home)
            try:
                late = cluster.wait_for_devices(options.ranks, seconds=30)
                if late:
                    sys.exit(f"{late} offer no devices")
                measure(cluster, agents, program, options)
            finally:
                agents.close()


if __name__ == "__main__":
    main()
