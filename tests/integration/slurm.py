"""A Slurm cluster of this machine: munged, slurmctld, and a slurmd for each
network namespace of netns.py, with all their files in one directory. Meant for
the isolated world of isolation.py: nothing of the system's own Slurm is read.
"""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time

import netns
from harness import Failure

CONTROLLER = "login"
CPUS = 2  # of each node by default, independently of this machine
# Slurm's PMIx plug-in loads this path.
PLUGINS_LIBRARY = "/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so"
READY = 60  # seconds for the daemons to connect

# The configuration disables the parts that a single machine does not need:
# cgroups, accounting, a task plug-in. Its times are short, because cases wait
# for them.
CONFIG = """
ClusterName=canopy
SlurmctldHost={controller}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
InactiveLimit=0
SlurmctldPort=26817
SlurmdPort=26818
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
TmpFS={directory}/tmp-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
"""
NODE = "NodeName={name} NodeAddr={address} CPUs={cpus} State=UNKNOWN\n"
PARTITION = "PartitionName=all Nodes={nodes} Default=YES MaxTime=INFINITE State=UP\n"


@contextlib.contextmanager
def bound(source, path):
    """Mounts SOURCE over PATH within the block. Processes that have opened the
    former file keep that file."""
    subprocess.run(["mount", "--bind", source, path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


class Cluster:
    """SPACE are the namespaces, each of which is a node with CPUS CPUs. DIRECTORY
    is removed at the end."""

    def __init__(self, space, directory, cpus=CPUS):
        self.cpus = cpus
        self.directory = directory
        self.space = space
        self.env = {"SLURM_CONF": os.path.join(directory, "slurm.conf")}
        self._daemons = []

    def start(self):
        """Returns when all nodes wait for jobs. A failure leaves nothing running."""
        try:
            self._write_config()
            self._start_munged()
            self._start([CONTROLLER], "slurmctld", "-D", "-c")
            for name in self.space.names:
                self._start([name, "ip", "netns", "exec", name], "slurmd", "-D",
                            "-N", name)
            self._wait_ready()
        except BaseException:
            self.end()
            raise

    def ask(self, *command):
        """Returns the output of a Slurm command."""
        done = subprocess.run(
            command, env={**os.environ, **self.env}, check=False, timeout=30,
            capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout

    def wait_over(self, seconds=30):
        """Waits until no job is queued, runs, or is being ended."""
        self.wait_for(lambda: not self.ask("squeue", "--noheader").strip(), seconds,
                   "jobs are still there")

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.directory)):
            if name.endswith(".log"):
                with open(os.path.join(self.directory, name), encoding="utf-8",
                          errors="replace") as file:
                    text += "".join(f"      {name}: {line}"
                                    for line in file.readlines()[-20:])
        return text

    def _write_config(self):
        own = [f"{kind}-{node}" for kind in ("spool", "tmp")
               for node in self.space.names]
        for name in ("state", *own):
            os.makedirs(os.path.join(self.directory, name), mode=0o755,
                        exist_ok=True)
        text = CONFIG.format(controller=CONTROLLER, directory=self.directory,
                             address=f"{netns.SUBNET}.254")
        for i, name in enumerate(self.space.names):
            text += NODE.format(name=name, address=self.space.address(i),
                                cpus=self.cpus)
        text += PARTITION.format(nodes=",".join(self.space.names))
        with open(self.env["SLURM_CONF"], "w", encoding="utf-8") as file:
            file.write(text)
        # Slurm searches this file beside the other file, and loads a plug-in
        # even if none is used. This plug-in has no requirements.
        with open(os.path.join(self.directory, "cgroup.conf"), "w",
                  encoding="utf-8") as file:
            file.write("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")

    def _start_munged(self):
        inside = lambda name: os.path.join(self.directory, name)  # noqa: E731
        with open(inside("munge.key"), "wb") as file:
            file.write(os.urandom(128))
        os.chmod(inside("munge.key"), 0o400)
        # --force is needed because other users may write to the parent directories.
        self._start([], "munged", "--foreground", "--force",
                    "--key-file", inside("munge.key"),
                    "--socket", inside("munge.socket"),
                    "--pid-file", inside("munged.pid"),
                    "--seed-file", inside("munged.seed"))
        self.wait_for(lambda: os.path.exists(inside("munge.socket")), 10,
                   "munged does not listen")

    def _start(self, place, *command):
        """Starts a daemon. PLACE has the host name, if it matters, and the command
        that enters its network."""
        what = command[0]
        if place:
            name, *reach = place
            command = [*reach, "unshare", "--uts", "sh", "-c",
                       'hostname "$1" && shift && exec "$@"', "sh", name,
                       *command]
        log = f"{len(self._daemons)}-{what}.log"
        with open(os.path.join(self.directory, log), "wb") as out:
            self._daemons.append(subprocess.Popen(
                command, env={**os.environ, **self.env,
                              "PATH": "/usr/bin:/usr/sbin:/bin:/sbin"},
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True))

    def _wait_ready(self):
        def idle():
            states = self.ask("sinfo", "--noheader", "--Node", "--format", "%T")
            return states.split() == ["idle"] * len(self.space.names)
        self.wait_for(idle, READY, "the nodes are not idle")

    def wait_for(self, there, seconds, problem):
        deadline = time.monotonic() + seconds
        while not there():
            gone = [d.args for d in self._daemons if d.poll() is not None]
            if gone or time.monotonic() > deadline:
                raise Failure(f"Slurm: {problem}; ended: {gone}\n" + self.logs())
            time.sleep(0.1)

    @staticmethod
    @contextlib.contextmanager
    def with_user(name, number):
        """Adds a user and a group of that name and number for processes started
        in the block."""
        lines = {"/etc/passwd": f"{name}:x:{number}:{number}::/:/bin/sh\n",
                 "/etc/group": f"{name}:x:{number}:\n"}
        with contextlib.ExitStack() as stack:
            for path, line in lines.items():
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                copy = stack.enter_context(
                    tempfile.NamedTemporaryFile("w", encoding="utf-8"))
                copy.write(text + line)
                copy.flush()
                os.chmod(copy.name, 0o644)
                stack.enter_context(bound(copy.name, path))
            yield

    @staticmethod
    @contextlib.contextmanager
    def plugin_with(library):
        """Replaces the library that Slurm's plug-in loads, and that programs
        find there, for processes started in the block."""
        with bound(library, PLUGINS_LIBRARY):
            yield

    def end(self):
        """Ends the daemons in reverse order, because a node notifies its
        controller."""
        for daemon in reversed(self._daemons):
            with contextlib.suppress(ProcessLookupError):
                daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self._daemons.clear()
        shutil.rmtree(self.directory, ignore_errors=True)
