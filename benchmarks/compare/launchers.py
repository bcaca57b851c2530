"""The process managers that are compared, behind one interface."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "tests", "integration"))
import netns  # noqa: E402


class Nodes:
    """COUNT emulated nodes, each a network namespace, for everyone."""

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
    """What a process has in memory."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


class MemoryWatch:
    """Looks at a process until stop(), which gives the first and the largest
    resident size, in KB."""

    def __init__(self, pid):
        self.pid = pid
        self.first = self.most = resident_kb(pid)
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        # Until the process has ended, at the latest.
        with contextlib.suppress(OSError):
            while not self.end.wait(0.05):
                self.most = max(self.most, resident_kb(self.pid))

    def stop(self):
        self.end.set()
        self.thread.join()
        return self.first, self.most


class Canopy:
    # In the environment of our agents, to know them by.
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
        """The process id of one of our agents."""
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

    def cold_command(self, n, argv):
        # A runtime directory in which nothing is up.
        return self.pin + ["env", "XDG_RUNTIME_DIR=" + self.cold_runtime,
                           self.binary, "run", "--oversubscribe", "-n",
                           str(n)] + self.options + argv


class Orterun:
    """Open MPI's own launcher; nothing of it stays between two runs. With LIBRARY,
    the directory of a libpmix.so.2, that is its server's and the programs'."""

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
        # Where munge is installed and does not run, its library asks for it
        # again and again, for seconds.
        return self.pin + ["env", *self.variables, "orterun",
                           "--allow-run-as-root", "--oversubscribe",
                           "--bind-to", "none", "-n", str(n)
                           ] + self.place + argv

    @staticmethod
    def watch_server(process):
        """The memory of the server of a command that was started as PROCESS:
        what comes before orterun in the command becomes it."""
        return MemoryWatch(process.pid)

    cold_command = command


class Hydra:
    """MPICH's launcher; it speaks PMI-1 alone."""
    name = "hydra"

    def __init__(self, pin, nodes=None):
        self.pin = pin

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def command(self, n, argv):
        return self.pin + ["mpiexec.hydra", "-n", str(n)] + argv

    cold_command = command
