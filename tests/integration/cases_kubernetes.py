"""Ranks in pods: a real agent on each node of the small Kubernetes of
tests/kubernetes."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid

from cases_cluster import PORT, Cluster
from harness import PROGRAMS, PYTHON, ROOT, Failure, check, until

NODES = 4
DEADLINE = 10  # seconds, in which all pods of a job must come
NOBODY = 65534
# What containers get as /opt/canopy.
FILES = {"bin": ("bin/canopy-exec",),
         "lib": ("lib/canopy/canopy-entry.so", "lib/canopy/libpmix.so.2",
                 "lib/canopy/libpmi.so.0", "lib/canopy/libpmi2.so.0")}
EXEC = "/opt/canopy/bin/canopy-exec"
EXIT_NEVER = 64  # of a pod whose job can never work
PLACE = re.compile(r"^rank (\d+) of (\d+), local (\d+) of (\d+), on (\S+), in (\S+)$",
                   re.M)


class Agents(Cluster):
    """The agents of the nodes of a small Kubernetes."""

    PROC = "/proc"

    def __init__(self, bench, kubernetes):
        self.kubernetes = kubernetes
        super().__init__(bench, [f"{node.name}={node.address}:{PORT}"
                                 for node in kubernetes.nodes], radix=2)
        self.files = os.path.join(self.home, "files")
        for folder, names in FILES.items():
            os.makedirs(os.path.join(self.files, folder))
            for name in names:
                shutil.copy(os.path.join(bench.prefix, name),
                            os.path.join(self.files, folder))

    def settings(self, node):
        """Returns the path of the file of one node's agent."""
        path = os.path.join(self.home, f"{node.name}.toml")
        keys = {"host-proc": self.PROC, "device-plugins": node.device_plugins,
                "resource": "canopy.dev/rank", "host-run": node.run,
                "host-files": self.files, "start-deadline": f"{DEADLINE}s"}
        with open(self.file, encoding="utf-8") as common, \
                open(path, "w", encoding="utf-8") as file:
            file.write(common.read() + "\n[kubernetes]\npods = true\n")
            file.writelines(f"{key} = {value!r}\n" for key, value in keys.items())
        return path

    def begin(self, node, *options, through=()):
        one = self.kubernetes.node(node)
        with open(os.path.join(self.home, f"{node}.log"), "ab") as log:
            self.agents[node] = subprocess.Popen(
                [*through, os.path.join(self.bench.prefix, "bin", "canopyd"),
                 "--cluster", self.settings(one), "--node", node, *options],
                env={**self.bench.env, **self.kubernetes.api.environment()},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)


class AgentsInPods(Agents):
    """Agents as the DaemonSet has them: root without capabilities, in namespaces of
    their own, with the node's procfs at another place. Paths of the node are the same
    in the agent's pod."""

    PROC = "/host/proc"
    ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"

    def __init__(self, bench, kubernetes, container):
        self.container = container  # the class
        super().__init__(bench, kubernetes)
        self.keys["directory"] = "/run/agent"
        self.addresses = {node.name: kubernetes.network.address(node.index)
                          for node in kubernetes.nodes}
        self.write([f"{name}={address}:{PORT}"
                    for name, address in self.addresses.items()])

    def begin(self, node, *options, through=()):
        one, api = self.kubernetes.node(node), self.kubernetes.api
        environment = api.environment()
        del environment["CANOPY_SERVICE_ACCOUNT"]
        prefix = os.path.realpath(self.bench.prefix)
        self.agents[node] = self.container(
            self.kubernetes.network, tempfile.mkdtemp(dir=self.home),
            str(uuid.uuid4()), f"canopyd-{node}", self.addresses[node],
            [*through, os.path.join(prefix, "bin", "canopyd"), "--cluster",
             self.settings(one), "--node", node, *options],
            environment=environment, read_only=True, capabilities=(),
            cgroup_namespace=True, volumes=(
                ("/proc", self.PROC, True), (api.account, self.ACCOUNT, True),
                (self.bench.share.directory, self.bench.share.directory, True),
                (prefix, prefix, True), (one.run, one.run, False),
                (one.device_plugins, one.device_plugins, False)))

    def logs(self):
        return "".join(line + "\n" for agent in self.agents.values()
                       for line in agent.log().splitlines()[-5:])

    def end(self):
        for agent in self.agents.values():
            agent.stop(20)


