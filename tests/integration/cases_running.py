"""Requests about running jobs: stacks, tools beside them, queries, their end.
"""
import os
import re
import signal
import subprocess

import harness
from harness import check

CONTEXT = "debug"
RANKS = 8


def hanging(bench):
    out = os.path.join(bench.share.directory, "hang")
    bench.share.make(out, ["gcc", "-g", "-O1", "-o", out,
                           os.path.join(harness.PROGRAMS, "hang.c"),
                           f"-I{bench.prefix}/include",
                           f"-L{bench.prefix}/lib", "-lpmix"])
    return out


def nspace_of(bench):
    jobs = bench.json("ps", "--context", CONTEXT)["jobs"]
    check(len(jobs) == 1, f"not one job: {jobs}")
    return jobs[0]["job"]


def start(bench, *args):
    """Starts a job of RANKS ranks. Returns it with its name."""
    job = bench.start("run", "--context", CONTEXT, "--oversubscribe", "-n", RANKS,
                      "--map-by", "node", *args)
    until(lambda: bench.json("ps", "--context", CONTEXT).get("jobs"))
    return job, nspace_of(bench)


def until(there):
    harness.until(there, "what is to come")


def commands(bench):
    job, nspace = start(bench, hanging(bench))
    where = ["--context", CONTEXT]
    until(lambda: bench.run("ps", *where, "--procs").expect().out.count(
        " in MPI ") == RANKS)
    table = bench.run("ps", *where, "--procs").expect(out=["PROGRAM"])
    check(len(re.findall(rf"^{nspace} +\d+ +[1-9]\d* +node[1-4] .*hang",
                         table.out, re.M)) == RANKS, "not all" + table.tail())
    bench.run("query", *where, "PMIX_JOB_SIZE", "pmix.qry.ns", "--job",
              nspace).expect(out=[f"PMIX_JOB_SIZE: {RANKS}", nspace])
    bench.run("query", *where, "no.such.key").expect_refusal(1, "unknown key no.such.key")
    bench.run("event", *where, "PMIX_NOTHING").expect_refusal(2, "PMIX_NOTHING")
    bench.run("event", *where, "PMIX_EVENT_NODE_DOWN", "--job", nspace, "--text",
              "no more").expect()
    bench.run("kill", *where, "--now", nspace).expect()
    job.finish().expect(137)


def output_of(bench, name):
    with open(os.path.join(bench.work, name + ".out"), encoding="utf-8") as file:
        return file.read()


def detached(bench):
    """With --detach, the job continues in the background, and its output is in the
    working directory. Its end is known as long as the history has it."""
    run = ["run", "--context", CONTEXT, "-n", 2, "--detach"]
    where = ["--context", CONTEXT]
    for code in (0, 3):
        name = bench.run(*run, "sh", "-c", f"read x; echo said; exit {code}"
                         ).expect().out.strip()
        for _ in range(2):
            bench.run("wait", *where, name).expect(code)
        check("said\n" in output_of(bench, name), "its output is not there")
        bench.run("output", *where, name).expect(out=["said"])
        bench.run("why", *where, name).expect(out=[f"with exit code {code} at"])
    name = bench.run(*run, "sleep", "600").expect().out.strip()
    check(nspace_of(bench) == name, "not that job")
    bench.run("top", *where, "--count", 1).expect(out=[name, "node4"])
    bench.run("kill", *where, "--now", name).expect()
    bench.run("wait", *where, name).expect(137)
    name = bench.run(*run, "no-such-program").expect().out.strip()
    bench.run("wait", *where, name).expect(127, err=["no-such-program"])
    before = os.listdir(bench.work)
    bench.run(*run, "--host", "nowhere", "true").expect_refusal(1, "nowhere")
    bench.run("run", "--emulate", 2, "--detach", "true").expect_refusal(
        2, "canopy up")
    check(sorted(os.listdir(bench.work)) == sorted(before), "a file is left")


