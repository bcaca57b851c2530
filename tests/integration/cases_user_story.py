"""What users of mpirun and srun do on their first day: each row is a command and the
result that is expected of it. cases_operator_story.py has the rows of operators."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import cases_openpmix
from cases_running import hanging
from harness import check, until

CONTEXT = "story"
WHERE = ("--context", CONTEXT)
MPIRUN = ("--allow-run-as-root",)


def row(bench, *args, code=0, out=(), err=(), absent=(), env=None, program=None,
        cwd=None):
    """Runs one command and checks its exit code and its texts."""
    return bench.run(*args, env=env, program=program, cwd=cwd).expect(
        code=code, out=out, err=err, absent=absent)


def job_of(bench):
    return bench.json("ps", *WHERE)["jobs"][0]["job"]


def busy_overlay(bench):
    """Starts a job that takes all slots. Returns it and the number of slots."""
    slots = sum(node["slots"] for node in bench.json("status", *WHERE)["nodes"])
    job = bench.start("run", *WHERE, "-n", slots, "sh", "-c",
                      "echo up; exec sleep 600")
    job.wait_for("up\n", slots)
    return job, slots


def in_directory(bench, path, *words):
    """Runs the shell line WORDS in the directory, which the line may remove."""
    os.makedirs(path)
    return bench.run("-c", " ".join(map(str, words)), program="/bin/sh", cwd=path)


def counts(bench):
    """--nodes requests a number of the existing nodes. Counts that are given
    twice are refused."""
    hosts = row(bench, "run", *WHERE, "--nodes", 2, "-n", 4, "--map-by", "node",
                "printenv", "PMIX_HOSTNAME")
    check(set(hosts.out.split()) == {"node1", "node2"}, hosts.tail())
    row(bench, "run", *WHERE, "--nodes", 9, "true", code=1,
        err=["9 nodes were requested, and there are 4"])
    row(bench, "run", *WHERE, "-n", 2, "-n", 3, "true", code=2, err=["given twice"])
    row(bench, "run", *WHERE, "-n", 2, "-c", 4096, "true", code=1)
    one = row(bench, "run", *WHERE, "-n", 1, "-c", 2, "--display", "map", "true")
    check("1 process on 1 node" in one.out, one.tail())


def output_files(bench):
    """If an output file cannot be made, the command fails before the job starts."""
    touched = os.path.join(bench.work, "touched")
    for option in (["--output-filename", "/proc/x:nocopy"],
                   ["--output", "file=/proc/x/y"]):
        refused = row(bench, "run", *WHERE, *option, "-n", 1, "touch", touched,
                      code=1, err=["/proc/x"])
        check(not os.path.exists(touched), "the job ran" + refused.tail())


def background(bench):
    """The name of a job in the background is printed immediately, its output is
    in a file, and its end can be requested any number of times."""
    place = os.path.join(bench.work, "background")
    os.makedirs(place)
    name = row(bench, "run", *WHERE, "--detach", "-n", 1, "sh", "-c",
               "echo hello; exit 3", cwd=place).out.strip()
    for _ in range(2):
        row(bench, "wait", name, code=3, err=["exited with code 3"])
    row(bench, "output", name, out=["hello"])
    with open(os.path.join(place, name + ".out"), encoding="utf-8") as file:
        check("hello" in file.read(), "not in the file")
    row(bench, "ps", "-a", out=[name])
    row(bench, "why", name, out=["exited with code 3"])
    kept = [path for path, _, files in os.walk(bench.env["XDG_RUNTIME_DIR"])
            if any(name in file for file in files)]
    check(not kept, f"files of the job in {kept}")
    full = row(bench, "run", *WHERE, "--detach", "--output", "file=/dev/full", "-n",
               1, "sh", "-c", "echo lost; sleep 600").out.strip()
    row(bench, "wait", full, code=1, err=["No space left on device"])


def queued_in_background(bench):
    """--detach prints the name of a job immediately, even if it is queued."""
    busy, _ = busy_overlay(bench)
    name = row(bench, "run", *WHERE, "--wait", "--detach", "-n", 2, "echo",
               "started").out.strip()
    queued = [job for job in bench.json("ps", *WHERE)["jobs"] if job["job"] == name]
    check(queued[0]["phase"] == "queued", queued)
    row(bench, "ps", *WHERE, out=["place 1: too few slots are free"])
    row(bench, "why", *WHERE, name,
        out=[f"{name} has been queued for", "too few slots are free"])
    row(bench, "kill", *WHERE, "--now", busy_job(bench))
    busy.finish().expect(137)
    row(bench, "wait", name)
    row(bench, "output", name, out=["started"])


def busy_job(bench):
    return next(job["job"] for job in bench.json("ps", *WHERE)["jobs"]
                if job["phase"] == "running")


def spawned_jobs(bench):
    """The history has the end of a spawned job."""
    program = cases_openpmix.build(bench, "spawn")
    row(bench, "run", *WHERE, "--inject", "never", "-n", 1, program, "child-fails",
        code=3)
    last = bench.json("ps", "-a", *WHERE)["ended"][-2:]
    child = next(one for one in last if one["parent"])
    parent = next(one for one in last if one["job"] == child["parent"])
    check((child["exit_code"], child["processes"]) == (3, 2), child)
    check(parent["parent"] is None and "spawn" in child["command"], last)
    row(bench, "ps", "-a", *WHERE, out=["PARENT", child["job"]])
    row(bench, "why", child["job"], out=[f"spawned by {parent['job']},",
                                         "exited with code 3"])
    row(bench, "wait", child["job"], code=3, err=["exited with code 3"])


def wait_for_spawned_job(bench):
    """`canopy wait` of a spawned job that runs returns the job's exit code."""
    job = bench.start("run", *WHERE, "--inject", "never", "-n", 1,
                      cases_openpmix.build(bench, "spawn"), "killed")
    job.wait_for("spawned")
    child = next(one["job"] for one in bench.json("ps", *WHERE)["jobs"]
                 if one["parent"])
    waits = bench.start("wait", *WHERE, child)
    until(lambda: between_looks(waits.pid), "the command to know the job")
    row(bench, "signal", *WHERE, child, "SEGV")
    job.finish().expect(139)
    waits.finish().expect(139, err=["signal 11"])


