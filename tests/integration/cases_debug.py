"""Debuggers: processes that wait for one, and are released."""
import os
import re
import signal

import harness
from cases_openpmix import build
from cases_running import CONTEXT, RANKS, start, until
from harness import Job, check

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                        "examples", "pmix")


def example(bench, name, kind="ours"):
    """Builds an example with Canopy's library, or with Debian's OpenPMIx."""
    if kind != "ours":
        return build(bench, name, sources=EXAMPLES)
    out = os.path.join(bench.share.directory, name)
    bench.share.make(out, ["gcc", "-O1", "-o", out,
                           os.path.join(EXAMPLES, name + ".c"),
                           f"-I{bench.prefix}/include",
                           f"-L{bench.prefix}/lib", "-lpmix", "-pthread"])
    return out


def tool(bench, *args, kind="ours"):
    """Starts a tool without a launcher."""
    env = dict(bench.env, TMPDIR=bench.work)
    if kind == "ours":
        env["LD_LIBRARY_PATH"] = os.path.join(bench.prefix, "lib")
    else:
        env["TMPDIR"] = runtime_dir()
    return Job([example(bench, "debugger", kind), *map(str, args)], env)


def runtime_dir():
    """Returns the directory of the first agent. OpenPMIx connects to no agent
    if there are several."""
    base = os.path.join(harness.RUNTIME, f"canopy-{os.getuid()}")
    for directory, _, names in os.walk(base):
        if any(name.endswith(".tool") for name in names) and "node1" in directory:
            return directory
    raise harness.Failure("no agent's directory")


def looked_at(result, ranks):
    """Checks that the daemons have found the node of each rank."""
    seen = {int(rank) for rank in re.findall(r"^rank (\d+): #0 ", result.out,
                                             re.M)}
    check(seen == set(range(ranks)), "not each rank" + result.tail())


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "gone"


def pids(bench, nspace):
    result = tool(bench, nspace).finish(60).expect()
    rows = dict(re.findall(r"^rank (\d+) pid (\d+) on node\d: ", result.out, re.M))
    check(len(rows) == RANKS, "no such proctable" + result.tail())
    return {int(rank): int(pid) for rank, pid in rows.items()}


def stop_on_exec(bench):
    job, nspace = start(bench, "--stop-on-exec", "echo", "went on")
    until(lambda: all(pid > 0 and state_of(pid) in "tT"
                             for pid in pids(bench, nspace).values()))
    check(not job.texts["out"], "they run")
    tool(bench, nspace, "free").finish(60).expect()
    job.finish().expect_lines(["went on"] * RANKS)


def stop_of_some(bench):
    """If a debugger stops some ranks, the other ranks continue. A job with stopped
    ranks can be ended."""
    job, nspace = start(bench, "--stop-on-exec", "--stop-ranks", "2,5-6", "sh",
                        "-c", "echo up; exec sleep 600")
    job.wait_for("up\n", RANKS - 3)
    states = {rank: state_of(pid) for rank, pid in pids(bench, nspace).items()}
    stopped = sorted(rank for rank, state in states.items() if state in "tT")
    check(stopped == [2, 5, 6], f"stopped: {states}")
    bench.run("kill", "--context", CONTEXT, nspace).expect()
    job.finish().expect(143, err=["Terminated"])


def in_init(bench, program, *options):
    job, nspace = start(bench, "--stop-in-init", *options, *program)
    result = tool(bench, nspace, "release").finish(60).expect()
    check("ready at pmix-init\n" in result.out, "not ready" + result.tail())
    return job


def stop_in_init(bench):
    in_init(bench, [bench.pmix("fences"), RANKS, 8]).finish().expect()


def stop_in_init_of_one(bench):
    in_init(bench, [bench.pmix("fences"), RANKS, 8], "--stop-ranks", "3").finish().expect()


def stop_in_init_of_openpmix(bench):
    """The processes use Debian's library and stop in PMIx_Init."""
    in_init(bench, [build(bench, "fences", sources=harness.PROGRAMS), RANKS, 8],
            "--inject", "never").finish().expect()