def output_files(bench):
    """The output file is made before the job; its name contains the job's name
    and the rank."""
    run = ["run", "--context", CONTEXT, "-n", 2]
    bench.run(*run, "--detach", "--output", "file=missing/out", "true"
              ).expect_refusal(1, "missing/out", "No such file", "--output file=")
    bench.run(*run, "--output", "file=missing/%r", "true").expect_refusal(
        1, "missing/0", "No such file")
    script = ["sh", "-c", "echo out $PMIX_RANK; echo err $PMIX_RANK >&2"]
    bench.run(*run, "--output", "file=both", *script).expect_lines([])
    with open(os.path.join(bench.work, "both"), encoding="utf-8") as file:
        check(sorted(file.read().splitlines()) ==
              ["err 0", "err 1", "out 0", "out 1"], "not all output")
    name = bench.run(*run, "--detach", "--output", "file=log-%j.%r", *script
                     ).expect().out.strip()
    bench.run("wait", name).expect()
    for rank in range(2):
        path = os.path.join(bench.work, f"log-{name}.{rank}")
        with open(path, encoding="utf-8") as file:
            check(sorted(file.read().splitlines()) ==
                  [f"err {rank}", f"out {rank}"], "not the rank's output")


def full_disk(bench):
    """A job whose output cannot be written is ended, and `canopy wait` reports the
    reason.
    """
    place = os.path.join(bench.work, "small")
    os.mkdir(place)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "canopy-it", place],
                   check=True)
    try:
        name = bench.run("run", "--context", CONTEXT, "-n", 1, "--detach",
                         "sh", "-c", "yes; sleep 600", cwd=place
                         ).expect().out.strip()
        for _ in range(2):
            bench.run("wait", name).expect(
                1, err=["cannot write the file of the output: No space left on "
                        "device"])
    finally:
        subprocess.run(["umount", place], check=True)


def history(bench):
    """The history also has jobs of the foreground, and jobs whose launchers were
    killed. If the history cannot be used, a job prints a warning."""
    run = ["run", "--context", CONTEXT, "-n", 2]
    job = bench.start(*run, "sh", "-c", "echo up; sleep 600")
    job.wait_for("up", 2)
    killed = nspace_of(bench)
    job.end(signal.SIGKILL)
    bench.run("wait", "--context", CONTEXT, killed).expect_refusal(
        1, killed, "launcher")
    bench.run("why", "--context", CONTEXT, killed).expect(
        out=["launcher was killed"])
    bench.run(*run, "sh", "-c", "exit 5").expect(5)
    answer = bench.json("ps", "--all", "--context", CONTEXT)
    last = answer["ended"][-1]
    check((last["exitCode"] if "exitCode" in last else last["exit_code"]) == 5 and
          last["processes"] == 2 and "exited with code 5" in last["reason"],
          f"not that job: {last}")
    bench.run("wait", last["job"]).expect(5, err=["exited with code 5"])
    bench.run("wait", last["job"].rsplit("-", 1)[1]).expect(5)
    bench.run("output", last["job"]).expect_refusal(1, "--output file=")
    bench.run("ps", "-a").expect(out=[killed, "lost", last["job"]])
    state = os.path.join(bench.work, "damaged")
    os.makedirs(os.path.join(state, "canopy"), mode=0o700)
    os.chmod(os.path.join(state, "canopy"), 0o700)
    with open(os.path.join(state, "canopy", "history.db"), "w",
              encoding="utf-8") as file:
        file.write("x" * 10000)
    for value, word in ((state, "is damaged"), ("/proc", "cannot use")):
        result = bench.run(*run, "true", env={"XDG_STATE_HOME": value}).expect(
            err=["canopy: warning: ", word])
        check(len(result.err.splitlines()) == 1, "not one line" + result.tail())


