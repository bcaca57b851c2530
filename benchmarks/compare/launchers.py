"""The process managers that are compared, behind one interface."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "tests", "integration"))
import netns  # noqa: E402
import slurm  # noqa: E402


class Nodes:
    """COUNT emulated nodes, each a network namespace, shared by all launchers.
    """

    def __init__(self, count):
        self.count = count
        self.spaces = netns.Namespaces(count)

    def __enter__(self):
        self.spaces.__enter__()
        return self

    def __exit__(self, *args):
        return self.spaces.__exit__(*args)

    @property
    def names(self):
        return self.spaces.names

    @property
    def addresses(self):
        return [self.spaces.address(i) for i in range(self.count)]


def resident_kb(pid):
    """Returns the resident memory of a process in KB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def cpu_ms():
    """Returns the CPU time of all processes and of the children that they have
    waited for. Without foreign processes this is the time of all processes so
    far."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                ticks += sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:15]))
    return ticks * 1e3 / os.sysconf("SC_CLK_TCK")


class MemoryWatch:
    """Samples a process until stop(), which returns its first and its largest
    resident size in KB."""

    def __init__(self, pid):
        self.pid = pid
        self.first = self.most = resident_kb(pid)
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        # The loop ends at the latest when the process has ended.
        with contextlib.suppress(OSError):
            while not self.end.wait(0.05):
                self.most = max(self.most, resident_kb(self.pid))

    def stop(self):
        self.end.set()
        self.thread.join()
        return self.first, self.most


class Launcher:
    """The common base of the launchers."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def turn(self):
        """Returns a context manager that surrounds each run."""
        return contextlib.nullcontext()


class Canopy(Launcher):
    # Marks the agents of this benchmark in their environment.
    MARK = "CANOPY_COMPARE_AGENT"

    def __init__(self, prefix, pin, nodes=None, options=(), name="canopy"):
        self.name = name
        self.binary = os.path.join(prefix, "bin", "canopy")
        self.pin = pin
        self.nodes = nodes
        self.context = f"{name}{os.getpid()}{''.join(pin[-1:])}" + (
            f"n{nodes.count}" if nodes else "")
        self.place = []
        self.options = list(options)

    def __enter__(self):
        where = []
        if self.nodes:
            where = ["--hosts", ",".join(self.nodes.names),
                     "--launch-agent", "ip netns exec {host}"]
            self.place = ["--map-by", "node"]
        subprocess.run(self.pin + [self.binary, "up", "--quiet", "--context",
                                   self.context] + where, check=True,
                       env={**os.environ, self.MARK: self.context})
        self.cold_runtime = tempfile.mkdtemp(prefix="bench-cold-")
        return self

    def agent(self):
        """Returns the process id of one of this launcher's agents."""
        mark = f"{self.MARK}={self.context}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                    if comm.read().strip() != "canopyd":
                        continue
                with open(f"/proc/{pid}/environ", "rb") as environ:
                    if mark in environ.read().split(b"\0"):
                        return int(pid)
        raise RuntimeError("no agent found")

    def agent_kb(self):
        return resident_kb(self.agent())

    def watch_memory(self):
        return MemoryWatch(self.agent())

    def __exit__(self, *_):
        subprocess.run([self.binary, "down", "--quiet", "--force", "--context",
                        self.context], check=False)
        shutil.rmtree(self.cold_runtime, ignore_errors=True)

    def command(self, n, argv):
        return self.pin + [self.binary, "run", "--context", self.context,
                           "--oversubscribe", "--bind-to", "none", "-n", str(n)
                           ] + self.options + self.place + argv

    def tool_command(self, _, argv):
        # The tool finds the running agent. TMPDIR is removed, because the
        # library would also search the tree of this benchmark there.
        return self.pin + ["env", "-u", "TMPDIR"] + argv

    def cold_command(self, n, argv):
        # The runtime directory has no running agents.
        return self.pin + ["env", "XDG_RUNTIME_DIR=" + self.cold_runtime,
                           self.binary, "run", "--oversubscribe", "-n",
                           str(n)] + self.options + argv


