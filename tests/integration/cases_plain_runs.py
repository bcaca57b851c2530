"""Jobs of `canopy run` without an overlay: commands and tools find the agents that
the launcher has started."""
import glob
import json
import os
import re
import shlex
import signal
import subprocess

import harness
from cases_openpmix import build
from cases_running import hanging
from harness import Job, check, until

BASE = os.path.join(harness.RUNTIME, f"canopy-{os.geteuid()}")
NAME = r"canopy-[0-9a-f]+-\d+"
SLEEP = 'echo "in $PMIX_NAMESPACE ."; exec sleep 600'
UNREACH = -25


def place_of(bench, name):
    """Returns a directory for a run."""
    path = os.path.join(bench.work, name)
    os.makedirs(path, exist_ok=True)
    return path


def waiting(bench, *options, cwd=None, env=None):
    """Starts a plain run that waits. Returns it with its job's name and its
    context."""
    job = bench.start("run", *options, "-n", 1, "sh", "-c", SLEEP, cwd=cwd,
                      env=env)
    job.wait_for(" .\n")
    nspace = bytes(job.texts["out"]).decode().split()[1]
    context = f"run-{job.pid}"
    until(lambda: os.path.exists(f"{BASE}/{context}/context.json"), context)
    return job, nspace, context


def end(job):
    job.signal(signal.SIGTERM)
    job.finish().expect(128 + signal.SIGTERM)


def emulation(bench):
    """If there are no other nodes, --nodes emulates nodes and prints a note about
    it."""
    job = ["-n", 2, "--map-by", "node", "sh", "-c", "echo $PMIX_HOSTNAME"]
    noted = bench.run("run", "--nodes", 2, *job).expect_lines(["node1", "node2"])
    check("emulating 2 nodes on this machine, as --emulate 2 does" in noted.err,
          "not told" + noted.tail())
    for quiet in (["--emulate", 2], ["--nodes", 2, "--quiet"]):
        silent = bench.run("run", *quiet, *job).expect_lines(["node1", "node2"])
        check(not silent.err, "complaints" + silent.tail())


def gone():
    check(not os.path.exists(BASE), f"left: {glob.glob(BASE + '/*')}")


def hang(bench, nodes):
    """Each command finds the run, which is the only one, with and without the job's
    name."""
    ranks = 2 * nodes
    job = bench.start("run", "--emulate", nodes, "--oversubscribe", "-n", ranks,
                      "--map-by", "node", hanging(bench))
    job.wait_for("up ", ranks)
    nspace = bytes(job.texts["out"]).decode().split()[1]
    context = f"run-{job.pid}"
    listed = bench.json("ps")["jobs"]
    check([(one["job"], one["context"]) for one in listed] ==
          [(nspace, context)], str(listed))
    bench.run("ps").expect(out=[nspace], absent=["CONTEXT"])
    table = bench.run("ps", "--procs").expect(out=["PROGRAM"])
    check(len(re.findall(rf"^{nspace} +\d+ +[1-9]", table.out, re.M)) == ranks,
          "not all" + table.tail())
    first = "node1"
    bench.run("status").expect(out=[f"context {context}: ", first])
    for words in ((), (nspace,), ("1",), ("--context", context, "1")):
        until(lambda w=words: f"rank 0 on {first}" in bench.run(
            "why", *w).expect().out, "the fence that waits")
    for words in ((nspace,), ("1", "--context", context)):
        bench.run("stack", *words).expect(
            out=["not_in_the_fence at hang.c", "PMIx_Fence"])
    bench.run("why", "--stacks").expect(out=["not_in_the_fence"])
    bench.run("output", nspace).expect(out=[f"up {nspace}"])
    bench.run("debug", nspace, "--per-node", 1, "--", "echo", "beside"
              ).expect_lines(["beside"] * nodes)
    bench.run("query", "PMIX_JOB_SIZE", "--job", nspace).expect(
        out=[f"PMIX_JOB_SIZE: {ranks}"])
    bench.run("event", "PMIX_EVENT_NODE_DOWN", "--job", nspace).expect()
    bench.run("publish", "key=value").expect()
    bench.run("lookup", "key").expect(out=["value"])
    bench.run("top", "--count", 1).expect(out=[context, nspace])
    bench.run("logs").expect()
    doctor = bench.run("doctor")
    check(re.search(rf"context {context} +ok", doctor.out),
          "not seen" + doctor.tail())
    bench.run("signal", nspace, "CONT").expect()
    waits = bench.start("wait", nspace)
    bench.run("kill", "--now", nspace).expect()
    job.finish().expect(137)
    waits.finish().expect(137)
    gone()


