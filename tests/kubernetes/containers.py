"""Emulated containers of pods on this machine, and the network that joins them."""
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time

import cgroups

HERE = os.path.dirname(os.path.abspath(__file__))
# Capabilities that container runtimes leave: chown, dac_override, fowner, fsetid, kill,
# setgid, setuid, setpcap, net_bind_service, net_raw, sys_chroot, mknod, audit_write,
# setfcap. Without others, a container cannot mount, trace, or leave its cgroup.
CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def ip(*lines):
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True,
                   check=True, stdout=subprocess.DEVNULL)


class Network:
    """A bridge of this network namespace, to which each pod is connected. All
    nodes are one network."""

    BRIDGE, PREFIX = "pods", "10.244"
    GATEWAY = f"{PREFIX}.0.1"

    def __init__(self):
        self.links = 0
        self.lock = threading.Lock()
        ip(f"link add {self.BRIDGE} type bridge",
           f"addr add {self.GATEWAY}/16 dev {self.BRIDGE}",
           f"link set {self.BRIDGE} up")

    def host(self, node):
        """Returns the address of the node with this number, on which the processes
        of this network namespace can listen."""
        address = f"{self.PREFIX}.0.{node + 10}"
        ip(f"addr add {address}/16 dev {self.BRIDGE}")
        return address

    def address(self, node):
        """Returns a new address for a pod of the node with this number."""
        with self.lock:
            self.links += 1
            return f"{self.PREFIX}.{node + 1}.{self.links % 250 + 2}"

    def connect(self, link, pid):
        """Gives the network namespace of a process the interface eth0."""
        ip(f"link add {link} type veth peer name eth0 netns {pid}",
           f"link set {link} master {self.BRIDGE} up")

    def disconnect(self, link):
        """The link may be gone already, because its namespace is."""
        subprocess.run(["ip", "link", "del", link], check=False,
                       stderr=subprocess.DEVNULL)

    def close(self):
        ip(f"link del {self.BRIDGE}")


class Container:
    """One container. DIRECTORY is empty and its own. ALLOCATION is what a kubelet
    has allocated, or None. VOLUMES are mounts as in an Allocation."""

    def __init__(self, network, directory, pod_uid, hostname, address, command,
                 allocation=None, environment=None, volumes=(), memory=None,
                 user=None, working_directory=None, privileged=False,
                 read_only=False, capabilities=CAPABILITIES, cgroup_namespace=False,
                 layout="cgroupfs"):
        self.id = secrets.token_hex(32)
        self.network, self.address = network, address
        self.log_path = os.path.join(directory, "log")
        self.code = None
        self.ended = threading.Event()
        self.link = "pod" + self.id[:8]
        self.root = os.path.join(directory, "root")
        os.mkdir(self.root)
        self.cgroup = cgroups.Cgroup(pod_uid, self.id, memory, layout)
        mounts = list(volumes) + (allocation.mounts if allocation else [])
        self.spec = {
            "command": [str(word) for word in command],
            "environment": {"PATH": PATH, "HOSTNAME": hostname,
                            "HOME": "/root" if user is None else "/",
                            **(environment or {}),
                            **(allocation.environment if allocation else {})},
            "root": self.root, "hostname": hostname,
            "cgroups": list(self.cgroup.paths.values()), "mounts": mounts,
            "address": f"{address}/16", "gateway": network.GATEWAY,
            "log": self.log_path, "user": user, "directory": working_directory,
            "capabilities": list(range(64) if privileged else capabilities),
            "privileged": privileged, "read_only": read_only,
            "cgroup_namespace": cgroup_namespace}
        try:
            self._start()
        except BaseException:
            self.cgroup.remove()
            raise

    def _start(self):
        self.runtime = subprocess.Popen(
            [sys.executable, "-S", "-E", os.path.join(HERE, "runtime.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True)
        self._tell(json.dumps(self.spec))
        line = self.runtime.stdout.readline()
        if not line:
            raise RuntimeError("no container can be made")
        self.pid = int(line)  # of the first process, in this pid namespace
        self.network.connect(self.link, self.runtime.pid)
        self._tell("go")
        self.runtime.stdout.readline()
        threading.Thread(target=self._reap, daemon=True).start()

    def _tell(self, line):
        self.runtime.stdin.write(line + "\n")
        self.runtime.stdin.flush()

    def _reap(self):
        code = self.runtime.wait()
        self.runtime.stdin.close()
        self.runtime.stdout.close()
        self.oom_killed = self.cgroup.oom_kills() > 0
        self.network.disconnect(self.link)
        self.cgroup.remove()
        with contextlib.suppress(OSError):
            os.rmdir(self.root)
        self.code = code
        self.ended.set()

    def log(self):
        """Returns standard output and standard error as one text."""
        with contextlib.suppress(FileNotFoundError), \
                open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()
        return ""

    def wait(self, seconds=60):
        """Returns the exit code, or None if the container still runs."""
        self.ended.wait(seconds)
        return self.code

    def kill(self, number=signal.SIGKILL):
        """Sends a signal to the first process."""
        with contextlib.suppress(ProcessLookupError):
            if not self.ended.is_set():
                os.kill(self.pid, number)

    def stop(self, grace=30):
        """Ends the container as a kubelet does: SIGTERM, later SIGKILL."""
        self.kill(signal.SIGTERM)
        if not self.ended.wait(grace):
            self.kill()
            if not self.ended.wait(20):
                raise RuntimeError(f"the container {self.id} does not end")

    def processes(self):
        """Returns the ids of all its processes, in this pid namespace."""
        path = next(iter(self.cgroup.paths.values()))
        with open(os.path.join(path, "cgroup.procs"), encoding="ascii") as file:
            return [int(line) for line in file]

    def enter(self, *command, seconds=30):
        """Runs a command in the container's namespaces, but not in its cgroup, so
        it is no process of the pod. Returns its CompletedProcess."""
        return subprocess.run(
            ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--net",
             "--uts", "--ipc", *command], check=False, text=True,
            capture_output=True, timeout=seconds)

    def until(self, text, seconds=30):
        """Waits until the log contains a text; returns whether it does."""
        deadline = time.monotonic() + seconds
        while text not in self.log():
            if self.ended.is_set() or time.monotonic() > deadline:
                return text in self.log()
            time.sleep(0.02)
        return True
