"""Agents of root serve all users: who may do what with whose jobs."""
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import time

from cases_cluster import Cluster, here
from harness import check, until

NODES = ("n1", "n2", "n3", "n4")
ANN, BEN, OPS = "games", "news", "mail"  # users that every Debian has
REFUSED = "is no operator"
NAMES = ("users: jobs run as their users",
         "users: jobs of other users are neither seen nor ended",
         "users: only operators change the overlay",
         "users: processes of two users do not reach each other",
         "users: tools see what their user may see",
         "users: jobs outlive the agents of all nodes",
         "users: no user shuts out another",
         "users: settings that make no sense are refused")


class Users:
    """Runs commands as users other than root, through the agent of a node."""

    def __init__(self, bench, cluster):
        self.bench = bench
        self.cluster = cluster
        self.homes = []

    def env(self, user):
        home = os.path.join(self.cluster.home, "home", user)
        if home not in self.homes:
            os.makedirs(home)
            os.chmod(os.path.dirname(home), 0o755)
            os.chmod(home, 0o755)
            shutil.chown(home, user)
            self.homes.append(home)
        return {"HOME": home, "XDG_RUNTIME_DIR": home, "XDG_STATE_HOME": home,
                "TMPDIR": "/tmp", "CANOPY_CLUSTER_FILE": self.cluster.file}

    def words(self, user, words):
        """Returns the arguments of setpriv."""
        return (f"--reuid={user}", f"--regid={user}", "--init-groups",
                self.bench.canopy, *words)

    def run(self, user, *words, **more):
        return self.bench.run(*self.words(user, words), program="setpriv",
                              env=self.env(user), cwd="/", **more)

    def start(self, user, *words, **more):
        return self.bench.start(*self.words(user, words), program="setpriv",
                                env=self.env(user), cwd="/", **more)

    def jobs(self, user):
        """Returns the names of the jobs that the user sees."""
        found = json.loads(self.run(user, "ps", "-o", "json").expect().out)
        return sorted(job["job"] for job in found["jobs"])

    def sleeper(self, user, *more):
        """Starts a job that sleeps on all nodes. Returns it and its name."""
        before = set(self.jobs(user))
        job = self.start(user, "run", "-n", len(NODES), "--map-by", "node",
                         "--oversubscribe", *more, "sh", "-c",
                         "echo is up; exec sleep 1000")
        job.wait_for("is up", len(NODES))
        name, = set(self.jobs(user)) - before
        return job, name


def run_as_user(bench, users):
    """Each rank has its user's number and groups."""
    for user in (ANN, BEN):
        entry = pwd.getpwnam(user)
        result = users.run(user, "run", "-n", 8, "--map-by", "node",
                           "--oversubscribe", "sh", "-c",
                           "echo $(id -u) $(id -G) $PMIX_HOSTNAME").expect()
        groups = " ".join(str(g) for g in os.getgrouplist(user, entry.pw_gid))
        for node in NODES:
            line = f"{entry.pw_uid} {groups} {node}"
            check(result.out.count(line) == 2, f"no {line!r} in {result.out}")
    for family in ("openmpi", "mpich"):
        program = bench.mpi("hello", family)
        for user in (ANN, BEN):
            users.run(user, "run", "-n", 4, "--map-by", "node", "--oversubscribe",
                      program, 4).expect(out=["hello ok size 4"])
    # Root's own jobs are as before.
    bench.run("run", "-n", 1, "id", "-u").expect_lines(["0"])


# Commands, and the users who may execute them while a job JOB of ANN runs.
MAY = (
    (("signal", "JOB", "CONT"), (ANN, OPS, "root")),
    (("why", "JOB"), (ANN, OPS, "root")),
    (("ps", "--usage"), (ANN, BEN, OPS, "root")),
    (("status",), (ANN, BEN, OPS, "root")),
    (("node", "list"), (ANN, BEN, OPS, "root")),
    (("stack", "JOB"), (ANN, "root")),
    (("query", "--job", "JOB", "pmix.job.size"), (ANN, "root")),
    (("lookup", "hue"), (ANN,)),
    (("node", "drain", "n4", "--reason", "test"), (OPS, "root")),
    (("node", "resume", "n4"), (OPS, "root")),
    (("down",), ()),  # refused to operators and root too, because a job runs
)


