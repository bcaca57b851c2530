"""Bad input: each error is reported in one line that states the remedy, with
the right exit code, and affects no other job."""
import os
import shlex
import shutil
import tempfile

RUN = ["run", "--emulate", 2]
HERE = ["run", "--context", "bad"]
UP = ["up", "--context"]


class Beside:
    """A job that runs until it is released."""

    def __init__(self, bench, where):
        reader, self.writer = os.pipe()
        self.job = bench.start(*where, "--oversubscribe", "-n", 2, "sh", "-c",
                               "echo up; read line; echo went on", stdin=reader)
        os.close(reader)
        self.job.wait_for("up", 2)

    def finish(self):
        os.close(self.writer)
        self.job.finish(30).expect_lines(["up", "up", "went on", "went on"])


def programs(bench):
    with tempfile.TemporaryDirectory() as base:
        plain = os.path.join(base, "plain")
        with open(plain, "w", encoding="utf-8") as file:
            file.write("echo never\n")
        for where in (RUN, HERE):
            bench.run(*where, "-n", 2, "no-such-program").expect_refusal(
                127, "no-such-program", "PATH", "--path")
            bench.run(*where, "-n", 2, "./no-such-program").expect_refusal(
                127, "no-such-program")
            bench.run(*where, "-n", 2, plain).expect_refusal(
                126, plain, "chmod +x")
            bench.run(*where, "-n", 2, base).expect_refusal(
                126, base, "directory")
            bench.run(*where, "-n", 2, "--wdir", base + "/none", "true"
                      ).expect_refusal(1, base + "/none", "--wdir")
            bench.run(*where, "-n", 2, "two\nlines").expect_refusal(
                127, "two lines")


def options(bench):
    for where in (RUN, HERE):
        bench.run(*where, "-n", 0, "true").expect_refusal(2, "at least one")
        bench.run(*where, "-n", -1, "true").expect_refusal(2, "-1")
        bench.run(*where, "-n", "many", "true").expect_refusal(2, "many")
        bench.run(*where, "-n", 99999999999, "true").expect_refusal(
            2, "99999999999")
        bench.run(*where, "-n", 500, "true").expect_refusal(
            1, "not enough slots", "500 processes", "--oversubscribe")
        bench.run(*where, "--map-by", "nonsense", "-n", 1, "true"
                  ).expect_refusal(2, "nonsense")
        bench.run(*where, "--tag-ouput", "-n", 1, "true").expect_refusal(
            2, "--tag-ouput", "did you mean '--tag-output'")
        bench.run(*where, "-n", 1).expect_refusal(2, "program")
        bench.run(*where, "--hostfile", "/no/such/file", "-n", 1, "true"
                  ).expect_refusal(1, "/no/such/file", "No such file")
    bench.run("rnu", "-n", 1, "true").expect_refusal(2, "did you mean 'run'")
    bench.run("run", "--emulate", 0, "true").expect_refusal(2, "--emulate")
    bench.run("run", "--emulate", 2, "--radix", 1, "true").expect_refusal(
        2, "--radix")


