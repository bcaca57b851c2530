"""Agents without a launcher find each other from the file of their cluster."""
import contextlib
import os
import secrets
import signal
import subprocess
import tempfile

import netns
from cases_mpi import hello
from cases_restart import Overlay, go, waiting_job
from harness import FAMILIES, Failure, check, until

NAME = "cluster"
RUN = ("run", "--context", NAME, "--map-by", "node", "--oversubscribe")
PORT = 7117
SPACES = 12
NAMES = ("cluster: agents find each other in any order",
         "cluster: an agent that comes late joins under a job",
         "cluster: all agents are killed under a job and start again",
         "cluster: each agent is stopped under a job and starts again",
         "cluster: nodes that are added to the file join",
         "cluster: nodes are drained and removed",
         "cluster: what is wrong with a file or a start is said")
NETWORK = "cluster: namespaces grow from 4 to 12 and shrink to 3"


class Cluster(Overlay):
    """The agents of one file. NODES are entries of its list; None: the list comes
    from elsewhere."""

    def __init__(self, bench, nodes, **keys):
        super().__init__(bench, NAME)
        self.home = tempfile.mkdtemp(dir=bench.work)
        os.chmod(self.home, 0o755)
        self.key = os.path.join(self.home, "key")
        with open(self.key, "w", encoding="utf-8",
                  opener=lambda path, flags: os.open(path, flags, 0o600)) as key:
            key.write(secrets.token_hex(32))
        self.keys = {"name": NAME, "key-file": self.key,
                     "directory": os.path.join(self.home, "run"), **keys}
        self.agents = {}
        self.file = os.path.join(self.home, "cluster.toml")
        self.write(nodes)

    def write(self, nodes):
        self.nodes = nodes
        texts = [f"{key} = {value!r}" for key, value in self.keys.items()]
        if nodes is not None:
            texts.append(f"nodes = {nodes}")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("\n".join(texts) + "\n")

    def directory(self, node):
        return os.path.join(self.keys["directory"], node)

    def begin(self, node, *options, through=()):
        with open(os.path.join(self.home, f"{node}.log"), "ab") as log:
            self.agents[node] = subprocess.Popen(
                [*through, os.path.join(self.bench.prefix, "bin", "canopyd"),
                 "--cluster", self.file, "--node", node, *options],
                env=self.bench.env, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True)

    def kill(self, node):
        self.agents[node].kill()
        self.agents.pop(node).wait()

    def up(self):
        """Returns the nodes that are up, as the root sees them."""
        result = self.bench.run("node", "list", "--context", NAME, "-o", "json")
        if result.code != 0:
            return []
        nodes = self.bench.json("node", "list", "--context", NAME)["nodes"]
        return sorted(one["node"] for one in nodes if one["state"] == "up")

    def await_up(self, *nodes):
        try:
            until(lambda: self.up() == sorted(nodes), f"{nodes}")
        except Failure as failure:
            raise Failure(f"{failure}, but {self.up()}\n{self.logs()}") from None

    def logs(self):
        texts = []
        for name in sorted(os.listdir(self.home)):
            if name.endswith(".log"):
                with open(os.path.join(self.home, name), encoding="utf-8") as log:
                    texts += log.readlines()[-5:]
        return "".join(texts)

    def end(self):
        # SIGTERM would leave the shims of a job that has just ended to a successor.
        for agent in self.agents.values():
            agent.send_signal(signal.SIGINT)
        for node, agent in self.agents.items():
            with contextlib.suppress(subprocess.TimeoutExpired):
                agent.wait(20)
                continue
            agent.kill()
            raise Failure(f"{node} does not end\n{self.logs()}")

    def __enter__(self):
        self.bench.env["CANOPY_CLUSTER_FILE"] = self.file
        return self

    def __exit__(self, *error):
        try:
            self.end()
        finally:
            del self.bench.env["CANOPY_CLUSTER_FILE"]


def here(*numbers):
    """Returns entries of nodes on this machine."""
    return [f"n{i}=127.0.0.1:{PORT + 10 * i}" for i in numbers]