class Orterun(Launcher):
    """Open MPI's own launcher. No process of it remains between two runs.
    LIBRARY is the directory of a libpmix.so.2 for its server and the programs.
    """

    def __init__(self, pin, nodes=None, library=None, name="orterun"):
        self.name = name
        self.variables = ["PMIX_MCA_psec=native"]
        if library:
            self.variables.append(f"LD_LIBRARY_PATH={library}")
        self.pin = pin
        self.nodes = nodes
        self.place = []
        self.work = None

    def __enter__(self):
        if not self.nodes:
            return self
        self.work = tempfile.mkdtemp(prefix="bench-orte-")
        agent = os.path.join(self.work, "reach")
        cases = "\n".join(
            f"{address}) space={name};;" for name, address
            in zip(self.nodes.names, self.nodes.addresses))
        with open(agent, "w", encoding="ascii") as script:
            script.write(f"""#!/bin/sh
host=$1; shift
case "$host" in
{cases}
esac
exec ip netns exec $space unshare -u sh -c 'hostname "$0"; eval "$*"' $space "$@"
""")
        os.chmod(agent, 0o755)
        per_node = 64
        hosts = ",".join(f"{a}:{per_node}" for a in self.nodes.addresses)
        self.place = ["--host", hosts, "--map-by", "node",
                      "--mca", "plm_rsh_agent", agent,
                      "--mca", "oob_tcp_if_include",
                      f"{netns.SUBNET}.0/24"]
        return self

    def __exit__(self, *_):
        if self.work:
            shutil.rmtree(self.work, ignore_errors=True)

    def command(self, n, argv):
        # If munge is installed but does not run, its library retries for
        # seconds.
        return self.pin + ["env", *self.variables, "orterun",
                           "--allow-run-as-root", "--oversubscribe",
                           "--bind-to", "none", "-n", str(n)
                           ] + self.place + argv

    @staticmethod
    def watch_server(process):
        """Returns the memory watch of the server of a command started as
        PROCESS. The words before orterun in the command execute it in the same
        process."""
        return MemoryWatch(process.pid)

    cold_command = command


class SlurmNode:
    """A Slurm of one node with a CPU for each rank, shared by all users of
    srun."""

    CPUS = 64

    def __init__(self, pin):
        self.pinned = bool(pin)
        self.spaces = netns.Namespaces(1)
        self.cluster = slurm.Cluster(
            self.spaces, tempfile.mkdtemp(prefix="bench-slurm-"), self.CPUS)

    def __enter__(self):
        self.spaces.__enter__()
        # Later mounts must be visible to the daemon and its steps.
        subprocess.run(["mount", "--make-rshared", "/"], check=True)
        cpus = os.sched_getaffinity(0)
        # Ranks inherit the CPUs of the daemon.
        os.sched_setaffinity(0, {0} if self.pinned else cpus)
        try:
            self.cluster.start()
        finally:
            os.sched_setaffinity(0, cpus)
        return self

    def __exit__(self, *args):
        self.cluster.end()
        return self.spaces.__exit__(*args)


class Srun(Launcher):
    """Slurm's own launcher on a SlurmNode. LIBRARY is a libpmix.so.2 for its
    plug-in and the programs."""

    def __init__(self, pin, node, library=None, name="srun"):
        self.name = name
        self.pin = pin
        self.cluster = node.cluster
        self.library = library
        self.variables = dict(node.cluster.env, PMIX_MCA_psec="native")
        if library:
            self.variables["LD_LIBRARY_PATH"] = os.path.dirname(library)

    def turn(self):
        return (self.cluster.plugin_with(self.library) if self.library
                else contextlib.nullcontext())

    def command(self, n, argv):
        variables = [f"{name}={value}" for name, value in self.variables.items()]
        return self.pin + ["env", *variables, "srun", "--quiet", "--mpi=pmix",
                           "--nodes=1", "--ntasks", str(n)] + argv

    @staticmethod
    def watch_server(process):
        """Returns the memory watch of the daemon of the step that PROCESS has
        started, which is the newest."""
        before = Srun._steps()
        while process.poll() is None:
            new = Srun._steps() - before
            if new:
                # Before their exec, ranks are processes of this name, too.
                return MemoryWatch(min(new))
            time.sleep(0.01)
        raise RuntimeError("there was no slurmstepd")

    @staticmethod
    def _steps():
        found = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), \
                    open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                if comm.read().strip() == "slurmstepd":
                    found.add(int(pid))
        return found


class Hydra(Launcher):
    """MPICH's launcher, which only speaks PMI-1."""
    name = "hydra"

    def __init__(self, pin, nodes=None):
        self.pin = pin

    def command(self, n, argv):
        return self.pin + ["mpiexec.hydra", "-n", str(n)] + argv

    cold_command = command