def attached(bench):
    """`canopy attach` follows the job to its end and returns its exit code."""
    job = bench.start("run", "-n", 1, "sh", "-c",
                      "echo first; read line; echo then; exit 3",
                      stdin=subprocess.PIPE)
    job.wait_for("first\n")
    look = bench.start("attach", "--stdin", "none", "1")
    look.wait_for("first\n")
    job.process.stdin.write(b"go\n")
    job.process.stdin.close()
    job.finish().expect(3)
    look.finish().expect(3, out=["then"])


def two_at_once(bench):
    """A second run has agents of its own. Jobs are found by their names from
    anywhere; without a name the directory decides."""
    places = [place_of(bench, name) for name in ("one", "two")]
    runs = [waiting(bench, cwd=path) for path in places]
    jobs, names, contexts = zip(*runs)
    check(names[0].rsplit("-", 1)[0] != names[1].rsplit("-", 1)[0],
          "one overlay for both")
    listed = bench.json("ps", )["jobs"]
    check({(one["job"], one["context"]) for one in listed} ==
          set(zip(names, contexts)), str(listed))
    shown = bench.run("ps").expect(out=["CONTEXT", *names, *contexts])
    check(shown.out.count("JOB") == 1, "two tables" + shown.tail())
    for path, name, context in zip(places, names, contexts):
        bench.run("status", cwd=path).expect(
            out=[f"context {context}: ", "other contexts: "])
        bench.run("why", "1", cwd=path).expect(out=["no PMIx operation waits"])
        bench.run("stack", name).expect(out=["1 rank 0"])
    bench.run("ps", "--context", contexts[0]).expect(
        out=[names[0]], absent=[names[1], "CONTEXT"])
    table = bench.run("ps", "--procs").expect(out=[*names, *contexts])
    check(table.out.count(" running ") == 2, "not both" + table.tail())
    bench.run("why").expect()
    for command in ("status", "top", "logs"):
        bench.run(command).expect_refusal(2, *contexts, "sh -c", *places,
                                          "--context")
    bench.run("kill", "--all").expect_refusal(2, *contexts, "--context")
    bench.run("kill", "1").expect_refusal(2, *names, *contexts)
    bench.run("kill", "no-such-job").expect_refusal(1, "no-such-job", *names)
    bench.run("kill", "--now", names[1]).expect()
    jobs[1].finish().expect(137)
    bench.run("status").expect(out=[contexts[0]], absent=["other contexts"])
    bench.run("kill", "--now", "1").expect()
    jobs[0].finish().expect(137)
    gone()


def several_victims(bench):
    """One command ends jobs of several contexts."""
    runs = [waiting(bench) for _ in range(2)]
    sent = bench.json("kill", "--now", runs[0][1], runs[1][1])
    check(sorted(sent["jobs"]) == sorted(run[1] for run in runs), str(sent))
    for job, _, _ in runs:
        job.finish().expect(137)


def same_terminal(bench):
    """If there are several runs, the run of the command's session is chosen."""
    place = place_of(bench, "terminal")
    other, _, _ = waiting(bench, cwd=place)
    canopy = shlex.quote(bench.canopy)
    script = (f"{canopy} run -n 1 sh -c {shlex.quote(SLEEP)} > out & run=$!; "
              "until grep -q ' [.]' out; do :; done; "
              f"until [ -e {BASE}/run-$run/context.json ]; do :; done; "
              f"echo mine run-$run; {canopy} status; {canopy} kill --now 1; "
              "wait $run; rm out")
    result = bench.run("-c", script, program="/bin/sh", cwd=place)
    mine = re.search(r"mine (run-\d+)", result.out)
    check(mine and f"context {mine[1]}: " in result.out,
          "another" + result.tail())
    end(other)
    gone()


