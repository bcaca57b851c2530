"""What users of mpirun and srun, and operators, do on their first day: each row is
a command and the result that is expected of it. Rows that need more than one
command, or two machines, are cases elsewhere: hosts that do not come up
(cases_bad), JSON (cases_json), resource limits and umask (cases_process)."""
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


def counts(bench):
    """--nodes requests nodes of those that exist. Counts that are given twice are
    refused."""
    hosts = row(bench, "run", *WHERE, "--nodes", 2, "-n", 4, "--map-by", "node",
                "printenv", "PMIX_HOSTNAME")
    check(set(hosts.out.split()) == {"node1", "node2"}, hosts.tail())
    row(bench, "run", *WHERE, "-n", 2, "-n", 3, "true", code=2, err=["-n"])
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
    """A job in the background: its name is printed at once, its output is in a
    file, and its end can be requested any number of times."""
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
    row(bench, "query", *WHERE, "no.such", code=1, err=["no answer for no.such"])
    row(bench, "query", *WHERE, "PMIX_QUERY_SUPPORTED_KEYS",
        out=["PMIX_QUERY_NAMESPACES"], absent=["pmix.qry.ns"])


def words_of_others(bench):
    """Options and commands of mpirun, srun and docker work, or lead to advice."""
    place = os.path.join(bench.work, "words")
    os.makedirs(place)
    with open(os.path.join(place, "app"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho here\n")
    os.chmod(os.path.join(place, "app"), 0o755)
    row(bench, *MPIRUN, *WHERE, "-n", 1, "app", out=["here"], cwd=place,
        program=os.path.join(bench.prefix, "bin", "canopy-mpirun"))
    for option in (["--env=A=1"], ["--env", "A=1"], ["-x", "A=1"],
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


def agent_in_grace(bench):
    """If an agent has ended while its node is not lost yet, all commands that an
    operator tries report this. The agent's replacement has another process ID."""
    def nodes():
        return {node["node"]: node for node in
                bench.json("status", "--context", "grace")["nodes"]}
    where = ("--context", "grace")
    bench.run("up", *where, "--emulate", 3, "--restart-grace", 60).expect()
    first = nodes()["node3"]["pid"]
    os.kill(first, signal.SIGKILL)
    left = re.search(r"no answer: node3 \(lost in (\d+) s\)", row(
        bench, "status", *where, out=["canopy up --replace"]).out)
    check(left and 30 < int(left[1]) <= 60, "no time until the loss")
    check(30000 < nodes()["node3"]["lost_in_ms"] <= 60000, nodes())
    row(bench, "doctor", code=1, out=["no answer: node3", "jobs will not run"])
    job = bench.start("run", *where, "-n", 6, "echo", "there")
    job.wait_for("node3", stream="err")
    row(bench, "why", *where, out=["node3"])
    until(lambda: "no answer: node3" in bench.run("ps", *where).out, "ps")
    row(bench, "up", *where, "--replace")
    job.finish().expect_lines(["there"] * 6)
    check(nodes()["node3"]["pid"] not in (0, first), "the dead process")
    row(bench, "doctor", out=["3 nodes up", "ready to run jobs"])
    row(bench, "down", *where)


def doctor_of_directories(bench):
    """`canopy doctor` fails where a run would."""
    deep = os.path.join(bench.work, "d" * 60)
    os.makedirs(deep, mode=0o700)
    env = {"XDG_RUNTIME_DIR": deep}
    row(bench, "doctor", code=1, out=["too long"], env=env)
    row(bench, "run", "-n", 1, "true", code=1, err=["too long"], env=env)
    busy = bench.start("run", *WHERE, "-n", 8, "sleep", 600)
    until(lambda: bench.json("ps", *WHERE)["jobs"], "the job")
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
                    ("run", *WHERE, "--display", "map", "--do-not-launch", "true")):
        with open("/dev/full", "w", encoding="utf-8") as full:
            refused = bench.start(*command, stdout=full).finish()
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
    row(bench, "run", *where, "-n", 1, "true")
    first.wait_for("launching 1 process")
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
        """Reads until TEXT, and returns what comes before it."""
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


def colors(bench):
    """Output has colours on terminals, or if they are requested."""
    row(bench, "doctor", absent=["\033["])
    row(bench, "doctor", "--color", "always", out=["\033[32mok\033[0m"])
    row(bench, "doctor", env={"CANOPY_COLOR": "always"}, out=["\033["])
    row(bench, "doctor", "--color", "always", "-o", "json", absent=["\\u001b", "\033"])


ROWS = {"counts": counts, "files of output": output_files, "background": background,
        "a hang": hang, "held ranks": held, "keys": names_of_keys,
        "words": words_of_others, "texts": texts, "doctor": doctor_of_directories,
        "watch": watch, "colours": colors, "a full disk": full_disk,
        "CPU lists": cpu_lists, "whole commands": whole_commands,
        "logs": followed_logs, "other words": other_words,
        "rankfiles": rankfiles, "names": given_names, "terminals": terminals}


def run(bench):
    bench.case("user story: an agent in its grace", lambda: agent_in_grace(bench))
    cases = {f"user story: {name}": body for name, body in ROWS.items()}
    if not bench.wanted(*cases):
        return
    with bench.overlay(CONTEXT, "--emulate", 4) as up:
        for name, body in cases.items() if up else ():
            bench.case(name, lambda b=body: b(bench), settle=10)