def with_hang(bench, body):
    job, nspace = start(bench, hanging(bench))
    job.wait_for("up ", RANKS)
    body(nspace)
    bench.run("kill", "--context", CONTEXT, "--now", nspace).expect()
    job.finish().expect(137)


def stack(bench):
    def look(nspace):
        where = ["--context", CONTEXT, nspace]
        result = bench.run("stack", *where).expect(
            out=["1 rank 0:\n", "main at hang.c", "not_in_the_fence at hang.c",
                 f"{RANKS - 1} ranks 1-{RANKS - 1}:\n", "PMIx_Fence"])
        check(result.out.count("main at hang.c") == 2,
              "not one tree" + result.tail())
        result = bench.run("stack", *where, "--ranks", "0").expect()
        check("PMIx_Fence" not in result.out, "of others" + result.tail())
        bench.run("stack", *where, "--threads").expect(out=["PMIx_Fence"])
        bench.run("stack", "--context", CONTEXT, "nobody").expect_refusal(
            1, "nobody")
        # The processes continue, and the fence still waits for no rank but 0.
        bench.run("why", *where, "--stacks").expect(
            out=["rank 0 on node1", "not_in_the_fence"],
            absent=["PMIx_Fence from"])
    with_hang(bench, look)


def daemons(bench):
    def look(nspace):
        where = ["debug", "--context", CONTEXT, nspace]
        script = "echo $PMIX_RANK $PMIX_NAMESPACE $(hostname)"
        result = bench.run(*where, "--", "sh", "-c", script).expect()
        lines = [line.split() for line in result.out.splitlines()]
        check(sorted(int(line[0]) for line in lines) == list(range(RANKS)),
              "not one for each rank" + result.tail())
        check(all(line[1] != nspace for line in lines), "no job of its own")
        for options, count in ((["--per-node", 1], 4), (["--per-node", 2], 8),
                               (["--rank", 3], 1),
                               (["--rank", 3, "--per-rank", 2], 2)):
            result = bench.run(*where, *options, "--", "echo", "here")
            result.expect_lines(["here"] * count)
        bench.run(*where).expect_refusal(2, "no command after '--'")
        bench.run("debug", "--context", CONTEXT, "no-such-job", "--", "true"
                  ).expect_refusal(1, "no-such-job")
        bench.run(*where, "--rank", RANKS, "--", "true").expect_refusal(
            1, f"no rank {RANKS}")
    with_hang(bench, look)


def shell(bench, command):
    """Runs a shell command in which "canopy" is the program under test."""
    return bench.run("-c", f'canopy() {{ "{bench.canopy}" "$@"; }}\n{command}',
                     program="/bin/sh")


def callers_world(bench):
    """Ranks have the umask and the resource limits of the command, not of the
    agents; a soft limit is at most the hard limit of the agents."""
    run = f"canopy run --context {CONTEXT} -n 2 --map-by node sh -c"
    shell(bench, f"umask 027; ulimit -S -c 0; ulimit -S -s 4096; {run} "
          "'umask; ulimit -s; ulimit -c'").expect_lines(
              ["0027", "0027", "4096", "4096", "0", "0"])
    shell(bench, f"umask 077; {run} umask").expect_lines(["0077"] * 2)


def nice(bench):
    run = ["run", "--context", CONTEXT, "-n", 2, "--map-by", "node"]
    bench.run(*run, "--nice", 7, "nice").expect_lines(["7", "7"])
    bench.run(*run, "--nice", 20, "nice").expect_refusal(2, "from -20 to 19")
    lowered = bench.run(*run, "--nice", -5, "nice")
    if subprocess.run(["nice", "-n", "-5", "true"], stderr=subprocess.PIPE,
                      check=True).stderr:
        lowered.expect(code=126, err=["nice value -5 is lower than"])
    else:
        lowered.expect_lines(["-5", "-5"])


