"""Control of an overlay: access, the output of commands, and their effects."""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import harness
from harness import check
from hostility import AS_USER, USER, make_for_user

RUN = ["run", "--emulate", 2, "--oversubscribe"]


def context_file(name):
    return os.path.join(harness.RUNTIME, f"canopy-{os.geteuid()}", "contexts",
                        name + ".json")


def plaintext(bench):
    """Agents without TLS listen on their own machines only, and report this.
    """
    up = bench.run("up", "--context", "plain", "--emulate", 2, "--security",
                   "plaintext").expect()
    check(up.err.startswith("canopy: warning: ") and
          up.err.count("\n") == 1 and "run programs in your name" in up.err,
          "no warning" + up.tail())
    context = ["--context", "plain"]
    bench.run("run", *context, "-n", 2, "--map-by", "node", "echo", "here"
              ).expect_lines(["here"] * 2)
    # Removes the sockets, so that the commands connect as from another machine.
    path = context_file("plain")
    with open(path, encoding="utf-8") as file:
        here = file.read()
    far = json.loads(here)
    for number, member in enumerate(far["members"]):
        member["control_socket"] = "/nonexistent/control.sock"
        member["address"] = f"192.0.2.1:{number + 1}"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(far, file)
    for command in (["status"], ["ps"], ["why"], ["run", "true"],
                    ["kill", "--all"]):
        bench.run(command[0], *context, *command[1:]).expect_refusal(
            1, "--security plaintext")
    with open(path, "w", encoding="utf-8") as file:
        file.write(here)
    bench.run("down", *context).expect()


def json_of_commands(bench):
    bench.run("up", "--context", "json", "--emulate", 2).expect()
    context = ["--context", "json"]
    job = bench.start("run", *context, "-n", 1, "sh", "-c",
                      "trap 'echo got it' USR1; echo up; "
                      "while :; do sleep 1000 & wait; done")
    job.wait_for("up\n")
    name = bench.json("ps", *context)["jobs"][0]["job"]
    sent = bench.json("signal", *context, "1", "USR1")
    check(sent == {"jobs": [name], "signal": signal.SIGUSR1,
                    "signal_name": "SIGUSR1"}, str(sent))
    job.wait_for("got it\n")
    ended = bench.json("kill", *context, "--now", "1")
    check(ended == {"jobs": [name], "signal": signal.SIGKILL,
                     "signal_name": "SIGKILL"}, str(ended))
    job.finish().expect(137, err=["Killed"])
    logs = bench.json("logs", *context, "node2")["logs"]
    check(len(logs) == 1 and logs[0]["node"] == "node2" and
          not logs[0]["error"], str(logs))
    down = bench.json("down", *context)
    check(down == {"context": "json", "nodes": ["node1", "node2"],
                   "reached": True, "no_answer": []}, str(down))


def security_of_run(bench, context):
    """A job's own agents use the requested security. Agents that already run
    keep the security with which they were started."""
    run = ["run", "--oversubscribe", "-n", 2, "--map-by", "node"]
    plain = bench.run(*run, "--emulate", 2, "--security", "plaintext", "true")
    plain.expect(err=["--security plaintext"])
    bench.run(*run, "--emulate", 2, "--security", "tls", "--loss-timeout", 9,
              "true").expect_lines([])
    bench.run(*run, "--emulate", 2, "--security", "files", "--tls-ca", "/no/ca",
              "--tls-cert", "/no/cert", "--tls-key", "/no/key", "true"
              ).expect_refusal(1, "/no/")
    bench.run("up", *context, "--emulate", 2).expect()
    try:
        bench.run(*run, *context, "--security", "tls", "true").expect_lines([])
        bench.run(*run, *context, "--security", "plaintext", "true"
                  ).expect_refusal(2, "--security plaintext", context[1],
                                   "up with tls")
        bench.run(*run, *context, "--listen", "127.0.0.1", "true").expect(
            err=["--listen is for agents that are started"])
    finally:
        bench.run("down", *context).expect()


def slots_of_jobs(bench, context):
    """The nodes of a job are listed with the slots of its mapping."""
    bench.run("up", *context, "--emulate", 2).expect()
    try:
        at = {node["node"]: node["slots"]
              for node in bench.json("status", *context)["nodes"]}
        job = bench.start("run", *context, "--oversubscribe", "--map-by", "node",
                          "-n", 2, "sh", "-c", "echo up; read line; true",
                          stdin=subprocess.PIPE)
        job.wait_for("up\n", 2)
        listed = bench.json("ps", *context)["jobs"][0]["nodes"]
        check({node["node"]: node["slots"] for node in listed} == at,
              f"{listed}, not {at}")
        job.process.stdin.close()
        job.finish().expect()
    finally:
        bench.run("down", *context).expect()


