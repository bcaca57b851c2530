"""Access to a running job besides its launcher: its output, its input,
published data, and the reference tools under their names."""
import os
import pty
import re
import signal
import subprocess
import time

import harness
from cases_running import until
from harness import Job, check

CONTEXT = "output"
RANKS = 4
WHERE = ["--context", CONTEXT]
# Each rank writes a line, waits for the file, and writes another line.
TWO_LINES = ('echo "first $PMIX_RANK"; echo "error $PMIX_RANK" >&2; '
             'until [ -e "$1" ]; do sleep 0.05; done; '
             'echo "second $PMIX_RANK"')


def running(bench, name, *options):
    """Starts a job that has written its first lines. Returns its name and the
    file that releases it."""
    go_on = os.path.join(bench.work, "go-on-" + name)
    job = bench.start("run", *WHERE, "--oversubscribe", "-n", RANKS, "--map-by",
                      "node", *options, "sh", "-c", TWO_LINES, "sh", go_on)
    job.wait_for("first", RANKS)
    job.wait_for("error", RANKS, stream="err")
    return job, bench.json("ps", *WHERE)["jobs"][0]["job"], go_on


def lines(result):
    return sorted(result.out.splitlines())


def touch(path):
    with open(path, "w", encoding="utf-8"):
        pass


def output(bench):
    job, nspace, go_on = running(bench, "output")
    firsts = [f"first {rank}" for rank in range(RANKS)]
    errors = [f"error {rank}" for rank in range(RANKS)]
    seconds = [f"second {rank}" for rank in range(RANKS)]
    show = ["output", *WHERE, nspace]
    result = bench.run(*show).expect(err=errors)
    check(lines(result) == firsts, "not what was written" + result.tail())
    result = bench.run(*show, "--rank", "1-2").expect(absent=["error 0"])
    check(lines(result) == firsts[1:3], "not of these ranks" + result.tail())
    job_number = nspace.rsplit("-", 1)[-1]
    bench.run(*show, "--rank", "3", "-l").expect(
        out=[f"[{job_number},3]<stdout>: first 3"])
    bench.run(*show, "--rank", "3", "--timestamp-output").expect(out=[":"])
    bench.run(*show, "--rank", RANKS).expect_refusal(1, "NOT-FOUND")
    bench.run(*show, "--rank", "x").expect_refusal(2, "ranks such as")
    bench.run("output", *WHERE, "nobody").expect_refusal(1, "nobody")
    # Several followers run at the same time.
    followers = [bench.start(*show, "-f") for _ in range(3)]
    for follower in followers:
        follower.wait_for("first", RANKS)
    touch(go_on)
    for follower in followers:
        result = follower.finish().expect(err=errors)
        check(lines(result) == firsts + seconds, "not all" + result.tail())
    # Nevertheless the launcher has shown the complete output.
    result = job.finish().expect()
    check(lines(result) == firsts + seconds, "not shown" + result.tail())


def from_now(bench):
    go_on = os.path.join(bench.work, "go-on-from-now")
    job = bench.start("run", *WHERE, "-n", 1, "sh", "-c",
                      'echo first; until [ -e "$1" ]; do echo tick; sleep 0.05; '
                      'done; echo last', "sh", go_on)
    job.wait_for("tick", 3)
    nspace = bench.json("ps", *WHERE)["jobs"][0]["job"]
    follower = bench.start("output", *WHERE, nspace, "--from-now")
    follower.wait_for("tick")
    touch(go_on)
    result = follower.finish().expect(out=["tick\nlast\n"], absent=["first"])
    shown = job.finish().expect().out
    check(shown.endswith(result.out), "not the end of it" + result.tail())