def debugger_dies(bench):
    """If a debugger dies, the job waits for the next debugger."""
    job, nspace = start(bench, "--stop-in-init", bench.pmix("fences"), RANKS, 8)
    first = tool(bench, nspace, "release")
    first.end(signal.SIGKILL)
    tool(bench, nspace, "free").finish(60).expect()
    job.finish().expect()


def limits_stand_still(bench, stop):
    """Requests that wait for a held rank on another node do not time out.
    Another job, which is not held, shows that the time has passed."""
    limits = ["--timeout", 2]
    job, nspace = start(bench, stop, "--stop-ranks", "0", *limits,
                        bench.pmix("held"), 1)
    job.wait_for("up\n", RANKS - 1)
    bench.run("run", "--context", CONTEXT, "--oversubscribe", "-n", 1,
              "--timeout", 4, "sleep", "600").expect(110)
    check(b"alert" not in bytes(job.texts["out"]), "a monitor has missed what is held")
    tool(bench, nspace, "free").finish(60).expect()
    job.finish().expect(out=["together\n"])


def limits_stand_still_at_exec(bench):
    limits_stand_still(bench, "--stop-on-exec")


def limits_stand_still_in_init(bench):
    limits_stand_still(bench, "--stop-in-init")


def attaches(bench):
    """A daemon on each node attaches gdb to the ranks of a running job."""
    job, nspace = start(bench, bench.pmix("hang"))
    job.wait_for("up ", RANKS)
    daemon = example(bench, "debugger_daemon")
    looked_at(tool(bench, "attach", daemon, nspace).finish(120).expect(), RANKS)
    bench.run("kill", "--context", CONTEXT, "--now", nspace).expect()
    job.finish().expect(137)


def attaches_to_open_mpi(bench):
    """Does the same with Open MPI, which continues after its release."""
    go_on = os.path.join(bench.work, "go-on-attached")
    job, nspace = start(bench, bench.mpi("until"), RANKS, go_on)
    job.wait_for("is ready", RANKS)
    daemon = example(bench, "debugger_daemon")
    looked_at(tool(bench, "attach", daemon, nspace).finish(120).expect(), RANKS)
    with open(go_on, "w", encoding="utf-8"):
        pass
    job.finish().expect()


def direct_with_open_mpi(bench):
    daemon = example(bench, "debugger_daemon")
    result = tool(bench, "direct", daemon, RANKS, bench.mpi("ring"),
                  RANKS).finish(120).expect(out=["ready at pmix-init\n"])
    looked_at(result, RANKS)


def direct(bench, kind="ours"):
    """The debugger starts the daemons and the job, whose ranks stop in PMIx_Init."""
    daemon = example(bench, "debugger_daemon", kind)
    result = tool(bench, "direct", daemon, RANKS, bench.pmix("fences"), RANKS, 8,
                  kind=kind).finish(120).expect(out=["ready at pmix-init\n",
                                                     "fences"])
    looked_at(result, RANKS)


def direct_with_openpmix(bench):
    direct(bench, "openpmix")


def two_at_once(bench):
    daemon = example(bench, "debugger_daemon")
    both = [tool(bench, "direct", daemon, RANKS, bench.pmix("fences"), RANKS, 8)
            for _ in range(2)]
    for one in both:
        looked_at(one.finish(120).expect(out=["ready at pmix-init\n"]), RANKS)


def indirect(bench):
    """canopy run, started by a debugger, starts the job."""
    daemon = example(bench, "debugger_daemon")
    result = tool(bench, "indirect", daemon,
                  os.path.join(bench.prefix, "bin", "canopy"), "run",
                  "--context", CONTEXT, "--oversubscribe", "-n", RANKS,
                  "--map-by", "node", bench.pmix("fences"), RANKS, 8
                  ).finish(120).expect(out=["ready at pmix-init\n"])
    looked_at(result, RANKS)


def launcher_of_openpmix(bench):
    """A tool with Debian's library finds its launcher by the file that the
    launcher writes. The job ends with the tool."""
    place = os.path.join(bench.work, "launcher.rndz")
    result = Job([build(bench, "starts"), place,
                  os.path.join(bench.prefix, "bin", "canopy"), "run", "--context",
                  CONTEXT, "-n", "1", "sleep", "600"], dict(bench.env)).finish(60)
    result.expect(out=["jobs "])
    until(lambda: not bench.json("ps", "--context", CONTEXT).get("jobs"))
    until(lambda: not os.path.exists(place))