def json_of_ends(bench):
    """The report has the rank that failed first if and only if a rank
    failed."""
    well = bench.run(*RUN, "-o", "json", "-n", 2, "true").expect()
    check(json.loads(well.err)["first_failed"] is None, "a failure" + well.tail())
    for program, code in (("no-such-program", 127), ("/etc/passwd", 126)):
        absent = bench.run(*RUN, "-o", "json", "-n", 1, program).expect(code=code)
        check(json.loads(absent.err)["exit_code"] == code, absent.tail())
    failed = bench.run(*RUN, "-o", "json", "-n", 2, "sh", "-c",
                       "[ $PMIX_RANK = 0 ] || exit 3").expect(3)
    check(json.loads(failed.err)["first_failed"] == 1, "rank" + failed.tail())


def shim_lost(bench):
    """If a shim is killed, its processes and the job end."""
    job = bench.start(*RUN, "-n", 2, "sh", "-c", "echo parent $PPID; sleep 1000")
    job.wait_for("parent ", 2)
    os.kill(int(job.texts["out"].split()[1]), signal.SIGKILL)
    job.finish(30).expect(137)


def pmix(bench, name):
    return bench.compile("gcc", name, f"-I{bench.prefix}/include",
                         f"-L{bench.prefix}/lib", "-lpmix")


def named(text, job, seconds):
    """Checks that TEXT reports JOB's second fence as waiting for its stopped
    rank 2."""
    found = re.search(r"fence #\d+[^;\n]* has waited (\d+\.\d+) s for:?\s+" +
                      re.escape(job) + r" rank 2 on node1\b", text)
    check(found is not None, f"not named: {text!r}")
    check(float(found[1]) <= seconds, f"age {found[1]} of {seconds:.1f} s")


def stopped(bench, context):
    """`canopy why` names the rank that was stopped during its work."""
    start = time.monotonic()
    job = bench.start("run", *context, "--oversubscribe", "-n", 4, "--map-by",
                      "node", pmix(bench, "stuck"), 2)
    job.wait_for("stops\n")
    name = bench.json("ps", *context)["jobs"][0]["job"]
    while True:  # until the other ranks are in the fence
        why = bench.run("why", *context).expect()
        if set(re.findall(r" rank (\d)", why.out)) == {"2"}:
            break
        check(time.monotonic() < start + 60, "others are named" + why.tail())
    named(why.out, name, time.monotonic() - start)
    listed = bench.json("why", *context, "1")["waiting"]
    check(len(listed) == 1 and listed[0]["job"] == name and
          int(listed[0]["age_ms"]) > 0, str(listed))
    bench.run("kill", *context, "--now", "--all").expect()
    job.finish().expect(137)


def timed_out(bench, context):
    """With a time limit the job ends, and the report names the same rank."""
    start = time.monotonic()
    result = bench.run("run", *context, "--oversubscribe", "--timeout", 2, "-n",
                       4, "--map-by", "node", pmix(bench, "stuck"), 2)
    result.expect(110, err=["time limit of 2 seconds", "ranks 0-3 had not"])
    check(result.err.count("\n") == 1, "not one line" + result.tail())
    job = re.search(r"(canopy-[0-9a-f]+-\d+) rank", result.err)
    check(job is not None, "no job" + result.tail())
    named(result.err, job[1], time.monotonic() - start)


@contextlib.contextmanager
def limited(pid, what, soft):
    """Sets the soft limit of the resource WHAT of this process to SOFT within the
    block."""
    before = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (soft, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, what, before)


def no_descriptors(pid):
    """Within the block, the process PID cannot open descriptors."""
    used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    free = min(set(range(len(used) + 1)) - used)
    return limited(pid, resource.RLIMIT_NOFILE, free)