def beside_an_overlay(bench):
    """Without a name an overlay has precedence; a plain run never gets a job of
    another command."""
    job, nspace, context = waiting(bench)
    bench.run("run", "-n", 1, "sh", "-c", "echo $PMIX_NAMESPACE").expect(
        absent=[nspace.rsplit("-", 1)[0]])
    bench.run("run", "--detach", "-n", 1, "true").expect_refusal(2, "canopy up")
    bench.run("run", "--detach", "--context", context, "-n", 1, "true"
              ).expect_refusal(2, "canopy up")
    bench.run("up", "--context", "beside").expect()
    on_it = bench.start("run", "-n", 1, "sh", "-c", SLEEP)
    on_it.wait_for(" .\n")
    other = bytes(on_it.texts["out"]).decode().split()[1]
    bench.run("status").expect(out=["context beside: ",
                                    f"other contexts: {context}\n"])
    bench.run("ps").expect(out=[nspace, context, other, "beside"])
    # "1" is the job of the overlay; "why" reports about both jobs.
    sent = bench.json("signal", "1", "CONT")
    check(sent["jobs"] == [other], str(sent))
    sent = bench.json("signal", nspace, "CONT")
    check(sent["jobs"] == [nspace], str(sent))
    bench.run("kill", "--now", "--all").expect()
    on_it.finish().expect(137)
    bench.run("down").expect(out=["context beside is down"])
    bench.run("status").expect(out=[context])
    end(job)
    gone()


def down(bench):
    """`canopy down` does not end a run unless it is named and forced."""
    bench.run("down").expect_refusal(1, "no overlay is up")
    job, nspace, context = waiting(bench)
    for words in ((), ("--force",)):
        bench.run("down", *words).expect_refusal(1, "canopy kill", context)
    bench.run("down", "--context", context).expect_refusal(1, "--force")
    bench.run("up", "--replace").expect_refusal(1, context)
    bench.run("up", "--replace", "--context", context).expect_refusal(
        1, "cannot be replaced")
    bench.run("up", "--context", "run-4711").expect_refusal(2, "run-4711")
    bench.run("ps").expect(out=[nspace])
    bench.run("down", "--context", context, "--force").expect(
        out=[f"context {context} is down"])
    result = job.finish()
    check(result.code not in (0, -signal.SIGKILL), "no failure" + result.tail())
    gone()


def nothing(bench):
    bench.run("ps").expect_lines(["no jobs"])
    check(bench.json("ps") == {"jobs": []}, "jobs")
    for command in (["status"], ["why"], ["why", "no-job"], ["kill", "1"],
                    ["kill", "--all"], ["query", "PMIX_JOB_SIZE"]):
        bench.run(*command).expect_refusal(1, "canopy up", "canopy run")
    bench.run("status", "--context", "run-4711").expect_refusal(
        1, "no context 'run-4711'")


def killed(bench, group):
    """If a launcher is killed, its agents detect this, and no part of the run
    remains."""
    job, _, context = waiting(bench, "--emulate", 2)
    # A launcher that runs would withdraw its context when the agents end.
    job.signal(signal.SIGSTOP)
    if group:
        for pid in agents_of(context):
            os.kill(pid, signal.SIGKILL)
    job.signal(signal.SIGKILL)
    job.finish().expect(-signal.SIGKILL)
    if not group:
        until(lambda: not os.path.exists(BASE), "the end of the agents")
        return
    check(os.path.exists(f"{BASE}/{context}/context.json"), "nothing is left")
    # A command that lists jobs removes the rest silently.
    bench.run("ps").expect_lines(["no jobs"])
    until(lambda: not os.path.exists(f"{BASE}/{context}"), "the sweeping")


def agents_of(context):
    with open(f"{BASE}/{context}/context.json", encoding="utf-8") as file:
        return [int(member["pid"]) for member in json.load(file)["members"]]


def next_run_sweeps(bench):
    job, _, context = waiting(bench)
    for pid in agents_of(context):
        os.kill(pid, signal.SIGKILL)
    job.signal(signal.SIGKILL)
    job.finish().expect(-signal.SIGKILL)
    # Its shim may still be ending the job.
    until(lambda: bench.run("run", "-n", 1, "true").expect() and
          not os.path.exists(f"{BASE}/{context}"), "the sweeping")
    gone()


def private(bench):
    """Other users cannot read the keys. A directory to which they have access
    is not used. Then the job runs, but commands do not find it."""
    job, _, context = waiting(bench)
    for path in (BASE, f"{BASE}/{context}"):
        check(os.stat(path).st_mode & 0o7777 == 0o700, f"mode of {path}")
    path = f"{BASE}/{context}/context.json"
    check(os.stat(path).st_mode & 0o7777 == 0o600, f"mode of {path}")
    end(job)
    os.mkdir(BASE)
    os.chmod(BASE, 0o777)
    result = bench.run("run", "-n", 1, "echo", "here").expect(
        out=["here"], err=["warning", "do not find this job", BASE])
    check(result.err.count("\n") == 1, "not one line" + result.tail())
    bench.run("ps").expect_refusal(1, BASE)
    check(not os.listdir(BASE), "something is in it")
    os.rmdir(BASE)