def hostfiles(bench):
    with tempfile.TemporaryDirectory() as base:
        path = os.path.join(base, "hosts")
        for text, word in (("", "no host"), ("# nothing\n", "no host"),
                           ("a slots=x\n", "slots=x"),
                           ("a slots=-1\n", "slots=-1"),
                           ("a what=1\n", "what=1")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            bench.run("run", "--hostfile", path, "-n", 1, "true"
                      ).expect_refusal(2, path, word)
        bench.run("run", "--hostfile", base, "-n", 1, "true").expect_refusal(
            1, base, "directory")


def hosts(bench):
    bench.run(*HERE, "--host", "nosuch", "-n", 1, "true").expect_refusal(
        1, "nosuch", "node1, node2")
    bench.run(*UP, "other", "--hosts", "nosuch.invalid").expect_refusal(
        1, "nosuch.invalid", "check the name")
    bench.run(*UP, "other", "--hosts", "a,b", "--launch-agent", "ssh"
              ).expect_refusal(2, "--launch-agent", "{host}")
    bench.run(*UP, "other", "--hosts", "a,b", "--launch-agent",
              "no-such-carrier {host}").expect_refusal(
                  1, "no-such-carrier", "--launch-agent")
    bench.run(*UP, "other", "--hosts", "a", "--launch-agent",
              "sh -c 'echo no way >&2; exit 3' {host}").expect_refusal(
                  1, "no agent on a (1 of 1)", "no way")
    slow = bench.run(*UP, "other", "--hosts", "a", "--timeout", 1,
                     "--launch-agent", "sh -c 'sleep 1000' {host}")
    slow.expect_refusal(1, "no answer from a (1 of 1) in 1 s")
    chatty = bench.run(*UP, "other", "--hosts", "a", "--launch-agent",
                       "sh -c 'cat /etc/services; exit 0' {host}")
    chatty.expect_refusal(1, "no agent on a (1 of 1)", "bootstrap protocol")


# Starts the agents of "near" hosts on this machine. The host "silent" never answers, names in
# "invalid" are unknown, and on "bare" Canopy is not installed.
LAUNCH_AGENT = """#!/bin/sh
host=$1
shift
case $host in
  silent) exec sleep 1000 ;;
  *.invalid) echo "ssh: Could not resolve hostname $host: Name or service not \
known" >&2; exit 255 ;;
  localhost) exit 9 ;;
  bare) exec sh -c "/opt/none/canopyd --bootstrap" ;;
esac
exec "$@"
"""


def missing_hosts_of_run(bench):
    """`canopy run` that starts agents continues without hosts in the same way."""
    with tempfile.TemporaryDirectory() as base:
        script = os.path.join(base, "launch")
        with open(script, "w", encoding="utf-8") as file:
            file.write(LAUNCH_AGENT)
        os.chmod(script, 0o755)
        run = ["run", "--listen", "127.0.0.1", "--launch-agent", script + " {host}"]
        bench.run(*run, "--host", "a.invalid,near1:2", "-n", 1, "true").expect_refusal(
            1, "no agent on a.invalid (1 of 2)")
        bench.run(*run, "--allow-missing", "--host", "a.invalid,near1:2", "sh", "-c",
                  "echo $PMIX_RANK on $PMIX_HOSTNAME").expect(
            out=["0 on near1", "1 on near1"],
            err=["continuing without 1 of 2 nodes: no agent on a.invalid"])
        bench.run(*run, "--allow-missing", "-n", 1, "--host", "near1", "true", ":",
                  "-n", 1, "--host", "a.invalid", "false").expect(
            1, err=["no host of 'false' has answered"])


def missing_hosts(bench):
    """The error names each host that does not come up, and --allow-missing
    continues without them."""
    with tempfile.TemporaryDirectory() as base:
        script = os.path.join(base, "launch")
        with open(script, "w", encoding="utf-8") as file:
            file.write(LAUNCH_AGENT)
        os.chmod(script, 0o755)
        up = [*UP, "other", "--listen", "127.0.0.1", "--timeout", 6,
              "--launch-agent", script + " {host}", "--hosts"]
        bench.run(*up, "near1,near2,silent").expect_refusal(
            1, "no answer from silent (1 of 3) in 6 s", "near1, near2 wait for it",
            "silent true' works")
        bench.run(*up, "a.invalid,near1,b.invalid,bare").expect_refusal(
            1, "no agent on a.invalid, b.invalid (2 of 4)", "check the names",
            "no agent on bare (1 of 4)", "install Canopy at the same path",
            "near1 waits for them")
        try:
            result = bench.run(*up, "a.invalid,near1,silent,near2", "--allow-missing")
            result.expect(out=["2 nodes"], err=[
                "continuing without 2 of 4 nodes", "no agent on a.invalid",
                "no answer from silent"])
            bench.run("run", "--context", "other", "-n", 2, "--map-by", "node",
                      "sh", "-c", "echo $PMIX_RANK").expect(out=["0", "1"])
        finally:
            bench.run("down", "--context", "other").expect()
        # The agent of this machine is started without the command.
        bench.run(*up, "localhost,near1").expect(out=["2 nodes"])
        bench.run("down", "--context", "other").expect()
        bench.run(*up, "a.invalid,b.invalid", "--allow-missing").expect_refusal(
            1, "no agent on a.invalid, b.invalid (2 of 2)")


def contexts(bench):
    bench.run(*UP, "bad", "--emulate", 2).expect_refusal(
        1, "'bad' is up already", "canopy down --context bad", "--context")
    bench.run(*UP, "no/name", "--emulate", 2).expect_refusal(2, "no/name")
    for command in ("run", "status", "ps", "why", "down"):
        more = ["true"] if command == "run" else []
        bench.run(command, "--context", "none", *more).expect_refusal(
            1, "no context 'none'", "bad")


def ambiguous(bench):
    """If there are two overlays, commands choose none of them. Commands that
    list jobs list the jobs of both."""
    bench.run(*UP, "another", "--emulate", 1).expect()
    try:
        bench.run("ps").expect(out=["CONTEXT", " bad "])
        bench.run("why").expect()
        for command in ("run", "status", "down"):
            more = ["true"] if command == "run" else []
            bench.run(command, *more).expect_refusal(2, "another", "bad",
                                                     "--context")
        bench.run("run", "-n", 1, "echo", "here",
                  env={"CANOPY_CONTEXT": "another"}).expect_lines(["here"])
    finally:
        bench.run("down", "--context", "another").expect()


def no_context(bench):
    bench.run("run", "--host", "nosuch.invalid", "-n", 1, "true"
              ).expect_refusal(1, "nosuch.invalid", "check the name")
    bench.run("ps").expect_lines(["no jobs"])
    for command in ("status", "why", "down"):
        bench.run(command).expect_refusal(1, "canopy up")


def keys(bench):
    with tempfile.TemporaryDirectory() as base:
        path = os.path.join(base, "key")
        with open(path, "w", encoding="utf-8") as file:
            file.write("not hexadecimal\n")
        os.chmod(path, 0o600)
        bench.run(*UP, "other", "--emulate", 2, "--key-file", path
                  ).expect_refusal(2, path, "64 hexadecimal digits")
        bench.run(*UP, "other", "--emulate", 2, "--key-file", path + "x"
                  ).expect_refusal(1, path + "x")


def removed_directory(bench):
    """If the working directory was removed, a job fails and does not run elsewhere."""
    base = tempfile.mkdtemp()
    canopy = shlex.quote(bench.canopy)

    def inside(*words):
        os.makedirs(base, exist_ok=True)
        line = " ".join(shlex.quote(str(word)) for word in words)
        return bench.run("-c", f"rmdir {base}; exec {canopy} {line}",
                         program="/bin/sh", cwd=base)
    for run in (HERE, RUN):
        inside(*run, "-n", 1, "pwd").expect_refusal(
            1, "working directory", "--wdir")
        inside(*run, "-n", 1, "--wdir", "sub", "pwd").expect_refusal(
            1, "working directory")
        inside(*run, "-n", 1, "--wdir", "/", "pwd", ":", "-n", 1, "pwd"
               ).expect_refusal(1, "working directory")
        inside(*run, "-n", 1, "--wdir", "/", "pwd").expect_lines(["/"])
    inside("doctor", "--context", "bad", "/bin/true").expect_refusal(
        1, "working directory")
    inside("ps", "--context", "bad").expect(out=["JOB"])


def incomplete(bench):
    """An installation that lacks a program reports the name of the program."""
    with tempfile.TemporaryDirectory() as base:
        copy = os.path.join(base, "bin", "canopy")
        os.mkdir(os.path.dirname(copy))
        shutil.copy(bench.canopy, copy)
        bench.run(*RUN, "-n", 1, "true", program=copy).expect_refusal(
            1, "canopyd")
        bench.run("status", program=copy).expect_refusal(127, "canopy-full")
        # Jobs on this machine do not need the missing program.
        bench.run("run", "--context", "bad", "-n", 1, "echo", "run",
                  program=copy).expect(out=["run\n"])


def counts(bench):
    """Options of srun have the effect that they have there. A count that is given
    twice is refused."""
    names = ["run", "sh", "-c", "echo $PMIX_HOSTNAME"]
    def nodes_of(*options):
        return bench.run(*names[:1], "--context", "bad", "--oversubscribe", *options,
                         *names[1:]).expect().out.split()
    assert len(set(nodes_of("--nodes", 1, "--ntasks", 6))) == 1
    assert len(set(nodes_of("--nodes", 2, "--ntasks-per-node=1"))) == 2
    assert nodes_of("-w", "node[2]", "--ntasks", 1) == ["node2"]
    assert sorted(nodes_of("--host", "node[1-2]:1")) == ["node1", "node2"]
    bench.run("run", "--context", "bad", "--nodes", 3, "true").expect_refusal(
        1, "3 nodes were requested, and there are 2")
    bench.run("run", "--context", "bad", "--host", "node[2-1]", "true"
              ).expect_refusal(2, "n[001-128,200]")
    bench.run("run", "--context", "bad", "-n", 2, "-np", 2, "true").expect_refusal(
        2, "given twice")
    bench.run("run", "--context", "bad", "--time", "0:01", "-n", 1, "sleep", 100
              ).expect(110)
    bench.run("run", "--emulate", 2, "--context", "bad", "true").expect_refusal(
        2, "cannot be combined")


def busy(bench):
    """Agents with jobs end only by force, and the jobs are named."""
    job = bench.json("ps", "--context", "bad")["jobs"][0]["job"]
    bench.run("down", "--context", "bad").expect_refusal(1, "not over: ", job)


def lost_output(bench):
    """A job is not started if its output would have no place."""
    file = os.path.join(bench.work, "no-directory")
    with open(file, "w", encoding="utf-8"):
        pass
    witness = os.path.join(bench.work, "witness")
    for suffix in ("", ":nocopy"):
        bench.run("run", "--context", "bad", "--output-filename",
                  file + "/below" + suffix, "-n", 1, "touch", witness
                  ).expect_refusal(1, "cannot write output", file + "/below")
    assert not os.path.exists(witness)


def doctor(bench):
    """`canopy doctor` fails if a run would fail."""
    bench.run("doctor").expect(out=["ready to run jobs"])
    long = os.path.join(bench.work, "x" * 60)
    os.mkdir(long, 0o700)
    env = {"XDG_RUNTIME_DIR": long}
    bench.run("run", "-n", 1, "true", env=env).expect(code=1, err=["too long"])
    bench.run("doctor", env=env).expect(code=1, out=["too long", "jobs will not run"])


def words(bench):
    """Options that all commands have may stand before the command."""
    bench.run("--context", "bad", "-o", "json", "status").expect(out=['"state"'])
    bench.run("--context=bad", "run", "-n", 1, "echo", "here").expect(out=["here"])
    for help_of in (["help", "ps"], ["ps", "--help"]):
        bench.run(*help_of).expect(out=["usage: canopy ps"])
    bench.run("help", "nothing").expect_refusal(2, "no command 'nothing'")
    bench.run("--verbose", "ps").expect_refusal(2, "unknown option '--verbose'")


CASES = {"programs": programs, "options": options, "hostfiles": hostfiles,
         "hosts": hosts, "missing hosts": missing_hosts,
         "contexts": contexts, "two contexts": ambiguous,
         "keys": keys, "directory": removed_directory,
         "installation": incomplete, "counts": counts, "words": words,
         "busy": busy,
         "lost output": lost_output, "doctor": doctor}
BESIDE = "bad: jobs beside it went on"


def run(bench):
    bench.case("bad: no context", lambda: no_context(bench))
    bench.case("bad: missing hosts of a run", lambda: missing_hosts_of_run(bench))
    if not bench.wanted(BESIDE, *(f"bad: {name}" for name in CASES)):
        return
    with bench.overlay("bad", "--emulate", "2") as up:
        if not up:
            return
        # All these errors must not affect these two jobs.
        before = bench.snapshot()
        beside = [Beside(bench, where) for where in (RUN, HERE)]
        for name, body in CASES.items():
            bench.case(f"bad: {name}", lambda: body(bench))
        bench.case(BESIDE, lambda: [job.finish() for job in beside],
                   since=before, always=True)