class Pods:
    """Jobs of pods that see the programs of the tests."""

    def __init__(self, bench, kubernetes, agents):
        self.bench, self.kubernetes, self.agents = bench, kubernetes, agents
        self.volumes = tuple((path, path, True)
                             for path in (bench.share.directory, ROOT))

    def job(self, name, *command, completions=NODES, **more):
        return self.kubernetes.apply_job(name, command, completions=completions,
                                         volumes=self.volumes, **more)

    def pod(self, name, *command, **more):
        return self.kubernetes.run_pod(name, command, volumes=self.volumes, **more)

    def said(self, job):
        """Returns a text for a failure."""
        return f"\n{job.logs()}\n{self.agents.logs()}"

    def ends(self, job, codes, seconds=90):
        """Waits for the end of a job, and removes it."""
        found = job.wait(seconds)
        check(found == codes, f"{found}, not {codes}" + self.said(job))
        job.delete()
        return job

    def runs(self, name, *command, completions=NODES, **more):
        """Runs a job to its successful end, and returns its output."""
        job = self.job(name, *command, completions=completions, **more)
        return self.ends(job, [0] * completions).logs()


def places(text):
    """Returns what the ranks of pod.c have printed, by rank."""
    found = [match.groups() for match in PLACE.finditer(
        re.sub(r"^[\w.-]+: (\[\d+\] )?|^\[\d+\] ", "", text, flags=re.M))]
    return {int(one[0]): one[1:] for one in found}