def between_looks(pid):
    """Returns true if the process is in poll or ppoll without descriptors."""
    with open(f"/proc/{pid}/syscall", encoding="utf-8") as file:
        return re.match("(7|73) 0x0 0x0 ", file.read()) is not None


def world_of_the_caller(bench):
    """A job gets the umask and the limits of its caller, and no job runs in a
    directory that was removed."""
    place = os.path.join(bench.work, "world")
    run = [bench.canopy, "run", *WHERE, "-n", 1]
    in_directory(bench, place, "ulimit -S -s 4096; umask 027; exec", *run,
                 "sh -c 'ulimit -s; umask'").expect(out=["4096\n", "0027\n"])
    in_directory(bench, place + "/gone", "rmdir", place + "/gone", "; exec", *run,
                 "pwd").expect(code=1, err=["working directory", "--wdir"])


def restarts(bench):
    """Each restart of a rank is reported."""
    tried = os.path.join(bench.work, "tried")
    again = row(bench, "run", *WHERE, "-n", 1, "--max-restarts", 2, "sh", "-c",
                f"echo >> {tried}; exit 3", code=3,
                err=["(restart 1 of 2)", "(restart 2 of 2)"])
    check(again.err.count("is started again") == 2, again.tail())


def states(bench):
    """States of processes are words that users know."""
    job = bench.start("run", *WHERE, "-n", 2, hanging(bench))
    job.wait_for("up ", 2)
    name = job_of(bench)
    until(lambda: bench.run("ps", *WHERE, "--procs").out.count(" in MPI ") == 2,
          "both ranks in MPI")
    row(bench, "signal", *WHERE, name, "STOP")
    until(lambda: bench.run("ps", *WHERE, "--procs").out.count(" stopped ") == 2,
          "the stop")
    row(bench, "kill", *WHERE, "--now", name)
    job.finish().expect(137)
    shown = row(bench, "run", *WHERE, "-n", 1, "--timeout", 1,
                "--report-state-on-timeout", "sleep", 600, code=110)
    check(re.search(r"^rank 0 on node1, process \d+: running", shown.err, re.M),
          shown.tail())