def any_order(bench):
    with Cluster(bench, here(1, 2, 3, 4, 5, 6), radix=2) as cluster:
        for node in ("n4", "n6", "n2"):
            cluster.begin(node)
        cluster.await_up("n2", "n4", "n6")
        for node in ("n1", "n5", "n3"):
            cluster.begin(node)
        cluster.await_up(*[f"n{i}" for i in range(1, 7)])
        bench.run("status").expect(out=["context cluster: 6 nodes up"])
        for family in FAMILIES:
            hello(bench, RUN, bench.mpi("hello", family), 12)
        bench.run(*RUN, "-n", 6, "sh", "-c", "echo on $PMIX_HOSTNAME").expect(
            out=[f"on n{i}" for i in range(1, 7)])


def late(bench):
    with Cluster(bench, here(1, 2, 3), radix=2) as cluster:
        for node in ("n2", "n3"):
            cluster.begin(node)
        cluster.await_up("n2", "n3")
        with tempfile.TemporaryDirectory() as steps:
            os.chmod(steps, 0o755)
            job = waiting_job(bench, cluster, steps)
            # The job's controller is not the root any more when it ends.
            cluster.begin("n1")
            cluster.await_up("n1", "n2", "n3")
            hello(bench, RUN, bench.mpi("hello"), 6)
            go(steps, 1)
            job.finish().expect(out=["until ok"])


def under_job(bench, act):
    """Calls ACT with a cluster and its nodes while a job runs, which then ends as
    usual."""
    with Cluster(bench, here(1, 2, 3), **{"restart-grace": "60s"}) as cluster:
        nodes = ("n1", "n2", "n3")
        for node in nodes:
            cluster.begin(node)
        cluster.await_up(*nodes)
        with tempfile.TemporaryDirectory() as steps:
            os.chmod(steps, 0o755)
            job = waiting_job(bench, cluster, steps)
            act(cluster, nodes)
            go(steps, 1)
            job.finish().expect(out=["until ok"])


def killed(bench):
    def act(cluster, nodes):
        for node in nodes:
            cluster.kill(node)
        for node in reversed(nodes):
            cluster.begin(node)
        cluster.await_up(*nodes)
    under_job(bench, act)


def restarted(bench):
    """As a service manager does it when its package is upgraded."""
    def act(cluster, nodes):
        for node in nodes:
            cluster.agents[node].terminate()
            check(cluster.agents.pop(node).wait(20) == 0, cluster.logs())
            cluster.begin(node)
            cluster.await_up(*nodes)
    under_job(bench, act)


def added(bench):
    with Cluster(bench, here(1, 2)) as cluster:
        for node in ("n1", "n2"):
            cluster.begin(node)
        cluster.await_up("n1", "n2")
        bench.run("node", "add", "n3").expect_refusal(1, cluster.file)
        cluster.write(here(1, 2, 3, 4))
        # This agent waits until the others have read the file.
        cluster.begin("n4")
        cluster.agents["n1"].send_signal(signal.SIGHUP)
        cluster.await_up("n1", "n2", "n4")
        cluster.begin("n3")
        cluster.await_up("n1", "n2", "n3", "n4")
        hello(bench, RUN, bench.mpi("hello"), 8)
        cluster.write(here(2, 1, 3, 4))
        cluster.agents["n1"].send_signal(signal.SIGHUP)
        until(lambda: "node 0 is n1, not n2" in cluster.logs(), "the refusal")
        check(cluster.up() == ["n1", "n2", "n3", "n4"], f"{cluster.up()}")


def decided(bench):
    with Cluster(bench, here(1, 2, 3)) as cluster:
        for node in ("n1", "n2", "n3"):
            cluster.begin(node)
        cluster.await_up("n1", "n2", "n3")
        bench.run("node", "drain", "n2", "--reason", "disk").expect()
        cluster.agents["n2"].terminate()
        check(cluster.agents.pop("n2").wait(20) == 0, "the end of n2")
        cluster.begin("n2")
        until(lambda: "n2" in [
            one["node"] for one in bench.json("node", "list")["nodes"]
            if one["state"] == "drained"], "the drain of the new agent")
        bench.run("node", "resume", "n2").expect()
        cluster.await_up("n1", "n2", "n3")
        bench.run("node", "remove", "n1").expect(out=["removed n1"])
        check(cluster.agents.pop("n1").wait(20) == 0, "the end of n1")
        cluster.await_up("n2", "n3")
        hello(bench, RUN, bench.mpi("hello"), 4)
        cluster.begin("n1")
        check(cluster.agents.pop("n1").wait(20) == 0, "a removed node")
        bench.run("down", "--context", NAME).expect(out=["is down"])
        for node in ("n2", "n3"):
            check(cluster.agents.pop(node).wait(20) == 0, node)