def names(bench):
    where = ["--context", CONTEXT]
    bench.run("ps", *where).expect(absent=["NAME"])
    job = bench.start("run", *where, "--name", "ocean", "-n", 1, "sh", "-c",
                      "echo up; exec sleep 600")
    job.wait_for("up\n")
    bench.run("ps", *where).expect(out=["NAME", "ocean"])
    check(bench.json("ps", *where)["jobs"][0]["name"] == "ocean", "no name")
    bench.run("kill", *where, nspace_of(bench)).expect()
    job.finish()


def slots_of(bench):
    nodes = bench.json("status", "--context", CONTEXT)["nodes"]
    return sum(int(node["slots"]) for node in nodes)


def queued(bench):
    """Returns the commands of the queued jobs, in the order of their turns."""
    jobs = bench.json("ps", "--context", CONTEXT)["jobs"]
    waiting = [job for job in jobs if job["phase"] == "queued"]
    return [job["command"] for job in sorted(waiting,
                                             key=lambda job: job["position"])]


def queue(bench):
    """Jobs that wait for slots run in the order of their requests. Without
    --wait, a job for which no slots are free fails immediately."""
    run = ["run", "--context", CONTEXT]
    slots = slots_of(bench)
    first = bench.start(*run, "-n", slots, "sh", "-c", "echo up; exec sleep 600")
    first.wait_for("up\n", slots)
    nspace = nspace_of(bench)
    bench.run(*run, "-n", 1, "true").expect_refusal(1, "not enough slots")
    bench.run(*run, "--wait", "-n", slots + 1, "true").expect_refusal(
        1, "not enough slots")
    second = bench.start(*run, "--wait", "-n", slots, "echo", "second")
    until(lambda: queued(bench) == ["echo second"])
    third = bench.start(*run, "--wait", "-n", 1, "echo", "third")
    until(lambda: queued(bench) == ["echo second", "echo third"])
    bench.run("ps", "--context", CONTEXT).expect(
        out=["place 1: too few slots are free",
             "place 2: jobs before it wait for slots"])
    bench.run(*run, "--wait", "--detach", "-n", 1, "sh", "-c",
              "echo fourth").expect()
    second.signal(signal.SIGINT)
    second.finish().expect(128 + signal.SIGINT, absent=["second\n"])
    until(lambda: queued(bench) == ["echo third", "sh -c 'echo fourth'"])
    bench.run("kill", "--context", CONTEXT, nspace).expect()
    first.finish()
    third.finish().expect_lines(["third"])
    until(lambda: not bench.json("ps", "--context", CONTEXT).get("jobs"))


def restarts(bench):
    """Each restart prints one line on standard error."""
    tries = os.path.join(bench.work, "tries")
    done = bench.run(
        "run", "--context", CONTEXT, "-n", 1, "--max-restarts", 2, "sh", "-c",
        f"echo >> {tries}; [ $(wc -l < {tries}) = 3 ] || exit 3; echo done")
    done.expect_lines(["done"])
    lines = done.err.splitlines()
    check(len(lines) == 2, "not one line for each" + done.tail())
    for number, line in enumerate(lines, 1):
        check("exited with code 3" in line and
              line.endswith(f"is started again (restart {number} of 2)"), line)


def run(bench):
    cases = {"running jobs: commands": commands,
             "running jobs: detached jobs": detached,
             "running jobs: files of the output": output_files,
             "running jobs: output on a full disk": full_disk,
             "running jobs: history": history,
             "running jobs: stack": stack,
             "running jobs: the caller's world": callers_world,
             "running jobs: nice values": nice,
             "running jobs: names": names,
             "running jobs: queue": queue,
             "running jobs: restarts": restarts,
             "running jobs: daemons": daemons}
    if not bench.wanted(*cases):
        return
    with bench.overlay(CONTEXT, "--emulate", 4) as up:
        for name, body in cases.items() if up else ():
            bench.case(name, lambda b=body: b(bench), settle=10)