def maps(bench):
    """Maps state what there is too little of, and why processes are not bound."""
    run = ("run", *WHERE, "--display", "map", "--do-not-launch")
    slots = sum(node["slots"] for node in bench.json("status", *WHERE)["nodes"])
    row(bench, *run, "-n", slots, "true",
        out=["not bound (the nodes share a machine), more processes than CPUs"],
        absent=["oversubscribed"])
    row(bench, *run, "-n", 1, "--bind-to", "none", "true", out=["not bound (as requested)"])
    row(bench, "run", "--emulate", 1, "--display", "map", "--do-not-launch", "true",
        out=["\n  node1  "])


def long_lines(bench):
    """Lines of several ranks are not mixed, up to 256 KiB each."""
    size = 200_000
    long = row(bench, "run", *WHERE, "-n", 2, "sh", "-c",
               f"head -c {size} /dev/zero | tr '\\0' $PMIX_RANK; echo")
    check(sorted(long.out.splitlines()) == ["0" * size, "1" * size], "lines are cut")


def json_everywhere(bench):
    """Commands that report facts print a document with -o json, which is never among
    the output of a program."""
    name = json.loads(row(bench, "run", *WHERE, "--detach", "-n", 1, "-o", "json",
                          hanging(bench)).out)["job"]
    until(lambda: "up " in bench.run("output", *WHERE, name).out, "its output")
    for command in (["ps", "--procs"], ["stack", name], ["top", "--count", 1],
                    ["query", "PMIX_QUERY_NAMESPACES"], ["output", name],
                    ["publish", "j=1"], ["lookup", "j"], ["unpublish", "j"], ["why"],
                    ["event", "PMIX_EVENT_NODE_DOWN", "--job", name], ["status"],
                    ["config"], ["doctor"], ["kill", "--now", name]):
        where = () if command[0] in ("config", "doctor") else WHERE
        document = json.loads(row(bench, command[0], *where, *command[1:], "-o",
                                  "json").out)
        check("nspace" not in json.dumps(document), document)
    row(bench, "wait", name, code=137)
    missing = row(bench, "run", *WHERE, "-o", "json", "nope", code=127)
    check(json.loads(missing.err)["exit_code"] == 127, missing.tail())
    result = os.path.join(bench.work, "result.json")
    ran = row(bench, "run", *WHERE, "-n", 1, "-o", f"json={result}", "echo", "mine")
    check(ran.out == "mine\n", ran.tail())
    with open(result, encoding="utf-8") as file:
        check(json.load(file)["exit_code"] == 0, "the result")


def hang(bench):
    """`canopy why` reports a job that hangs outside of PMIx, and a job that is
    stopped."""
    job = bench.start("run", *WHERE, "-n", 2, "sh", "-c", "echo up; sleep 600")
    job.wait_for("up\n", 2)
    name = job_of(bench)
    row(bench, "why", *WHERE, out=["no PMIx operation waits",
                                   f"{name}: 2 processes run",
                                   f"canopy stack {name}"])
    row(bench, "why", *WHERE, "--stacks", out=["2 ranks 0-1:"])
    row(bench, "ps", *WHERE, "--procs", out=[" running "], absent=["EXECUTING"])
    row(bench, "signal", *WHERE, name, "STOP")
    until(lambda: "stopped" in bench.run("ps", *WHERE, "--procs").out, "the stop")
    row(bench, "why", *WHERE, out=[f"{name}: all processes are stopped",
                                   f"canopy signal {name} CONT"])
    row(bench, "signal", *WHERE, name, "CONT")
    refused = row(bench, "down", *WHERE, code=1, err=[name])
    check("node1" not in refused.err, refused.tail())
    row(bench, "kill", *WHERE, "--now", name)
    job.finish().expect(137)