def library_of(bench, kind):
    return {"LD_LIBRARY_PATH": os.path.join(bench.prefix, "lib", "canopy")} \
        if kind == "ours" else {}


def tool(bench, kind, *args):
    """Returns the output of the tool, which is started without a launcher."""
    env = {"PATH": bench.env["PATH"], "HOME": bench.work,
           "XDG_RUNTIME_DIR": harness.RUNTIME, **library_of(bench, kind)}
    if kind != "ours":
        env["TMPDIR"] = BASE
    return Job([build(bench, "attached"), *map(str, args)], env).finish(60)


def by_pid(bench, kind):
    """With the PID of a launcher, a tool connects to an agent of that launcher and
    to no other."""
    runs = [waiting(bench, "--emulate", nodes) for nodes in (1, 2)]
    for job, nspace, _ in runs:
        tool(bench, kind, job.pid).expect(out=[f"jobs {nspace}\n"])
    # The agents' own PIDs still work.
    for _, nspace, context in runs:
        tool(bench, kind, agents_of(context)[0]).expect(
            out=[f"jobs {nspace}\n"])
    pid = runs[0][0].pid
    for job, _, _ in runs:
        end(job)
    tool(bench, kind, pid).expect(3, out=["init "])


def by_search(bench, kind):
    job, nspace, _ = waiting(bench)
    tool(bench, kind).expect(out=[f"jobs {nspace}\n"])
    end(job)
    tool(bench, kind).expect(3, out=["init "])


def reference_tools(bench):
    """canopy-pps finds the run, by the launcher's PID and without it."""
    job, nspace, _ = waiting(bench)
    pps = os.path.join(bench.prefix, "bin", "canopy-pps")
    for words in ((), ("--pid", job.pid)):
        bench.run(*words, program=pps).expect(out=[nspace])
    end(job)


def completion(bench):
    """Completes the names of contexts and jobs."""
    job, nspace, context = waiting(bench)
    script = os.path.join(bench.prefix, "share", "bash-completion",
                          "completions", "canopy")

    def words(*line):
        text = f"source {script}; COMP_WORDS=(" + " ".join(
            map(shlex.quote, line)) + f"); COMP_CWORD={len(line) - 1}; " \
            "_canopy; printf '%s\\n' \"${COMPREPLY[@]}\""
        return bench.run("-c", text, program="/bin/bash").expect().out.split()
    check(words(bench.canopy, "status", "--context", "") == [context],
          "context")
    check(words(bench.canopy, "kill", "") == [nspace], "job")
    end(job)


def tool_without_program(bench):
    """A launcher started by a tool is a context, too."""
    file = os.path.join(bench.work, "rendezvous")
    job = bench.start("run", env={"PMIX_LAUNCHER_RNDZ_FILE": file})
    until(lambda: os.path.exists(file), "the launcher")
    bench.run("status").expect(out=[f"context run-{job.pid}: "])
    end(job)
    gone()


def run(bench):
    def case(name, body, **more):
        bench.case("plain runs: " + name, lambda: body(bench), settle=10,
                   **more)
    case("commands, one node", lambda b: hang(b, 1))
    case("nodes without an overlay are emulated", emulation)
    case("commands, two nodes", lambda b: hang(b, 2))
    case("attach", attached)
    case("two at once", two_at_once)
    case("several are ended", several_victims)
    case("of the same terminal", same_terminal)
    case("beside an overlay", beside_an_overlay)
    case("canopy down", down)
    case("nothing is there", nothing)
    case("kill -9 of the launcher", lambda b: killed(b, False))
    case("kill -9 of launcher and agents", lambda b: killed(b, True))
    case("the next run sweeps", next_run_sweeps)
    case("private", private)
    for kind in ("ours", "openpmix"):
        case(f"tool by the launcher's PID, {kind}",
             lambda b, k=kind: by_pid(b, k))
        case(f"tool that searches, {kind}", lambda b, k=kind: by_search(b, k))
    case("OpenPMIx's tools", reference_tools)
    case("completion", completion)
    case("a launcher of a tool", tool_without_program)