def much(bench):
    """If the output exceeds the cache, the gap is reported, and the rest is
    complete."""
    go_on = os.path.join(bench.work, "go-on-much")
    job = bench.start("run", *WHERE, "-n", 1, "sh", "-c",
                      'seq 1 400000; echo end >&2; until [ -e "$1" ]; do '
                      'sleep 0.05; done', "sh", go_on)
    job.wait_for("end", stream="err")
    nspace = bench.json("ps", *WHERE)["jobs"][0]["job"]
    result = bench.run("output", *WHERE, nspace).expect(err=["are missing"])
    missing = int(re.search(r"(\d+) bytes of output are missing",
                            result.err)[1])
    whole = "".join(f"{n}\n" for n in range(1, 400001)) + "end\n"
    shown = len(result.out) + len("end\n")
    check(missing + shown == len(whole), f"{missing} + {shown} bytes")
    check(whole.endswith(result.out + "end\n"), "torn" + result.tail())
    # A follower that leaves does not affect the job.
    follower = bench.start("output", *WHERE, nspace, "-f")
    follower.wait_for("400000\n")
    follower.end(signal.SIGKILL)
    touch(go_on)
    job.finish(120).expect()


def forget(bench, name, code=0):
    bench.run("wait", *WHERE, name).expect(code)


def attach(bench):
    """Sends input to a job that runs in the background, until the job ends."""
    start = ["run", *WHERE, "-n", 2, "--detach"]
    name = bench.run(*start, "--stdin", "0", "sh", "-c",
                     'while read x; do echo "$PMIX_RANK got $x"; done'
                     ).expect().out.strip()
    result = bench.run("attach", *WHERE, name, stdin=b"one\ntwo\n").expect()
    check(lines(result) == ["0 got one", "0 got two"], result.tail())
    forget(bench, name)
    # The job's input goes to all ranks. The command finds this out by itself.
    name = bench.run(*start, "--stdin", "all", "sh", "-c",
                     'while read x; do echo "$PMIX_RANK got $x"; done'
                     ).expect().out.strip()
    result = bench.run("attach", *WHERE, name, "-l", stdin=b"one\n").expect()
    number = name.rsplit("-", 1)[-1]
    check(lines(result) == [f"[{number},{rank}]<stdout>: {rank} got one"
                            for rank in (0, 1)], result.tail())
    forget(bench, name)


def attach_without_input(bench):
    """`canopy attach` sends no input to a job whose input comes from its launcher."""
    job, nspace, go_on = running(bench, "attach")
    attached = bench.start("attach", *WHERE, nspace, stdin=subprocess.PIPE)
    attached.process.stdin.write(b"for nobody\n")
    attached.process.stdin.flush()
    attached.wait_for("takes no input from here", stream="err")
    looking = bench.start("attach", *WHERE, nspace, "--stdin", "none")
    looking.wait_for("first", RANKS)
    bench.run("attach", *WHERE, nspace, "--detach-key", "x").expect_refusal(
        2, "ctrl-]")
    touch(go_on)
    for one in (attached, looking):
        one.finish().expect(out=[f"second {rank}" for rank in range(RANKS)])
    job.finish().expect()


def attach_ends_as_the_job(bench):
    """The command returns the job's exit code, or the exit code for its signal
    or its time limit. A user who detaches ends it with 0."""
    for limit, script, code in (
            ([], "read x; exit 3", 3), ([], "read x; kill -9 $$", 137),
            (["--timeout", 1], "sleep 600", 110)):
        name = bench.run("run", *WHERE, "-n", 2, "--detach", "--stdin", "0",
                         *limit, "sh", "-c",
                         f'[ "$PMIX_RANK" = 0 ] || exit 0; {script}'
                         ).expect().out.strip()
        bench.run("attach", *WHERE, name, stdin=b"go\n").expect(code)
        forget(bench, name, code)


def attach_to_a_rank(bench):
    """The output of the rank ends before the job does."""
    name = bench.run("run", *WHERE, "-n", 2, "--detach", "--stdin", "1", "sh",
                     "-c", '[ "$PMIX_RANK" = 0 ] && echo out && exit 0; read x;'
                     ' exit 5').expect().out.strip()
    one = bench.start("attach", *WHERE, name, "--rank", 0, "--stdin", "none")
    one.wait_for("out\n")
    bench.run("attach", *WHERE, name, "--stdin", 1, stdin=b"go\n").expect(5)
    one.finish().expect(5)
    forget(bench, name, 5)