def not_seen(_bench, users):
    """Each command on a job works for those who may execute it. For all others it
    fails as if there were no such job."""
    job, name = users.sleeper(ANN)
    users.run(ANN, "publish", "hue=red").expect()
    wrong = []
    for words, allowed in MAY:
        for user in (ANN, BEN, OPS, "root"):
            command = [name if word == "JOB" else word for word in words]
            result = users.run(user, *command, timeout=60)
            if (result.code == 0) != (user in allowed):
                wrong.append(f"{user}: {' '.join(command)}: {result.code} "
                             f"{result.out}{result.err}")
    check(not wrong, "\n".join(wrong))
    other, mine = users.sleeper(BEN)
    check(users.jobs(BEN) == [mine] and users.jobs(ANN) == [name], "mixed up")
    check(sorted(users.jobs(OPS)) == sorted((mine, name)), "an operator sees all")
    for words in (("kill", name), ("output", name), ("wait", name),
                  ("attach", name)):
        result = users.run(BEN, *words, timeout=30)
        check(result.code != 0, f"{words}: {result.out}")
    used = users.bench.run("ps", "--usage").expect().out
    for user in (ANN, BEN):
        check(re.search(rf"^{user} +1 +\d+ +{len(NODES)} ", used, re.M), used)
    users.run(OPS, "kill", name).expect()
    job.finish().expect(code=128 + signal.SIGTERM)
    users.run(BEN, "kill", mine).expect()
    other.finish().expect(code=128 + signal.SIGTERM)


def operators(_bench, users):
    """The overlay is changed by root and by members of the group of operators."""
    for words in (("node", "drain", "n4"), ("node", "resume", "n4"),
                  ("node", "remove", "n4"), ("down",), ("down", "--force")):
        users.run(ANN, *words).expect(code=1, err=[REFUSED])
    users.run(ANN, "status").expect(out=["4 nodes up"])
    users.run(OPS, "node", "drain", "n4").expect(out=["drained n4"])
    users.run(ANN, "node", "list").expect(out=["drained"])
    users.run(OPS, "node", "resume", "n4").expect(out=["resumed n4"])


def apart(bench, users):
    """A process reaches no job of another user, and neither the agent's memory nor
    its key."""
    users.run(ANN, "publish", "color=blue").expect()
    job, name = users.sleeper(ANN)
    tried = users.run(BEN, "run", "-n", 1, bench.pmix("reach"), name, timeout=60)
    for what in ("get", "control", "abort", "lookup"):
        status = re.search(rf"^{what}: (.*)$", tried.out, re.M)
        check(status and "SUCCESS" not in status[1], tried.out + tried.err)
    check(name in users.jobs(ANN), "the job was ended")
    users.run(ANN, "lookup", "color").expect(out=["blue"])
    agent = users.cluster.agents["n1"].pid
    for path in (f"/proc/{agent}/environ", users.cluster.key,
                 os.path.join(users.cluster.directory("n1"), "agent.state")):
        users.run(BEN, "run", "-n", 1, "--hosts", "n1", "cat", path).expect(
            code=1, err=["Permission denied"])
    users.run(BEN, "run", "-n", 1, "--hosts", "n1", "ls",
              users.cluster.directory("n1")).expect(code=2,
                                                    err=["Permission denied"])
    users.run(ANN, "kill", name).expect()
    job.finish()