def held(bench):
    """`canopy why` reports ranks that a debugger holds."""
    job = bench.start("run", *WHERE, "-n", 2, "--stop-on-exec", "echo", "free")
    until(lambda: "hold before the first instruction" in bench.run(
        "why", *WHERE).out, "the hold")
    name = job_of(bench)
    row(bench, "why", *WHERE, out=[f"{name} rank 0 on node1", "PMIX_DEBUGGER_RELEASE"])
    row(bench, "event", *WHERE, "PMIX_DEBUGGER_RELEASE", "--job", name)
    job.finish().expect_lines(["free"] * 2)


def names_of_keys(bench):
    """Errors about keys name the keys."""
    row(bench, "lookup", *WHERE, "c", code=1, err=["not published: c"])
    row(bench, "publish", *WHERE, "a=1")
    row(bench, "publish", *WHERE, "a=2", code=1, err=["already published: a"])
    row(bench, "lookup", *WHERE, "a", "b", code=1, out=["a: 1"],
        err=["not published: b"])
    row(bench, "query", *WHERE, "no.such", code=1, err=["unknown key no.such"])
    row(bench, "query", *WHERE, "PMIX_QUERY_NAMESPACES", code=1,
        err=["there is nothing to report now for PMIX_QUERY_NAMESPACES"],
        absent=["unknown key"])
    row(bench, "query", *WHERE, "x.y", "x.z", "PMIX_QUERY_NAMESPACES", code=1,
        err=["for PMIX_QUERY_NAMESPACES; unknown keys x.y, x.z"])
    row(bench, "query", *WHERE, "PMIX_QUERY_SUPPORTED_KEYS",
        out=["PMIX_QUERY_NAMESPACES"], absent=["pmix.qry.ns"])


def queued_jobs(bench):
    """`status` counts what `ps` lists."""
    busy, slots = busy_overlay(bench)
    waits = bench.start("run", *WHERE, "--wait", "-n", slots, "true")
    waits.wait_for("is queued", stream="err")
    row(bench, "status", *WHERE, out=["2 jobs (1 queued)"])
    status = bench.json("status", *WHERE)
    check((status["jobs"], status["jobs_queued"]) == (2, 1), status)
    check(len(bench.json("ps", *WHERE)["jobs"]) == 2, "ps")
    row(bench, "kill", *WHERE, "--now", "--all")
    busy.finish().expect(137)
    waits.finish().expect(143)


