"""Control groups of emulated pods, named as a kubelet names them, in the cgroup
hierarchies of this machine, of version 1 or 2."""
import contextlib
import errno
import os
import re
import time

# Hierarchies of version 1 in which a pod gets a group, if they exist.
CONTROLLERS = ("memory", "pids", "freezer", "name=systemd")
ROOT = "kubepods"


def hierarchies():
    """Returns the mount point of each hierarchy that pods use, by its controller;
    the controller of version 2 is the empty string. Version 2 is used only if
    there is no memory controller of version 1, as kubelets do."""
    old, new = {}, {}
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            _, point, kind, options = line.split()[:4]
            if kind == "cgroup2":
                new[""] = point
            elif kind == "cgroup":
                for one in CONTROLLERS:
                    if one in options.split(","):
                        old[one] = point
    return old if "memory" in old or not new else new


def left():
    """Returns the directories of all pods' groups on this machine."""
    found = []
    for point in hierarchies().values():
        for base, names, _ in os.walk(os.path.join(point, ROOT)):
            found += [os.path.join(base, one) for one in names]
    return found


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _make(path):
    """Makes a group, although another test may be removing an empty parent."""
    for _ in range(100):
        with contextlib.suppress(FileNotFoundError):
            os.makedirs(path, exist_ok=True)
            return
    raise FileNotFoundError(path)


def _remove(path):
    """Removes a group. Its processes may still be ending."""
    deadline = time.monotonic() + 10
    while True:
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


class Cgroup:
    """The group of one container. MEMORY is its limit in bytes, or None. LAYOUT is
    the form of the names: `cgroupfs`, or `systemd` as its driver makes them."""

    def __init__(self, pod_uid, container_id, memory=None, layout="cgroupfs"):
        if not re.fullmatch(r"[0-9a-f]{64}", container_id):
            raise ValueError(container_id)
        names = self.names(pod_uid, container_id, layout)
        self.paths = {}
        self.pods = []
        for controller, point in hierarchies().items():
            pod = os.path.join(point, *names[:-1])
            self.paths[controller] = os.path.join(pod, names[-1])
            self.pods.append(pod)
            _make(self.paths[controller])
        self.limited = memory is not None and self._limit(memory)

    @staticmethod
    def names(pod_uid, container_id, layout):
        if layout == "systemd":
            uid = pod_uid.replace("-", "_")
            return (ROOT + ".slice", f"{ROOT}-burstable.slice",
                    f"{ROOT}-burstable-pod{uid}.slice",
                    f"cri-containerd-{container_id}.scope")
        return ROOT, "burstable", f"pod{pod_uid}", container_id

    @property
    def name(self):
        """The path in /proc/PID/cgroup."""
        controller, path = next(iter(self.paths.items()))
        return path.removeprefix(hierarchies()[controller])

    def _limit(self, memory):
        """Returns whether the machine has a controller that limits memory."""
        with contextlib.suppress(OSError):
            if "memory" in self.paths:
                _write(os.path.join(self.paths["memory"], "memory.limit_in_bytes"),
                       str(memory))
                return True
            if "" in self.paths:
                self._delegate()
                _write(os.path.join(self.paths[""], "memory.max"), str(memory))
                return True
        return False

    def _delegate(self):
        """Enables the memory controller of version 2 for the container's group."""
        path = hierarchies()[""]
        for name in os.path.relpath(self.paths[""], path).split("/"):
            _write(os.path.join(path, "cgroup.subtree_control"), "+memory")
            path = os.path.join(path, name)

    def oom_kills(self):
        name, path = ("memory.oom_control", self.paths["memory"]) \
            if "memory" in self.paths else ("memory.events", self.paths.get(""))
        with contextlib.suppress(OSError, TypeError):
            with open(os.path.join(path, name), encoding="utf-8") as file:
                found = re.search(r"^oom_kill (\d+)$", file.read(), re.M)
                return int(found[1]) if found else 0
        return 0

    def remove(self):
        for path in self.paths.values():
            for base, _, _ in os.walk(path, topdown=False):
                _remove(base)
        for pod in self.pods:
            with contextlib.suppress(OSError):
                while os.path.basename(pod).startswith((ROOT, "burstable", "pod")):
                    os.rmdir(pod)  # fails if other pods are in it
                    pod = os.path.dirname(pod)