def gdb(bench, commands, *args):
    """Returns the output of gdb for these commands."""
    words = ["gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off"]
    for command in commands:
        words += ["-ex", command]
    return Job([*words, *map(str, args)], dict(bench.env)).finish(120)


LOOK = ["print MPIR_proctable_size", "print MPIR_debug_state",
        f"print *MPIR_proctable@{RANKS}"]


def in_table(result, processes):
    check(f"= {RANKS}\n" in result.out, "not all" + result.tail())
    pids = [int(pid) for pid in re.findall(r"pid = (\d+)", result.out)]
    hosts = re.findall(r'host_name = 0x\w+ "(node\d)"', result.out)
    check(len(set(hosts)) == 4 and len(hosts) == RANKS, "hosts" + result.tail())
    check(pids == [processes[rank] for rank in range(RANKS)],
          f"not {processes}" + result.tail())


def mpir_traced(bench):
    """gdb starts canopy run, and inspects it at the MPIR breakpoint."""
    canopy = os.path.join(bench.prefix, "bin", "canopy")
    result = gdb(
        bench, ["set breakpoint pending on", "break main", "run",
                "set var MPIR_being_debugged = 1", "break MPIR_Breakpoint",
                "continue", *LOOK, "delete", "continue"],
        "--args", canopy, "run", "--context", CONTEXT, "--oversubscribe", "-n",
        RANKS, "--map-by", "node", "sh", "-c", "echo went on $$")
    pids = {rank: pid for rank, pid in enumerate(
        int(pid) for pid in re.findall(r"pid = (\d+)", result.out))}
    in_table(result, pids)
    ran = {int(pid) for pid in re.findall(r"went on (\d+)", result.out)}
    check(ran == set(pids.values()), f"ran {ran}" + result.tail())


def mpir_attached(bench):
    """gdb attaches to a canopy run with a running job."""
    job, nspace = start(bench, "sleep", "600")
    processes = pids(bench, nspace)
    until(lambda: "= 8\n" in gdb(
        bench, ["print MPIR_proctable_size"], "-p", job.process.pid).out)
    in_table(gdb(bench, LOOK, "-p", job.process.pid), processes)
    bench.run("kill", "--context", CONTEXT, "--now", nspace).expect()
    job.finish().expect(137)


def tool_dies(bench):
    """The job ends with its tool."""
    job = tool(bench, "direct", example(bench, "debugger_daemon"), RANKS,
               bench.pmix("hang"))
    until(lambda: bench.json("ps", "--context", CONTEXT).get("jobs"))
    job.end(signal.SIGKILL)
    until(lambda: not bench.json("ps", "--context", CONTEXT).get("jobs"))


def run(bench):
    cases = {"debugger: stop on exec": stop_on_exec,
             "debugger: stop of some": stop_of_some,
             "debugger: stop in init": stop_in_init,
             "debugger: stop in init of one": stop_in_init_of_one,
             "debugger: stop in init of openpmix": stop_in_init_of_openpmix,
             "debugger: dies": debugger_dies,
             "debugger: limits stand still at exec": limits_stand_still_at_exec,
             "debugger: limits stand still in init": limits_stand_still_in_init,
             "debugger: attaches": attaches,
             "debugger: attaches to open mpi": attaches_to_open_mpi,
             "debugger: direct": direct,
             "debugger: direct with open mpi": direct_with_open_mpi,
             "debugger: direct with openpmix": direct_with_openpmix,
             "debugger: two at once": two_at_once,
             "debugger: indirect": indirect,
             "debugger: launcher of openpmix": launcher_of_openpmix,
             "debugger: its job ends with it": tool_dies,
             "debugger: mpir traced": mpir_traced,
             "debugger: mpir attached": mpir_attached}
    if not bench.wanted(*cases):
        return
    with bench.overlay(CONTEXT, "--emulate", 4) as up:
        for name, body in cases.items() if up else ():
            bench.case(name, lambda b=body: b(bench), settle=10)