def full_table(bench, context):
    """An agent without descriptors reports this to its clients, affects no
    other job, and continues when descriptors are free again."""
    nodes = bench.json("status", *context)["nodes"]
    run = ["run", *context, "--oversubscribe", "--map-by", "node"]
    beside = bench.start(*run, "-n", 4, "sh", "-c", "echo up; read line; echo on",
                         stdin=subprocess.PIPE)
    beside.wait_for("up\n", 4)
    for node in reversed(nodes):
        bench.run(*run, "-n", 2, "true").expect()
        with no_descriptors(int(node["pid"])):
            for _ in range(3):
                bench.run(*run, "-n", 4, "true").expect_refusal(
                    1, node["node"], "ulimit -n")
            listed = bench.json("ps", *context)["jobs"]
            check(len(listed) == 1, f"jobs: {listed}")
        bench.run(*run, "-n", 4, pmix(bench, "stuck")).expect()
    beside.process.stdin.write(b"go\n")
    beside.process.stdin.close()
    beside.finish().expect(0, out=["on"])


def overfull(bench, context, size):
    """A process that commits more than its job has room for gets an error, for
    large and small commits, and no other job has less room."""
    node = bench.json("status", *context)["nodes"][0]
    with limited(int(node["pid"]), resource.RLIMIT_FSIZE, 128 << 20):
        job = bench.start("run", *context, "--host", node["node"],
                          "--oversubscribe", "-n", 2, pmix(bench, "overfull"),
                          size, stdin=subprocess.PIPE)
        job.wait_for("here\n", 2)
    job.process.stdin.write(b"go\n")
    job.process.stdin.close()
    out = job.finish().expect(0).out.split()
    room = int(out[out.index("for") + 1])
    found = int(out[out.index("found") + 1])
    check(found == room + 1, f"room for {room}, found {found}")
    check(8 << 20 < room * size < 64 << 20, f"room for {room}")