def read_until(master, text, seconds=30):
    said = b""
    end = time.monotonic() + seconds
    while text not in said:
        check(time.monotonic() < end, f"not said: {text}; {said}")
        said += os.read(master, 4096)
    return said


def attach_on_a_terminal(bench):
    """The key detaches from the job, and input typed before it is delivered."""
    name = bench.run("run", *WHERE, "-n", 1, "--detach", "--stdin", "0", "sh",
                     "-c", 'while read x; do echo "got $x"; done'
                     ).expect().out.strip()
    program = os.path.join(bench.prefix, "bin", "canopy")
    for turn in (1, 2):
        pid, master = pty.fork()
        if pid == 0:
            os.execve(program, ["canopy", "attach", *WHERE, name], bench.env)
        if turn == 1:
            os.write(master, b"line\n")
            read_until(master, b"got line")
        else:
            # The line begins with the unfinished input of the last round.
            os.write(master, b"other\n")
            read_until(master, b"got half other")
        os.write(master, b"half \x1d")
        read_until(master, b"detached from")
        _, status = os.waitpid(pid, 0)
        check(os.waitstatus_to_exitcode(status) == 0, "failed")
        os.close(master)
        check(bench.json("ps", *WHERE).get("jobs"), "the job is over")
    bench.run("attach", *WHERE, name, stdin=b"").expect(out=["got half"])
    forget(bench, name)


def publish(bench):
    bench.run("publish", *WHERE, "color=blue", "size=12=3").expect()
    bench.run("lookup", *WHERE, "color", "size").expect_lines(
        ["color: blue", "size: 12=3"])
    bench.run("publish", *WHERE, "color=red").expect_refusal(
        1, "already published: color")
    bench.run("publish", *WHERE, "pmix.rank=1").expect_refusal(2, "pmix.rank")
    bench.run("publish", *WHERE, "nothing").expect_refusal(2, "KEY=VALUE")
    # Programs find the data on every node, and vice versa.
    bench.run("lookup", *WHERE, "color", "none").expect(
        1, out=["color: blue"], err=["not published: none"])
    bench.run("unpublish", *WHERE, "color").expect()
    bench.run("lookup", *WHERE, "color").expect_refusal(
        1, "not published: color")
    bench.run("publish", *WHERE, "once=only", "--persist", "first-read").expect()
    bench.run("lookup", *WHERE, "once").expect_lines(["once: only"])
    bench.run("lookup", *WHERE, "once", "--wait", "--timeout", 1
              ).expect_refusal(1, "TIMEOUT")
    waiting = bench.start("lookup", *WHERE, "late", "--wait")
    bench.run("publish", *WHERE, "late=there", "--range", "local").expect()
    bench.run("publish", *WHERE, "late=everywhere").expect()
    waiting.finish().expect(out=["late: "])
    bench.run("unpublish", *WHERE, "late", "size").expect()
    bench.run("unpublish", *WHERE, "late", "--range", "local").expect()


def by_name(bench, name, *args):
    env = dict(bench.env, TMPDIR=bench.work)
    path = os.path.join(bench.prefix, "bin", "canopy-" + name)
    return Job([path, *map(str, args)], env).finish(60)