def indexed(pods):
    """Two ranks in each of four pods."""
    size = 2 * NODES
    job = pods.job("pi", pods.bench.pmix("pod"), size, ranks=2)
    found = places(pods.ends(job, [0] * NODES).logs())
    names = {place[-1] for place in found.values()}
    check(len(names) == 1, f"{names}")
    for rank in range(size):
        node = job.pods[rank // 2].node.name
        check(found.get(rank, ())[:-1] == (str(size), str(rank % 2), "2", node),
              f"rank {rank}: {found}")
    for index, pod in enumerate(job.pods):
        mine = places(pod.log())
        check(sorted(mine) == [2 * index, 2 * index + 1], f"{index}: {mine}")


def mpi(pods):
    """Programs that know nothing of Canopy, by a user without rights."""
    program = pods.bench.mpi("hello")
    text = pods.runs("hello", program, 8, ranks=2, more={"user": NOBODY})
    check("hello ok size 8" in text, text)
    script = os.path.join(PROGRAMS, "hello_mpi4py.py")
    text = pods.runs("python", PYTHON, script, 4, more={"user": NOBODY})
    check("mpi4py ok size 4" in text, text)
    # MPICH 4.0 over UCX on TCP blocks in MPI_Finalize: a rank waits for the
    # progress of others, which already wait in the barrier of PMI.
    text = pods.runs("mpich", pods.bench.mpi("hello", "mpich"), 4, completions=1,
                     ranks=4)
    check("hello ok size 4" in text, text)


def missing(pods):
    """The pods that have come end at the deadline, and name those that have not."""
    begin = time.monotonic()
    jobs = {reason: pods.job(reason.lower(), pods.bench.pmix("pod"), NODES,
                             hold={2: reason})
            for reason in ("Unschedulable", "ImagePullBackOff")}
    for reason, job in jobs.items():
        code = job.pods[0].wait(60)
        check(code not in (None, 0), f"{code}" + pods.said(job))
        check(time.monotonic() - begin > DEADLINE - 1, "it ended too early")
        text = job.pods[0].log()
        for word in ("1 of 4 pods", reason):
            check(word in text, f"{word!r} is not in {text}" + pods.said(job))
        check(not places(job.logs()), "a rank has started")
        check(job.pods[2].wait(30) is None, "the held pod has run")
        job.wait(60)
        job.delete()


def failed(pods):
    """The pod of a rank that fails has its code, and no other pod remains."""
    job = pods.job("fails", pods.bench.pmix("pod"), 8, 5, 7, ranks=2)
    codes = job.wait(60)
    check(codes[2] in (7, 9) and None not in codes and 0 not in codes,
          f"{codes}" + pods.said(job))
    check(len(places(job.logs())) == 8, job.logs())
    job.delete()


def out_of_memory(pods):
    hungry = ("import time, os; from mpi4py import MPI; MPI.COMM_WORLD.barrier(); "
              "bytearray(1 << 30 if MPI.COMM_WORLD.rank == 1 else 1); "
              "MPI.COMM_WORLD.barrier()")
    job = pods.job("hungry", PYTHON, "-c", hungry, completions=2, memory=300 << 20)
    codes = job.wait(60)
    if job.pods[1].container.cgroup.limited:
        check(codes[1] == 137 and codes[0] not in (0, None),
              f"{codes}" + pods.said(job))
    job.delete()


def listening(pods, node):
    """Returns the sockets that the pods of a node can reach."""
    found = []
    for base, _, names in os.walk(os.path.join(node.run, "pods")):
        paths = [os.path.join(base, name) for name in names]
        found += [path for path in paths if os.path.exists(path) and
                  (os.stat(path).st_mode & 0o170000) == 0o140000]
    check(found, f"no socket in {node.run}" + pods.agents.logs())
    return found


def strangers(pods):
    """A process gets nothing by the mounts of a pod; its pod counts."""
    job = pods.job("alone", "sh", "-c", "echo up; exec sleep 1000", completions=1)
    first = job.pods[0]
    check(first.started.wait(30) and first.container.until("up"),
          "no rank" + pods.said(job))
    for path in listening(pods, first.node):
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(20)
            one.connect(path)
            begin = time.monotonic()
            with contextlib.suppress(ConnectionResetError):
                reason = b"".join(iter(lambda: one.recv(4096), b""))
                check(b"pod" in reason or not reason, f"an answer: {reason}")
            # A connection that is only silent has five seconds.
            check(time.monotonic() - begin < 4, f"{path} is open to strangers")
    done = first.container.enter(
        EXEC, "--", "sh", "-c", "echo a stranger runs", seconds=30)
    check(done.returncode != 0 and "a stranger runs" not in done.stdout,
          f"{done}" + pods.said(job))
    check(first.exit_code is None, "the pod has ended" + pods.said(job))
    job.delete()
    check(first.wait(60) is not None, "the pod does not end")


def other_namespace(pods):
    """A pod of another namespace names the job, its index and its owner."""
    job = pods.job("victim", pods.bench.pmix("pod"), 2, completions=2,
                   hold={1: "Unschedulable"})
    check(job.pods[0].started.wait(30), "it does not start")
    labels = dict(job.pods[0].object()["metadata"]["labels"])
    labels["batch.kubernetes.io/job-completion-index"] = "1"
    thief = pods.pod("victim-1-x", pods.bench.pmix("pod"), 2, namespace="other",
                     index=1, owner=job.owner, labels=labels, node="n3")
    code = thief.wait(60)
    check(code == EXIT_NEVER, f"{code} {thief.log()}" + pods.said(job))
    check(not places(thief.log() + job.logs()), "the pod has taken part")
    job.release(1)
    pods.ends(job, [0, 0])


def same_name(pods):
    """Jobs of one name in two namespaces are two jobs."""
    program = pods.bench.pmix("pod")
    jobs = [pods.job("twin", program, 2, completions=2, namespace=one)
            for one in ("red", "blue")]
    seen = set()
    for job in jobs:
        found = places(pods.ends(job, [0, 0]).logs())
        names = {one[-1] for one in found.values()}
        check(len(found) == 2 and len(names) == 1, f"{found}")
        seen |= names
    check(len(seen) == 2, f"{seen}")


def troubled_server(pods):
    """The API server is busy, away, forgets its history and renews the token."""
    api = pods.kubernetes.api
    program = pods.bench.pmix("pod")
    for trouble in (lambda: api.faults.throttle(3), api.drop_watches,
                    api.expire_history, api.rotate_token, lambda: api.refuse(1),
                    lambda: api.faults.break_answers(2)):
        trouble()
        pods.runs("tough", program, NODES)


def troubled_kubelets(pods):
    job = pods.job("stays", "sh", "-c", "echo up; exec sleep 1000", ranks=2)
    for pod in job.pods:
        check(pod.started.wait(30) and pod.container.until("up"), pods.said(job))
    for node in pods.kubernetes.nodes:
        node.kubelet.restart()
    late = pods.kubernetes.wait_for_devices(4)
    check(not late, f"{late} do not register again" + pods.agents.logs())
    pods.runs("next", pods.bench.pmix("pod"), NODES)
    check([pod.exit_code for pod in job.pods] == [None] * NODES, pods.said(job))
    job.delete()
    job.wait(60)


def nothing_is_left(pods):
    """The agents know no job any more."""
    until(lambda: not pods.bench.json("ps", "--context", "cluster").get("jobs"),
          "the end of all jobs", 10)


IN_PODS = "kubernetes: agents in pods without capabilities"
CASES = {
    "kubernetes: an Indexed Job of 4 pods with 2 ranks each": indexed,
    "kubernetes: MPI programs of a user without rights": mpi,
    "kubernetes: pods that do not come are named at the deadline": missing,
    "kubernetes: a rank's failure ends all pods": failed,
    "kubernetes: a rank without memory": out_of_memory,
    "kubernetes: processes outside of the pod are refused": strangers,
    "kubernetes: a pod of another namespace is refused": other_namespace,
    "kubernetes: two jobs of one name": same_name,
    "kubernetes: an API server in trouble": troubled_server,
    "kubernetes: kubelets start again": troubled_kubelets,
    "kubernetes: no job is left": nothing_is_left,
}


def run(bench):
    if not bench.wanted(*CASES, IN_PODS):
        return
    for name in filter(bench.wanted, (*CASES, IN_PODS)):
        bench.share.offer(name)
    with bench.taken() as mine:
        if mine:
            prepare(bench)
            on_nodes(bench)
            bench.case(IN_PODS, lambda: in_pods(bench))


def prepare(bench):
    check(os.geteuid() == 0, "this needs root")
    sys.path.insert(0, os.path.join(ROOT, "tests", "kubernetes"))
    for path in (bench.share.directory, bench.work):
        os.chmod(path, 0o711)  # users run what is there


@contextlib.contextmanager
def small_kubernetes(bench, nodes):
    import pods as bed  # needs modules of Debian's Python
    home = tempfile.mkdtemp(dir=bench.work)
    os.chmod(home, 0o755)
    with bed.Cluster(home, nodes) as kubernetes:
        yield kubernetes
    shutil.rmtree(home)


def on_nodes(bench):
    if not bench.wanted(*CASES):
        return
    with small_kubernetes(bench, NODES) as kubernetes, \
            Agents(bench, kubernetes) as agents:
        names = [node.name for node in kubernetes.nodes]
        for name in names:
            agents.begin(name)
        if not bench.case("kubernetes: agents offer ranks", always=True, leaves=True,
                          body=lambda: offered(kubernetes, agents, names)):
            return
        pods = Pods(bench, kubernetes, agents)
        for name, body in CASES.items():
            bench.case(name, lambda body=body: body(pods), leaves=True)


def offered(kubernetes, agents, names):
    agents.await_up(*names)
    late = kubernetes.wait_for_devices(4, seconds=30)
    check(not late, f"{late} offer no devices\n{agents.logs()}")


def in_pods(bench):
    """Identities of processes in other pods, by the node's procfs alone."""
    with small_kubernetes(bench, 2) as kubernetes:
        with AgentsInPods(bench, kubernetes, kubernetes.container) as agents:
            for node in kubernetes.nodes:
                agents.begin(node.name)
            late = kubernetes.wait_for_devices(4, seconds=60)
            check(not late, f"{late} offer no devices\n{agents.logs()}")
            pods = Pods(bench, kubernetes, agents)
            text = pods.runs("pi", bench.pmix("pod"), 4, completions=2, ranks=2)
            check(sorted(places(text)) == [0, 1, 2, 3], text)
            strangers(pods)
