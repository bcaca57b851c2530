#!/usr/bin/env python3
"""Compares process managers: runs the same PMIx programs under each in turn.

The managers are Canopy, Open MPI's orterun and MPICH's mpiexec.hydra; or two
installations of Canopy; or Debian's orterun or Slurm, once with its own PMIx
library and once with Canopy's. Prints medians and ratios.

Usage: compare.py [--quick] [--mode pin|free|both] [--library own|stock]
                  [--prefix P] [--baseline P] [--host [orterun|srun]] [--json FILE]
                  [--rounds N] [WORD...]

With WORDs, only measurements whose name contains one of them are run. With
--library stock the programs load Debian's OpenPMIx under Canopy as well. With
--baseline another installation of Canopy takes the place of the other
launchers. With --host the column of Canopy shows orterun, or Slurm's srun on
one node, with Canopy's library in the server and in the programs.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import launchers
import isolation  # noqa: E402  launchers know where it is

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
LINE = re.compile(r"^CB (\w+) ([-0-9.e+]+)$", re.MULTILINE)
PIN = ["taskset", "-c", "0"]
RESULTS = "results.json"
WITHOUT_PMIX = ("pmi1", "output")
DEBIAN_PMIX = "/usr/lib/x86_64-linux-gnu/pmix2"


# The launchers that can run a program which needs only fences from its host.
PLAIN = ("canopy", "orterun", "srun")


class Case:
    """One program with a number of ranks. `metrics` maps the names of a
    program's results (or "wall_ms", the time of the whole command) to the names
    of rows; `over` combines the results of several ranks. With `output`, the
    program writes that many bytes, which are counted, and reports nothing;
    "cpu_ms" is the CPU time of all processes. A `tool` is not launched."""

    def __init__(self, name, n, argv, metrics, nodes=0, over=statistics.median,
                 only=None, cold=False, modes=("pin", "free"), quick=True,
                 once=False, output=0, tool=False):
        self.name, self.n, self.argv, self.metrics = name, n, argv, metrics
        self.nodes, self.over, self.only = nodes, over, only
        self.cold, self.modes, self.quick = cold, modes, quick
        self.once, self.output, self.tool = once, output, tool
        self.uses_library = "/" not in argv[0] and argv[0] not in WITHOUT_PMIX


def fence(n, mode="none", count=200, nodes=0, label=None, **kw):
    label = label or f"fence {mode}, n={n}"
    return Case(label, n, ["fence", mode, str(count)],
                {"p10_us": f"{label}: least 10%, us", "median_us": f"{label}: us"},
                nodes=nodes, only=PLAIN, **kw)


def pmi_fence(n, **kw):
    label = f"fence none, n={n}"
    return Case(label + " (PMI-1)", n, ["pmi1", "200"],
                {"p10_us": f"{label}: least 10%, us", "median_us": f"{label}: us"},
                only=("hydra",), **kw)


def launch(n, **kw):
    return Case(f"launch true n={n}", n, ["/bin/true"],
                {"wall_ms": f"launch true, n={n}: ms"}, modes=("free",), **kw)


def cases():
    # This case comes first, because an agent returns little memory between
    # jobs.
    yield Case("memory agent", 64, ["memory", "2"],
               {"agent_idle_mb": "agent idle, resident: MB",
                "agent_rank_kb": "agent growth for each local rank: KB"},
               only=("canopy",), modes=("free",), once=True)
    # Measures the memory that 62 more ranks add to the server of a host in C.
    yield Case("memory server", 64, ["memory", "2"],
               {"server_rank_kb": "host's server, growth for each rank: KB"},
               only=("host", "srun"), modes=("free",))
    yield from (fence(n) for n in (2, 8, 64))
    yield from (pmi_fence(n) for n in (2, 8, 64))
    label = "fence collect 1 KiB, n=64"
    yield Case(label, 64, ["fence", "collect", "600"],
               {"early_us": label + ": 10th, us", "late_us": label + ": 600th, us",
                "median_us": label + ": us"}, only=PLAIN)
    label = "fence collect a new 1 KiB, n=8"
    yield Case(label, 8, ["fence", "grow", "600"],
               {"early_us": label + ": 10th, us", "late_us": label + ": 600th, us"},
               only=("canopy", "orterun"), modes=("free",), quick=False)
    yield Case("get", 4, ["get"],
               {"job_key_ns": "get job key: ns", "peer_key_ns": "get peer key: ns",
                "absent_ns": "get absent, OPTIONAL: ns",
                "first_touch_ns": "get 1 KiB, first touch: ns"},
               only=PLAIN)
    for n in (1, 64):
        metrics = {"init_wall_us": f"init n={n}, slowest rank: wall us"}
        yield Case(f"init n={n}", n, ["init"], metrics, over=max,
                   only=PLAIN)
    yield Case("init cpu", 64, ["init"], {"init_cpu_us": "init n=64: CPU us"},
               only=PLAIN, modes=("pin",))
    # orterun sometimes hangs when many programs exit together.
    yield from (launch(n, quick=n < 256,
                       only=("canopy", "hydra") if n > 64 else None)
                for n in (1, 64, 256))
    for argv, who in ((["init", "quiet"], ("canopy", "orterun")),
                      (["pmi1", "0"], ("hydra",))):
        yield Case("launch init/finalize n=256", 256, argv,
                   {"wall_ms": "launch init/finalize, n=256: ms"}, only=who,
                   modes=("free",), quick=False)
    yield Case("memory client", 8, ["memory"],
               {"private_kb": "client private memory: KB"},
               only=("canopy", "orterun"), modes=("free",))
    yield Case("launch cold n=1", 1, ["/bin/true"],
               {"wall_ms": "launch true, nothing up, n=1: ms"}, cold=True,
               only=("canopy", "orterun"), modes=("free",))
    yield fence(4, nodes=4, label="fence none, 4 nodes x 1")
    yield Case("dmodex 4x1", 4, ["dmodex", "50"],
               {"median_us": "dmodex get, 4 nodes x 1: us"}, nodes=4,
               only=("canopy", "orterun"))
    yield Case("publish n=64", 64, ["publish", "200"],
               {"publish_us": "publish, n=64: us",
                "lookup_us": "lookup, n=64: us"}, only=("canopy", "orterun"))
    yield Case("publish 4x1", 4, ["publish", "200"],
               {"last_lookup_us": "lookup of another node's, 4 nodes x 1: us"},
               nodes=4, only=("canopy", "orterun"))
    yield Case("query n=64", 64, ["query", "200"],
               {"query_us": "query of one key, n=64: us",
                "table_us": "query of the process table, n=64: us"},
               only=("canopy", "orterun"))
    yield Case("query 4x16", 64, ["query", "200"],
               {"table_us": "query of the process table, 4 nodes x 16: us"},
               nodes=4, only=("canopy", "orterun"))
    # Under Debian's orterun, processes receive no events of other processes,
    # and groups do not work.
    for nodes, where in ((0, "n=64"), (4, "4 nodes x 16")):
        yield Case(f"event {where}", 64, ["event", "100"],
                   {"event_us": f"event to all, {where}: us"}, nodes=nodes,
                   only=("canopy",))
    for nodes, where in ((0, "n=32"), (4, "4 nodes x 8")):
        yield Case(f"group {where}", 32, ["group", "50"],
                   {"construct_us": f"group construct, {where}: us",
                    "destruct_us": f"group destruct, {where}: us",
                    "fence_us": f"fence of the group, {where}: us"},
                   nodes=nodes, only=("canopy",))
    for n in (1, 16):
        yield Case(f"spawn {n}", 1, ["spawn", str(n), "10"],
                   {"spawn_ms": f"spawn of {n}: ms",
                    "connected_ms": f"spawn of {n}, connected: ms"},
                   only=("canopy", "orterun"))
    yield Case("connect 1+8", 1, ["spawn", "8", "5"],
               {"connect_us": "connect and disconnect of 1 and 8: us"},
               only=("canopy", "orterun"))
    # The launcher's output has one reader.
    mib, ranks = 256, 8
    label = f"{mib} MiB of output, 4 nodes x 2"
    yield Case("output 4x2", ranks, ["output", str(mib // ranks)],
               {"wall_ms": label + ": ms", "cpu_ms": label + ": CPU ms"},
               nodes=4, only=("canopy", "orterun"), modes=("free",),
               output=mib << 20)
    # The tools of Debian's orterun find no server.
    yield Case("tool", 1, ["tool", "50"],
               {"answer_us": "tool_init to the first answer: us",
                "life_us": "tool_init to finalized: us"}, only=("canopy",),
               tool=True)
    yield fence(32, nodes=8, label="fence none, 8 nodes x 4", quick=False)
    yield fence(32, "collect", count=60, nodes=8, quick=False,
                label="fence collect 1 KiB, 8 nodes x 4")
    yield Case("launch 8x4", 32, ["init", "quiet"],
               {"wall_ms": "launch init/finalize, 8 nodes x 4: ms"}, nodes=8,
               only=("canopy", "orterun"), modes=("free",), quick=False)


class Comparison:
    def __init__(self, options, work, prefix):
        self.options = options
        self.work = work
        self.prefix = prefix
        self.samples = {}   # (row, mode, launcher) -> values
        self.failures = []

    def build(self):
        for name in ("fence", "get", "dmodex", "init", "memory", "publish",
                     "query", "event", "group", "spawn", "tool") + WITHOUT_PMIX:
            source = os.path.join(HERE, "programs", name + ".c")
            pmix = [] if name in WITHOUT_PMIX else self.library()
            subprocess.run(["cc", "-std=gnu11", "-O2", "-o",
                            os.path.join(self.work, name), source, *pmix],
                           check=True)

    def library(self):
        if self.options.library == "stock" or self.options.host:
            return [f"-I{DEBIAN_PMIX}/include", f"-L{DEBIAN_PMIX}/lib", "-lpmix"]
        return ["-I" + os.path.join(self.prefix, "include"),
                os.path.join(self.prefix, "lib", "canopy", "libpmix.so.2")]

    def run(self, case, mode, launcher):
        argv = [case.argv[0] if "/" in case.argv[0]
                else os.path.join(self.work, case.argv[0])] + case.argv[1:]
        make = launcher.cold_command if case.cold else launcher.command
        if case.tool:
            make = launcher.tool_command
        if case.output:
            return self.run_output(case, mode, launcher, make(case.n, argv))
        memory = None
        if case.name == "memory agent":
            idle_kb = launcher.agent_kb()
            # The first job has additional costs.
            subprocess.run(make(2, argv[:1]), check=False,
                           stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL)
            memory = launcher.watch_memory()
        if case.name == "memory server":
            few = subprocess.Popen(make(2, argv), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)
            watch = launcher.watch_server(few)
            few.wait()
            few_kb = watch.stop()[1]
        start = time.perf_counter()
        process = subprocess.Popen(make(case.n, argv), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        if case.name == "memory server":
            memory = launcher.watch_server(process)
        try:
            out, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self.failures.append(f"{case.name}, {mode}, {launcher.name}: hangs")
            return
        wall_ms = (time.perf_counter() - start) * 1e3
        if process.returncode != 0:
            self.failures.append(f"{case.name}, {mode}, {launcher.name}: exit "
                                 f"{process.returncode}: {err.strip()[-200:]}")
            return
        seen = {"wall_ms": [wall_ms]}
        if case.name == "memory server":
            seen["server_rank_kb"] = [(memory.stop()[1] - few_kb) / (case.n - 2)]
        elif memory is not None:
            before, most = memory.stop()
            seen["agent_idle_mb"] = [idle_kb / 1024]
            seen["agent_rank_kb"] = [(most - before) / case.n]
        for name, value in LINE.findall(out):
            seen.setdefault(name, []).append(float(value))
        for metric, row in case.metrics.items():
            self.samples.setdefault((row, mode, launcher.name), []).append(
                case.over(seen[metric]))

    def run_output(self, case, mode, launcher, command):
        start, cpu = time.perf_counter(), launchers.cpu_ms()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        with subprocess.Popen(["wc", "-c"], stdin=process.stdout,
                              stdout=subprocess.PIPE) as puller:
            process.stdout.close()
            try:
                code = process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
            read = int(puller.stdout.read())
        seen = {"wall_ms": (time.perf_counter() - start) * 1e3,
                "cpu_ms": launchers.cpu_ms() - cpu}
        if code != 0 or read != case.output:
            self.failures.append(f"{case.name}, {mode}, {launcher.name}: exit "
                                 f"{code}, {read} of {case.output} bytes")
            return
        for metric, row in case.metrics.items():
            self.samples.setdefault((row, mode, launcher.name), []).append(
                seen[metric])

    def peers(self):
        if self.options.host:
            return (self.options.host,)
        return (("baseline",) if self.options.baseline
                else ("orterun", "hydra"))

    def runs_under(self, case, launcher):
        if self.options.host:
            return True
        name = "canopy" if launcher.name == "baseline" else launcher.name
        return case.only is None or name in case.only

    def is_of_these(self, case):
        """Returns whether one of the compared launchers can run the case."""
        if self.options.host:
            if case.only is None or not case.uses_library:
                return False
            if self.options.host == "srun":
                return "srun" in case.only and not case.nodes
            return "orterun" in case.only or "host" in case.only
        return case.only is None or any(
            name in case.only for name in
            (("canopy",) if self.options.baseline
             else ("canopy", "orterun", "hydra")))

    def hosts(self, pin, nodes, stack):
        """Returns a resource manager with Canopy's library, and with its own.
        """
        library = os.path.join(self.prefix, "lib")
        if self.options.host == "orterun":
            yield launchers.Orterun(pin, nodes, library, "canopy")
            yield launchers.Orterun(pin, nodes)
            return
        node = stack.enter_context(launchers.SlurmNode(pin))
        yield launchers.Srun(pin, node, os.path.join(library, "libpmix.so.2"),
                             "canopy")
        yield launchers.Srun(pin, node)

    def all_launchers(self, mode, nodes, stack):
        pin = PIN if mode == "pin" else []
        options = (["--inject", "never"] if self.options.library == "stock"
                   else [])
        if self.options.host:
            yield from self.hosts(pin, nodes, stack)
            return
        yield launchers.Canopy(self.prefix, pin, nodes, options)
        if self.options.baseline:
            yield launchers.Canopy(self.options.baseline, pin, nodes, options,
                                   "baseline")
            return
        if shutil.which("orterun"):
            yield launchers.Orterun(pin, nodes)
        if shutil.which("mpiexec.hydra") and not nodes:
            yield launchers.Hydra(pin)

    def measure(self, mode, chosen, nodes):
        with contextlib.ExitStack() as stack:
            ready = [stack.enter_context(launcher)
                     for launcher in self.all_launchers(mode, nodes, stack)]
            for turn in range(self.options.rounds):
                for case in chosen:
                    if case.once and turn > 0:
                        continue
                    # The first launcher of a turn finds other cache contents
                    # than the second, so the order alternates.
                    for launcher in ready if turn % 2 == 0 else ready[::-1]:
                        if self.runs_under(case, launcher):
                            with launcher.turn():
                                self.run(case, mode, launcher)

    def measure_all(self):
        words = self.options.words
        wanted = [c for c in cases()
                  if (c.quick or not self.options.quick)
                  and self.is_of_these(c)
                  and (self.options.library == "own" or c.uses_library)
                  and (not words or any(w in c.name for w in words))]
        modes = (["pin", "free"] if self.options.mode == "both"
                 else [self.options.mode])
        for mode in modes:
            for count in sorted({c.nodes for c in wanted}):
                chosen = [c for c in wanted
                          if c.nodes == count and mode in c.modes]
                if not chosen:
                    continue
                if count == 0:
                    self.measure(mode, chosen, None)
                else:
                    with launchers.Nodes(count) as nodes:
                        self.measure(mode, chosen, nodes)

    def rows(self):
        table = {}
        for (row, mode, who), values in self.samples.items():
            table.setdefault((row, mode), {})[who] = {
                "median": statistics.median(values), "min": min(values),
                "runs": len(values)}
        return table

    def print_table(self):
        peers = self.peers()
        print(f"{'what':46} {'mode':5} {'canopy':>10} {'(min)':>10} "
              + " ".join(f"{p:>10}" for p in peers) + "   best peer/canopy")
        for (row, mode), found in self.rows().items():
            ours = found.get("canopy")
            theirs = [found[p]["median"] for p in peers if p in found]
            cells = [f"{found[p]['median']:10.1f}" if p in found else " " * 10
                     for p in ("canopy",) + peers]
            least = f"{ours['min']:10.1f}" if ours else " " * 10
            ratio = (f"{min(theirs) / ours['median']:8.2f}"
                     if ours and theirs else "")
            print(f"{row:46} {mode:5} {cells[0]} {least} "
                  + " ".join(cells[1:]) + " " + ratio)
        for failure in self.failures:
            print("failed:", failure)

    def write_json(self, load):
        rows = [{"what": row, "mode": mode, **found}
                for (row, mode), found in self.rows().items()]
        text = json.dumps({"cpus": os.cpu_count(), "load_before": load[0],
                           "load_after": load[1], "rounds": self.options.rounds,
                           "rows": rows, "failures": self.failures}, indent=1)
        with open(os.path.join(self.work, RESULTS), "w",
                  encoding="ascii") as out:
            out.write(text + "\n")


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true",
                        help="at most three minutes: one turn, no large jobs")
    parser.add_argument("--mode", choices=("pin", "free", "both"),
                        default="both", help="one CPU for everything, or all")
    parser.add_argument("--library", choices=("own", "stock"), default="own",
                        help="which PMIx library programs load under Canopy")
    parser.add_argument("--prefix", help="an installed Canopy (default: built)")
    parser.add_argument("--baseline",
                        help="an installed Canopy to compare with")
    parser.add_argument("--host", nargs="?", choices=("orterun", "srun"),
                        const="orterun",
                        help="that one with our library, and with its own")
    parser.add_argument("--json", help="write the results there as well")
    parser.add_argument("--rounds", type=int, help="turns (3, with --quick 1)")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(words)
    options.rounds = options.rounds or (1 if options.quick else 3)
    return options


def inside(keep, words):
    """Measures in a world without foreign processes and networks."""
    options = options_of(words)
    _, work, prefix = keep
    runtime = os.path.join(work, "run")
    os.mkdir(runtime, mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = runtime
    comparison = Comparison(options, work, prefix)
    comparison.build()
    before = os.getloadavg()[0]
    start = time.monotonic()
    comparison.measure_all()
    load = (before, os.getloadavg()[0])
    comparison.print_table()
    print(f"{time.monotonic() - start:.0f} s; load before {load[0]:.1f}, "
          f"after {load[1]:.1f}, {os.cpu_count()} CPUs; medians of "
          f"{options.rounds} runs")
    comparison.write_json(load)
    return 1 if any("canopy" in f for f in comparison.failures) else 0


def outside(words):
    options = options_of(words)
    work = tempfile.mkdtemp(prefix="canopy-compare-")
    try:
        prefix = options.prefix
        if not prefix:
            prefix = os.path.join(work, "prefix")
            subprocess.run([os.path.join(ROOT, "install"), "--prefix", prefix],
                           check=True, stdout=subprocess.DEVNULL)
        code = isolation.enter(__file__, [ROOT, work, os.path.abspath(prefix)],
                               words)
        results = os.path.join(work, RESULTS)
        if options.json and os.path.exists(results):
            shutil.copyfile(results, options.json)
        return code
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    if sys.argv[1:2] == [isolation.INSIDE]:
        return isolation.settle_in(sys.argv[2:], inside)
    return outside(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