def reference_tools(bench):
    job, nspace, go_on = running(bench, "reference")
    table = by_name(bench, "pps").expect(out=[f"Active nspaces: {nspace}\n"])
    check(len(re.findall(rf"^{nspace} +\d+ +[1-9]\d* ", table.out, re.M)) ==
          RANKS, "not all processes" + table.tail())
    nodes = by_name(bench, "pps", "--nodes", "-v").expect(
        err=["connected to "])
    check(len(re.findall(rf"^{nspace} +node\d +[\d,]+$", nodes.out, re.M)) > 1,
          "not the nodes" + nodes.tail())
    by_name(bench, "pquery", f"PMIX_JOB_SIZE[PMIX_NSPACE={nspace}]",
            "PMIX_QUERY_NAMESPACES").expect(
                out=[f"PMIX_JOB_SIZE: {RANKS}", nspace])
    by_name(bench, "pquery").expect(out=["pmix.qry.ns"])
    by_name(bench, "pquery", "k[").expect_refusal(2, "KEY[QUALIFIER")
    by_name(bench, "pattrs", "--client-fns", "--host", "PMIx_Spawn").expect(
        out=["PMIx_Get\n", "host attributes:", "PMIX_"])
    by_name(bench, "pattrs", "--do-not-connect", "--client", "all").expect(
        out=["  PMIx_Validate_credential\n", "PMIX_EVENT_HDLR_NAME"])
    by_name(bench, "pattrs").expect_refusal(2, "nothing is asked for")
    bench.run("publish", *WHERE, "name=value").expect()
    by_name(bench, "plookup", "name").expect_lines(["name: value"])
    bench.run("unpublish", *WHERE, "name").expect()
    by_name(bench, "plookup", "--wait", "--timeout", 1, "name").expect_refusal(
        1, "TIMEOUT")
    by_name(bench, "pevent", "--event", "PMIX_EVENT_NODE_DOWN", "--range",
            "local").expect()
    by_name(bench, "pevent", "--event", "what").expect_refusal(2, "what")
    by_name(bench, "palloc", "--nodes", 1).expect_refusal(1, "NOT-SUPPORTED")
    by_name(bench, "palloc", "--uid", 1).expect_refusal(2, "--uid")
    by_name(bench, "pps", "--scheduler").expect_refusal(2, "--scheduler")
    by_name(bench, "pps", "--help").expect(out=["--nodes", "--uri"])
    by_name(bench, "pps", "--tmpdir", "/proc").expect_refusal(1, "UNREACH")
    by_name(bench, "pctrl", "--pause").expect_refusal(2, "--targets")
    by_name(bench, "pctrl", "--targets", f"{nspace}:*", "--checkpoint", "x"
            ).expect_refusal(1, "NOT-SUPPORTED")
    by_name(bench, "pctrl", "--targets", f"{nspace}:*", "--pause").expect()
    by_name(bench, "pctrl", "--targets", f"{nspace}:*", "--resume").expect()
    touch(go_on)
    job.finish().expect()
    sleeping = bench.start("run", *WHERE, "-n", 1, "sh", "-c",
                           "echo up; exec sleep 600")
    sleeping.wait_for("up")
    nspace = bench.json("ps", *WHERE)["jobs"][0]["job"]
    by_name(bench, "pctrl", "--targets", f"{nspace}:0", "--signal", "TERM"
            ).expect()
    sleeping.finish().expect(143)
    by_name(bench, "pps").expect(out=["Active nspaces: NONE"])


def run(bench):
    cases = {"running output: output": output,
             "running output: from now": from_now,
             "running output: more than is kept": much,
             "running output: attach": attach,
             "running output: attach ends as the job": attach_ends_as_the_job,
             "running output: attach to a rank": attach_to_a_rank,
             "running output: attach without input": attach_without_input,
             "running output: attach on a terminal": attach_on_a_terminal,
             "running output: publish": publish,
             "running output: reference tools": reference_tools}
    one = "running output: one node"
    if bench.wanted(one, *cases):
        bench.case(one, lambda: one_node(bench), settle=10)
    if not bench.wanted(*cases):
        return
    with bench.overlay(CONTEXT, "--emulate", 2) as up:
        for name, body in cases.items() if up else ():
            bench.case(name, lambda b=body: b(bench), settle=10)


def one_node(bench):
    bench.run("up", *WHERE).expect()
    name = bench.run("run", *WHERE, "-n", 1, "--detach", "--stdin", "0", "sh",
                     "-c", 'echo up; read x; echo "got $x"').expect().out.strip()
    until(lambda: "up" in bench.run("output", *WHERE, name).expect().out)
    bench.run("attach", *WHERE, name, stdin=b"it\n").expect_lines(
        ["up", "got it"])
    forget(bench, name)
    bench.run("down", *WHERE).expect()