def words_of_others(bench):
    """Options and commands of mpirun, srun and docker work, or lead to advice."""
    place = os.path.join(bench.work, "words")
    os.makedirs(place)
    with open(os.path.join(place, "app"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho here\n")
    os.chmod(os.path.join(place, "app"), 0o755)
    row(bench, *MPIRUN, *WHERE, "-n", 1, "app", out=["here"], cwd=place,
        program=os.path.join(bench.prefix, "bin", "canopy-mpirun"))
    for option in (["--env=A=1"], ["--env", "A=1"], ["-env", "A", "1"], ["-x", "A=1"],
                   ["--export=ALL,A=1"]):
        row(bench, "run", *WHERE, *option, "-n", 1, "printenv", "A", out=["1\n"])
    row(bench, "run", *WHERE, "--ntasks", 2, "--chdir", place, "pwd",
        out=[place + "\n" + place])
    row(bench, "run", *WHERE, "--ntasks-per-node", 1, "--cpus-per-task", 1, "true")
    for time in ("1:00", "10m", "0.5"):
        row(bench, "run", *WHERE, "--timeout", time, "-n", 1, "true")
    row(bench, "run", *WHERE, "--timeout", "0.5", "-n", 1, "sleep", 60, code=110,
        err=["time limit"])
    row(bench, "help", "run", out=["usage: canopy run"])
    row(bench, *WHERE, "status", out=["4 nodes up"])
    missing = row(bench, "run", *WHERE, "-n", 1, "sh", "-c", "no-such-command",
                  code=127, absent=["--inject", "PMIx library"])
    check("exited with code 127" in missing.err, missing.tail())


def texts(bench):
    """Errors are short sentences that name the problem or the remedy."""
    row(bench, "status", "foo", code=2, err=["unexpected argument 'foo'"])
    row(bench, "run", "-n", code=2, err=["option '-n' needs a value"])
    row(bench, "signal", *WHERE, "1", "NOSUCH", code=2, err=["unknown signal 'NOSUCH'"])
    row(bench, "run", "--ntask", 1, "true", code=2, err=["did you mean '--ntasks'?"])
    row(bench, "-v", code=2, err=["unknown option '-v'; options of a command follow"])
    job = bench.start("run", *WHERE, "-n", 1, "sh", "-c", "echo up; exec sleep 600")
    job.wait_for("up\n")
    job.signal(signal.SIGINT)
    job.finish().expect(130, err=["interrupted"])


def doctor_of_directories(bench):
    """`canopy doctor` fails where a run would."""
    deep = os.path.join(bench.work, "d" * 60)
    os.makedirs(deep, mode=0o700)
    env = {"XDG_RUNTIME_DIR": deep}
    row(bench, "doctor", code=1, out=["too long"], env=env)
    row(bench, "run", "-n", 1, "true", code=1, err=["too long"], env=env)
    busy, _ = busy_overlay(bench)
    row(bench, "doctor", *WHERE, "/bin/true", out=["not linked"])
    row(bench, "kill", *WHERE, "--now", "--all")
    busy.finish().expect(137)


def watch(bench):
    """`ps --watch` and `top` refresh their output."""
    again = row(bench, "ps", *WHERE, "--watch", "--interval", "0.1", "--count", 3)
    check(again.out.count("no jobs") == 3, again.tail())
    job = bench.start("run", *WHERE, "-n", 1, "sh", "-c",
                      "echo up; while :; do :; done")
    job.wait_for("up\n")
    name = job_of(bench)
    shown = bench.run("top", *WHERE, "-o", "json", "--interval", 1, "--count",
                      2).expect()
    last = json.loads(shown.out.splitlines()[1])
    busy = {one["job"]: one["cpus_busy"] for one in last["job_usage"]}
    check(busy[name] > 0.1, f"a job that computes uses {busy} CPUs")
    check(all(one["memory_mb"] > 0 for one in last["node_usage"]), last)
    row(bench, "top", *WHERE, "--count", 1, out=["CPUS BUSY", "MEMORY"])
    row(bench, "kill", *WHERE, "--now", name)
    job.finish().expect(137)


def full_disk(bench):
    """A command whose standard output is full fails and reports the cause."""
    for command in (("status", *WHERE), ("ps", *WHERE), ("doctor", "-o", "json"),
                    ("help",), ("help", "up"), ("--version",), ("run", "--help"),
                    ("config",), ("logs", *WHERE, "node1"), ("why", *WHERE),
                    ("query", *WHERE, "PMIX_QUERY_SUPPORTED_KEYS"),
                    ("ps", *WHERE, "--procs"),
                    ("run", *WHERE, "--display", "map", "--do-not-launch", "true")):
        full_output(bench, *command)
    for tool in ("canopy-pps", "canopy-pquery", "pmix_info"):
        full_output(bench, program=os.path.join(bench.prefix, "bin", tool))


def full_output(bench, *command, program=None):
    with open("/dev/full", "w", encoding="utf-8") as full:
        refused = bench.start(*command, stdout=full, program=program).finish()
    refused.expect(code=1, err=["No space left on device"])


def cpu_lists(bench):
    """CPUs that a node does not have are refused, and CPUs that jobs share are
    reported."""
    last = max(os.sched_getaffinity(0))
    row(bench, "run", *WHERE, "-n", 1, "--cpu-list", f"0-{last + 7}", "true", code=1,
        err=["has only CPUs", f"not all of 0-{last + 7}"])
    row(bench, "run", *WHERE, "--host", "node1:2", "-n", 2, "--cpu-list", last, "true",
        err=["some processes share CPUs", f"--cpu-list {last}"])


def whole_commands(bench):
    """Commands of jobs are shown as a shell would read them, and are not cut if the
    output is a pipe."""
    words = ["sh", "-c", "echo up; sleep 600 # " + "x" * 70]
    job = bench.start("run", *WHERE, "-n", 1, *words)
    job.wait_for("up\n")
    shown = f"sh -c '{words[2]}'"
    row(bench, "ps", *WHERE, out=[shown])
    row(bench, "kill", *WHERE, "--now", "--all")
    job.finish().expect(137)
    row(bench, "ps", "-a", *WHERE, out=[shown])


def followed_logs(bench):
    """`logs -f` shows lines as they are written, until Ctrl-C or `canopy down`."""
    where = ("--context", "logs")
    bench.run("up", *where, "--emulate", 2, "--log-level", "info").expect()
    first = bench.start("logs", *where, "-f", "node1", "-n", 0)
    both = bench.start("logs", *where, "-f")
    both.wait_for("node2: ")

    def followed():
        row(bench, "run", *where, "-n", 1, "true")
        return b"launching 1 process" in first.texts["out"]
    until(followed, "a line that was added")
    first.signal(signal.SIGINT)
    ended = first.finish().expect()
    check(not ended.out.startswith("node1: "), ended.tail())
    row(bench, "down", *where)
    both.finish().expect()


def other_words(bench):
    """More options of mpirun and srun work, or lead to advice."""
    row(bench, "run", *WHERE, "-n", 1, "--xml", "echo", "a<b",
        out=['<stdout nspace="', 'rank="0">a&lt;b</stdout>'])
    row(bench, "run", *WHERE, "-n", 1, "--output", "xml,timestamp", "echo", "x",
        out=['timestamp="20'])
    row(bench, "run", *WHERE, "--gpus", 2, "true", code=2, err=["--gpus-per-task"])
    row(bench, "run", *WHERE, "-n", 1, "--display", "topo", "true",
        out=["topology of node1: 1 package", "core 0: CPUs"])
    shown = row(bench, "run", *WHERE, "-n", 1, "--bind-to", "core",
                "--report-bindings", "true")
    check(re.search(r"rank 0 on node1 is bound to CPUs \S+: \[[B./]*B[B./]*\]", shown.err),
          shown.tail())


def rankfiles(bench):
    """The file names the node and the CPUs of each rank; bad lines are named."""
    path = os.path.join(bench.work, "ranks")

    def write(*lines):
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    def refused(text, *more, code=2):
        row(bench, "run", *WHERE, "--rankfile", path, *more, "true", code=code,
            err=[text])
    last = len(os.sched_getaffinity(0)) - 1
    write("# comment", f"rank 1=+n0 slot=0:{last}", "rank 0=node3 slot=0")
    for option in (["--rankfile", path], ["-rf", path],
                   ["--map-by", f"rankfile:file={path}"]):
        shown = row(bench, "run", *WHERE, *option, "--tag-output", "sh", "-c",
                    "echo $PMIX_HOSTNAME; grep Cpus_allowed_list /proc/self/status")
        for line in (r",0\]<stdout>: node3", r",1\]<stdout>: node1",
                     r",0\]<stdout>: Cpus_allowed_list:\s*\d+$",
                     r",1\]<stdout>: Cpus_allowed_list:\s*\d+$"):
            check(re.search(line, shown.out, re.M), line + shown.tail())
    refused("ranks: rank 2 has no line", "-n", 3)
    refused("--map-by contradicts --rankfile", "--map-by", "node")
    write("rank 0=node9 slot=0")
    refused("no node is called 'node9'", code=1)
    refused("ranks:1: host 'node9' is none of those of --host", "--host", "node1")
    write("rank 0=node1 slot=0", "rank 1=node1 slot=999")
    refused("rank 1 on node node1: there is no core 999", code=1)
    write("", "rank 0=node1 cores=0")
    refused("ranks:2: 'cores=0' is not slot=CORES")


def given_names(bench):
    """A job is found by the name that its user gave it, while it runs and later."""
    job = bench.start("run", *WHERE, "--name", "ocean", "-n", 1, "sh", "-c",
                      "echo up; exec sleep 600")
    job.wait_for("up\n")
    row(bench, "why", *WHERE, "ocean", out=["1 process runs"])
    row(bench, "kill", *WHERE, "ocean")
    job.finish().expect(143)
    row(bench, "wait", "ocean", code=143)
    row(bench, "why", "ocean", out=["ended with exit code 143"])
    row(bench, "ps", "-a", *WHERE, out=["NAME", "ocean"])


class Terminal:
    """`canopy run --pty` on a pseudo-terminal of this test."""

    def __init__(self, bench, *args, rows=33, columns=77):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.text = ""
        self.process = subprocess.Popen(
            [bench.canopy, "run", *WHERE, "--pty", *map(str, args)], stdin=slave,
            stdout=slave, stderr=slave, start_new_session=True, cwd=bench.work,
            env=bench.env, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, text):
        """Reads until TEXT, and returns the text before it."""
        def read():
            if text not in self.text and select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 65536).decode(errors="replace")
            return text in self.text
        until(read, f"{text!r} on the terminal, which has {self.text!r}")
        before, self.text = self.text.split(text, 1)
        return before

    def end(self):
        """Returns the exit code, and checks that the terminal is as before."""
        code = self.process.wait(20)
        check(termios.tcgetattr(self.slave) == self.before, "the terminal stays raw")
        os.close(self.slave)
        os.close(self.master)
        return code


def terminals(bench):
    """--pty gives rank 0 a terminal of the size of the window."""
    shell = Terminal(bench, "-n", 1, "sh", "-i")
    shell.type("tty; stty size; echo done-$?\r")
    shell.wait_for("/dev/pts/")
    shell.wait_for("33 77")
    shell.wait_for("done-0")
    shell.resize(44, 99)
    os.kill(shell.process.pid, signal.SIGWINCH)

    def resized():
        shell.type("stty size; echo size-$?\r")
        return "44 99" in shell.wait_for("size-0")
    until(resized, "the new size")
    shell.type("sleep 600\r")
    shell.wait_for("sleep 600")
    until(lambda: subprocess.run(["pgrep", "-f", "^sleep 600"], check=False,
                                 capture_output=True).returncode == 0, "sleep")
    shell.type("\x03")
    shell.type("echo interrupted-$?\r")
    shell.wait_for("interrupted-130")
    shell.type("exit 7\r")
    check(shell.end() == 7, "the exit code of the shell")
    others = Terminal(bench, "-n", 2, "sh", "-c",
                      "test -t 0; echo rank-$PMIX_RANK-$?; sleep 1")
    others.wait_for("rank-0-0")
    check(others.end() == 0, "two ranks")
    row(bench, "run", *WHERE, "--pty", "-n", 1, "true", code=2,
        err=["--pty needs a terminal"])
    row(bench, "run", *WHERE, "--pty", "-o", "json", "true", code=2,
        err=["-o json cannot be combined with --pty"])


def completion(bench):
    """The completions of bash, zsh and fish offer options, jobs and nodes."""
    job = bench.start("run", *WHERE, "--name", "ocean", "-n", 1, "sh", "-c",
                      "echo up; exec sleep 600")
    job.wait_for("up\n")
    name = job_of(bench)
    for words, offered in (
            ("run --pt", ["--pty"]), ("run --rankf", ["--rankfile"]),
            ("run --em", ["--emulate"]), ("run --display to", ["topo"]),
            ("run --map-by rankf", ["rankfile:file="]), ("st", ["status", "stack"]),
            ("kill canopy-", [name]), ("why oc", ["ocean"]), ("logs node4", ["node4"]),
            ("signal x TER", ["TERM"]), ("query PMIX_QUERY_NAMESPACES", None),
            ("run -w node3", ["node3"]), ("config rad", ["radix"])):
        for shell in (bash_offers, zsh_offers, fish_offers):
            found = shell(bench, ["canopy", *words.split()])
            wanted = [words.split()[-1]] if offered is None else offered
            check(set(wanted) <= set(found) and (offered is None or set(
                wanted) == set(found)), f"{shell.__name__} {words}: {found}")
    row(bench, "kill", *WHERE, "--now", name)
    job.finish().expect(137)


def offers(bench, *command):
    env = {**bench.env, "CANOPY_CONTEXT": CONTEXT,
           "XDG_DATA_DIRS": os.path.join(bench.prefix, "share")}
    return subprocess.run(command, env=env, capture_output=True, text=True,
                          check=True, stdin=subprocess.DEVNULL).stdout.splitlines()


def bash_offers(bench, words):
    return offers(bench, "bash", os.path.join(
        bench.prefix, "share/bash-completion/completions/canopy"), *words)


def zsh_offers(bench, words):
    functions = os.path.join(bench.prefix, "share/zsh/site-functions")
    return offers(bench, "zsh", "-f", "-c", f"fpath=({functions} $fpath)\n"
                  "autoload -U _canopy\ncompadd() { print -l -- $found }\n"
                  "words=($@)\nCURRENT=$#\n_canopy", "zsh", *words)


def fish_offers(bench, words):
    line = " ".join(words)
    shown = offers(bench, "fish", "--no-config", "-c", "source " + os.path.join(
        bench.prefix, "share/fish/vendor_completions.d/canopy.fish") +
        f"; complete -C '{line}'")
    return [text.split("\t")[0] for text in shown]


def values_of_options(bench):
    """The completion knows how many values each option takes, also for options of
    mpirun that the help does not list."""
    script = os.path.join(bench.prefix, "share/bash-completion/completions/canopy")
    for words in ("-genv A 1", "-gmca a b", "--export ALL", "-prtemca a b",
                  "-npersocket 1", "-t 5", "--pty", "-rf ranks", "--name x",
                  "--display topo", "-w a,b", "--nice 5", "-mca a b", "-env A=1"):
        place = os.path.join(bench.work, "values")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "argument-of-it"), "w", encoding="utf-8"):
            pass
        found = subprocess.run(
            ["bash", script, "canopy", "run", *words.split(), "./app", "argument-"],
            env=bench.env, cwd=place, capture_output=True, text=True, check=True).stdout
        check(found == "argument-of-it\n", f"{words}: {found}")