def open_files(bench, context):
    """Agents use the hard limit of open files; programs get the soft limit that
    the agents were started with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    bench.run("run", *context, "-n", 1, "sh", "-c",
              "ulimit -Sn; ulimit -Hn").expect_lines([str(soft), str(hard)])
    for node in bench.json("status", *context)["nodes"]:
        limits = resource.prlimit(int(node["pid"]), resource.RLIMIT_NOFILE)
        check(limits == (hard, hard), f"{node['node']} has {limits}")


def without_run_socket(bench, context):
    """An agent without a socket for jobs runs them over gRPC."""
    with open(context_file(context[1]), encoding="utf-8") as file:
        for member in json.load(file)["members"]:
            os.unlink(os.path.join(os.path.dirname(member["control_socket"]),
                                   "run.sock"))
    job = bench.start("run", *context, "-n", 1, "sh", "-c",
                      "read line; echo got $line; exit 5",
                      stdin=subprocess.PIPE)
    job.process.stdin.write(b"it\n")
    job.process.stdin.close()
    job.finish().expect(5, out=["got it"])


def home_of_user(bench):
    """Makes a home of the user of AS_USER. Returns the variables with which Canopy
    uses it."""
    home = "/tmp/of-user"
    make_for_user(home)
    os.chmod(os.path.dirname(bench.prefix), 0o711)  # the user runs what is there
    return {"XDG_RUNTIME_DIR": home, "HOME": home, "XDG_STATE_HOME": home}


def memory(bench):
    """The memory of an agent is closed to other processes of its user and in no core
    dump, unless the agent is being debugged. That of its processes is not."""
    env = home_of_user(bench)

    def as_user(command, *words):
        return bench.run(*AS_USER, bench.canopy, command, "--context", "closed",
                         *words, program="setpriv", env=env)
    for level, owner in (("warn", 0), ("debug", USER)):
        as_user("up", "--emulate", 1, "--log-level", level).expect()
        node, = json.loads(as_user("status", "-o", "json").expect().out)["nodes"]
        uid = os.stat(f"/proc/{node['pid']}/mem").st_uid
        check(uid == owner, f"{level}: the memory belongs to {uid}")
        as_user("run", "-n", 1, "stat", "-L", "-c", "%u", "/proc/self/mem").expect_lines(
            [str(USER)])
        as_user("down").expect()
    shutil.rmtree(env["HOME"])


def no_further_process(bench):
    """The user of an agent may have few processes and threads. A job that needs
    more is refused with the reason, and the next one runs."""
    env = home_of_user(bench)

    def limited_to(count, command, *words):
        return bench.run(*AS_USER, "prlimit", f"--nproc={count}", bench.canopy,
                         command, "--context", "few", *words, program="setpriv",
                         env=env)
    limited_to(60, "up", "--emulate", 1).expect()
    run = ("run", "--oversubscribe", "-n")
    limited_to(1000, *run, 100, "sleep", "1").expect(
        code=1, err=["cannot start a process: Resource temporarily unavailable"])
    limited_to(1000, *run, 2, "echo", "ran").expect_lines(["ran"] * 2)
    limited_to(1000, "down").expect()
    shutil.rmtree(env["HOME"])


def spawns_itself(bench):
    """A program that spawns itself is refused at the limit, and the overlay serves
    other jobs."""
    context = ["--context", "bomb"]
    bench.run("up", *context, "--emulate", 2, "--max-jobs-per-user", 6).expect()
    limit = ("the limit of jobs for each user (max-jobs-per-user) is 6 on this "
             f"overlay; user {os.geteuid()} has 6, running or queued")
    bomb = bench.start("run", *context, "--oversubscribe", "-n", 1,
                       pmix(bench, "bomb"))
    bomb.finish().expect(7, out=["refused: OUT-OF-RESOURCE"],
                         err=[f"cannot spawn: {limit}"])
    bench.run("run", *context, "-n", 2, "echo", "ran").expect_lines(["ran"] * 2)
    bench.run("down", *context).expect()


def limits_of_user(bench):
    """The limits hold for jobs of `canopy run`, for each overlay and user, until a
    job ends."""
    context = ["--context", "limits"]
    bench.run("up", *context, "--emulate", 1, "--max-procs-per-user", 4,
              env={"CANOPY_MAX_JOBS_PER_USER": "2"}).expect()
    limits = bench.json("status", *context)["limits"]
    check(limits == {"jobs_per_user": 2, "processes_per_user": 4}, str(limits))
    run = ["run", *context, "--oversubscribe"]
    user = f"user {os.geteuid()} has"
    bench.run(*run, "-n", 5, "true").expect_refusal(
        1, "(max-procs-per-user) is 4", f"{user} 0, ", "would add 5")
    jobs = [bench.start(*run, "-n", 1, "sh", "-c", "echo up; exec sleep 1000")
            for _ in range(2)]
    for job in jobs:
        job.wait_for("up\n")
    bench.run(*run, "-n", 1, "true").expect_refusal(
        1, "(max-jobs-per-user) is 2", f"{user} 2, ")
    bench.run(*run, "--wait", "-n", 1, "true").expect_refusal(
        1, "(max-jobs-per-user) is 2")
    # Another overlay, and an overlay of another user.
    bench.run(*RUN, "-n", 2, "echo", "here").expect_lines(["here"] * 2)
    env = home_of_user(bench)
    bench.run(*AS_USER, bench.canopy, *RUN, "-n", 2, "echo", "theirs",
              program="setpriv", env=env).expect_lines(["theirs"] * 2)
    shutil.rmtree(env["HOME"])
    jobs[0].end(signal.SIGTERM)
    bench.run(*run, "-n", 1, "echo", "ran").expect_lines(["ran"])
    jobs[1].end(signal.SIGTERM)
    bench.run("down", *context).expect()


def run(bench):
    bench.case("control: without TLS", lambda: plaintext(bench), settle=5)
    bench.case("control: JSON of commands", lambda: json_of_commands(bench),
               settle=5)
    bench.case("control: security of a job's own agents", lambda:
               security_of_run(bench, ("--context", "secure")), settle=5)
    bench.case("control: slots in ps", lambda: slots_of_jobs(
        bench, ("--context", "slots")), settle=5)
    bench.case("control: JSON of a job's end", lambda: json_of_ends(bench))
    with bench.overlay("control", "--emulate", "2") as up:
        if up:
            context = ["--context", "control"]
            bench.case("control: a rank is stopped in a fence",
                       lambda: stopped(bench, context))
            bench.case("control: --timeout with a stopped rank",
                       lambda: timed_out(bench, context))
            bench.case("control: no descriptor left", lambda: full_table(
                bench, context))
            for what, size in (("small", 48 << 10), ("large", 6 << 20)):
                bench.case(f"control: {what} commits, no room for more",
                           lambda size=size: overfull(bench, context, size))
            bench.case("control: limits of open files",
                       lambda: open_files(bench, context))
            bench.case("control: jobs over gRPC", lambda: without_run_socket(
                bench, context))
    bench.case("control: an agent's memory", lambda: memory(bench))
    bench.case("control: no further process", lambda: no_further_process(bench))
    bench.case("control: a program that spawns itself", lambda:
               spawns_itself(bench))
    bench.case("control: limits of a user's jobs", lambda: limits_of_user(bench))
    bench.case("control: a shim is killed", lambda: shim_lost(bench), settle=10)