def refused(bench):
    with Cluster(bench, here(1)) as cluster:
        def fails(*words, node="n1"):
            cluster.begin(node)
            check(cluster.agents.pop(node).wait(20) == 1, f"{words}")
            for word in words:
                check(word in cluster.logs(), f"{word}: {cluster.logs()}")
            return checked(node)

        def checked(node):
            return bench.run("--check-config", cluster.file, "--node", node,
                             program="canopyd")
        nobody = "has no node 'n9'"
        fails(nobody, node="n9").expect(code=1, err=[nobody])
        cluster.begin("n1")
        cluster.await_up("n1")
        agent = cluster.agents["n1"]
        fails("an agent is already running in").expect(
            out=["is valid: cluster cluster has 1 nodes, and this is n1"])
        cluster.agents["n1"] = agent
        os.chmod(cluster.key, 0o644)
        fails(cluster.key).expect(code=1, err=[cluster.key])
        os.chmod(cluster.key, 0o600)
        key = cluster.key
        cluster.keys["key-file"] = key + ".none"
        cluster.write(here(1))
        bench.run("status").expect_refusal(1, key + ".none")
        cluster.keys["key-file"] = key
        cluster.write([])
        missing = "the key 'nodes' is missing"
        fails(missing).expect(code=1, err=[missing])
        cluster.write(here(1))
        cluster.agents["n1"] = agent
        hello(bench, RUN, bench.mpi("hello"), 2)


def in_namespaces(bench, space):
    """A job over all nodes that stay continues while others come and go."""
    def entries(count):
        return [f"n{i + 1}={space.address(i)}" for i in range(count)]

    def begin(numbers):
        for i in numbers:
            cluster.begin(f"n{i}", through=netns.LAUNCH_AGENT.format(
                host=f"n{i}").split())

    def names(numbers):
        return [f"n{i}" for i in numbers]

    with Cluster(bench, entries(4), radix=2,
                 **{"restart-grace": "60s"}) as cluster:
        begin(range(4, 0, -1))
        cluster.await_up(*names(range(1, 5)))
        with tempfile.TemporaryDirectory() as steps:
            os.chmod(steps, 0o755)
            job = waiting_job(bench, cluster, steps)
            cluster.write(entries(SPACES))
            begin(range(5, SPACES + 1))
            cluster.agents["n2"].send_signal(signal.SIGHUP)
            cluster.await_up(*names(range(1, SPACES + 1)))
            for family in FAMILIES:
                hello(bench, RUN, bench.mpi("hello", family), 24)
            bench.run("node", "remove", "n[5-12]").expect()
            cluster.await_up(*names(range(1, 5)))
            for i in range(4, 0, -1):
                cluster.kill(f"n{i}")
            begin(range(1, 5))
            cluster.await_up(*names(range(1, 5)))
            go(steps, 1)
            job.finish().expect(out=["until ok"])
        bench.run("node", "remove", "n1").expect()
        cluster.await_up("n2", "n3", "n4")
        for family in FAMILIES:
            hello(bench, RUN, bench.mpi("hello", family), 6)


class Hosts:
    """A hosts file in place of /etc/hosts, in this mount namespace."""

    def __init__(self, bench, lines):
        self.path = os.path.join(bench.work, "hosts-of-cluster")
        self.write(lines)

    def write(self, lines):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(["127.0.0.1 localhost", *lines, ""]))

    def __enter__(self):
        subprocess.run(["mount", "--bind", self.path, "/etc/hosts"], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "/etc/hosts"], check=True)


def begin_in(cluster, node):
    cluster.begin(node, through=netns.LAUNCH_AGENT.format(host=node).split())


def numbers(bench):
    """Returns the names of the members, by number."""
    return [one["node"] for one in bench.json("node", "list")["nodes"]]