def colors(bench):
    """Output has colours on terminals, or if they are requested."""
    row(bench, "doctor", absent=["\033["])
    row(bench, "doctor", "--color", "always", out=["\033[32mok\033[0m"])
    row(bench, "doctor", env={"CANOPY_COLOR": "always"}, out=["\033["])
    row(bench, "doctor", "--color", "always", "-o", "json", absent=["\\u001b", "\033"])


ROWS = {"counts": counts, "files of output": output_files, "background": background,
        "a queued job in the background": queued_in_background,
        "spawned jobs": spawned_jobs, "wait for a spawned job": wait_for_spawned_job,
        "umask, limits, directory": world_of_the_caller, "restarts": restarts,
        "states": states, "maps": maps, "long lines": long_lines,
        "JSON": json_everywhere,
        "a hang": hang, "held ranks": held, "keys": names_of_keys,
        "words": words_of_others, "texts": texts, "doctor": doctor_of_directories,
        "watch": watch, "colours": colors, "a full disk": full_disk,
        "CPU lists": cpu_lists, "whole commands": whole_commands,
        "logs": followed_logs, "other words": other_words,
        "rankfiles": rankfiles, "names": given_names, "terminals": terminals,
        "counts of jobs": queued_jobs, "completion": completion,
        "values of options": values_of_options}


def run(bench):
    cases = {f"user story: {name}": body for name, body in ROWS.items()}
    if not bench.wanted(*cases):
        return
    with bench.overlay(CONTEXT, "--emulate", 4) as up:
        for name, body in cases.items() if up else ():
            bench.case(name, lambda b=body: b(bench), settle=10)