def tools(_bench, users):
    """A tool publishes for its own user, and sees that user's jobs alone."""
    job, name = users.sleeper(ANN)
    seen = users.run(BEN, "query", "PMIX_QUERY_NAMESPACES").out
    check(name not in seen, seen)
    seen = users.run(ANN, "query", "PMIX_QUERY_NAMESPACES").expect().out
    check(name in seen, seen)
    users.run(ANN, "kill", name).expect()
    job.finish()


def outlive(bench, users):
    """All agents are killed and started again while a job of a user runs."""
    go = os.path.join(users.cluster.home, "home", "go")
    job = users.start(ANN, "run", "-n", 4, "--map-by", "node", "--oversubscribe",
                      bench.mpi("until"), 4, go)
    job.wait_for("is ready")
    for node in NODES:
        users.cluster.kill(node)
    for node in reversed(NODES):
        users.cluster.begin(node)
    users.cluster.await_up(*NODES)
    until(lambda: len(users.jobs(ANN)) == 1, "the job at the new agents")
    check(users.jobs(BEN) == [], "a job of another user is listed")
    with open(go, "w", encoding="utf-8"):
        pass
    job.finish(60).expect(out=["until ok"])


def crowded(_bench, users):
    """A user who holds many connections and calls harms only himself."""
    socket = os.path.join(users.cluster.directory("n1"), "users.sock")
    hold = subprocess.Popen(
        ["setpriv", f"--reuid={BEN}", f"--regid={BEN}", "--clear-groups",
         "python3", "-c",
         "import socket, sys, time\n"
         "all = []\n"
         "for _ in range(2000):\n"
         "    s = socket.socket(socket.AF_UNIX)\n"
         "    try: s.connect(sys.argv[1])\n"
         "    except OSError: break\n"
         "    all.append(s)\n"
         "print(len(all), flush=True)\n"
         "time.sleep(1000)\n", socket],
        stdout=subprocess.PIPE, text=True)
    try:
        hold.stdout.readline()
        begin = time.monotonic()
        users.run(ANN, "run", "-n", 1, "echo", "served").expect_lines(["served"])
        check(time.monotonic() - begin < 10, "served late")
    finally:
        hold.kill()
        hold.wait()
    until(lambda: users.run(BEN, "status").code == 0, "an end of the refusals")


def wrong_settings(bench, users):
    def said(**keys):
        cluster = Cluster(bench, here(1), **keys)
        result = bench.run("--check-config", cluster.file, "--node", "n1",
                           program=os.path.join(bench.prefix, "bin", "canopyd"))
        check(result.code != 0, "the file is accepted")
        return result.err
    check("'operators' needs" in said(operators="mail"), "operators")
    check("'security' is" in said(users="all", security="plaintext"), "plaintext")
    check("one of own, all" in said(users="some"), "users")
    file = users.cluster.file
    result = users.bench.run(
        *users.words(ANN, ())[:-1], os.path.join(bench.prefix, "bin", "canopyd"),
        "--cluster", file, "--node", "n1", program="setpriv", env=users.env(ANN))
    check(result.code != 0, "an agent of another user starts")


def run(bench):
    bodies = (run_as_user, not_seen, operators, apart, tools, outlive, crowded,
              wrong_settings)
    if not bench.wanted(*NAMES):
        return
    with bench.taken() as mine:
        if mine:
            with_agents(bench, bodies)


def with_agents(bench, bodies):
    check(os.geteuid() == 0, "this needs root")
    for path in (bench.work, os.path.dirname(bench.work),
                 os.path.dirname(bench.prefix)):
        os.chmod(path, 0o711)  # users run what is there
    keys = {"users": "all", "operators": OPS, "restart-grace": "60s"}
    with Cluster(bench, here(1, 2, 3, 4), radix=2, **keys) as cluster:
        for node in NODES:
            cluster.begin(node)
        cluster.await_up(*NODES)
        users = Users(bench, cluster)
        for name, body in zip(NAMES, bodies):
            bench.case(name, lambda body=body: body(bench, users), leaves=True)