def from_dns(bench, space, hosts):
    def record(*nodes):
        hosts.write([f"{space.address(i - 1)} agents" for i in nodes])

    record()
    with Cluster(bench, None, **{"nodes-from": "dns:agents"}) as cluster:
        begin_in(cluster, "n3")
        # Without a server that answers, the name is unknown for the moment.
        until(lambda: any(text in cluster.logs() for text in (
            "none of the 0 addresses", "cannot look up the addresses")),
              "the wait")
        record(1, 3)
        begin_in(cluster, "n1")
        cluster.await_up("n1")
        cluster.agents["n3"].send_signal(signal.SIGHUP)
        cluster.await_up("n1", "n3")
        # The new address is in the middle of the list, and the root is drained, so
        # that another agent numbers the new one.
        bench.run("node", "drain", "n1").expect()
        record(1, 2, 3)
        begin_in(cluster, "n2")
        cluster.await_up("n2", "n3")
        bench.run("node", "resume", "n1").expect()
        cluster.await_up("n1", "n2", "n3")
        check(numbers(bench) == ["n1", "n3", "n2"], f"{numbers(bench)}")
        hello(bench, RUN, bench.mpi("hello"), 6)
        # The agent of an address that vanishes stays; one that returns gets its
        # number again, also without the first address of the list.
        record(2)
        cluster.agents["n2"].terminate()
        check(cluster.agents.pop("n2").wait(20) == 0, "the end of n2")
        record(2, 3)
        begin_in(cluster, "n2")
        record(1, 2, 3)
        cluster.await_up("n1", "n2", "n3")
        check(numbers(bench) == ["n1", "n3", "n2"], f"{numbers(bench)}")
        # A killed agent leaves its state, and needs no DNS.
        record()
        cluster.kill("n3")
        begin_in(cluster, "n3")
        record(1, 2, 3)
        cluster.await_up("n1", "n2", "n3")
        hello(bench, RUN, bench.mpi("hello"), 6)


def alone_again(bench, space, hosts):
    """Two agents that did not know each other begin two overlays, and SIGHUP
    joins them."""
    with Cluster(bench, None, **{"nodes-from": "dns:agents"}) as cluster:
        for node, address in (("n1", space.address(0)),
                              ("n2", space.address(1))):
            hosts.write([f"{address} agents"])
            begin_in(cluster, node)
            cluster.await_up(node)
        hosts.write([f"{space.address(i)} agents" for i in range(2)])
        cluster.agents["n2"].send_signal(signal.SIGHUP)
        cluster.await_up("n1", "n2")


def from_batch_job(bench, space, hosts):
    hosts.write([f"{space.address(i)} n{i + 1}" for i in range(3)])
    bench.env.update({"SLURM_JOB_ID": "17", "SLURM_JOB_NODELIST": "n[2-3],n1"})
    try:
        with Cluster(bench, None, **{"nodes-from": "batch-job"}) as cluster:
            for node in ("n1", "n3", "n2"):
                begin_in(cluster, node)
            cluster.await_up("n1", "n2", "n3")
            listed = bench.json("node", "list", "--context", NAME)["nodes"]
            check([one["node"] for one in listed] == ["n2", "n3", "n1"],
                  f"{listed}")
            hello(bench, RUN, bench.mpi("hello"), 6)
    finally:
        for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST"):
            del bench.env[name]


ELSEWHERE = {"cluster: nodes from DNS": from_dns,
             "cluster: two overlays of one DNS name": alone_again,
             "cluster: nodes of a batch job": from_batch_job}


def run(bench):
    for name, body in zip(NAMES, (any_order, late, killed, restarted,
                                  added, decided, refused)):
        bench.case(name, lambda body=body: body(bench), alone=True)
    if bench.wanted(NETWORK):
        with netns.Namespaces(SPACES) as space:
            bench.case(NETWORK, lambda: in_namespaces(bench, space), alone=True)
    if any(bench.wanted(name) for name in ELSEWHERE):
        with netns.Namespaces(3) as space, Hosts(bench, []) as hosts:
            for name, body in ELSEWHERE.items():
                bench.case(name, lambda body=body: body(bench, space, hosts),
                           alone=True)
