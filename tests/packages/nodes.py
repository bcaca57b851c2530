"""Nodes with systemd: containers whose file systems are layers over this machine's,
with own networks, so that packages are installed and services run as on real nodes."""
import os
import re
import signal
import subprocess
import time

USERS = {"alice": 4001, "bob": 4002}
PROMPT = re.compile(r"^(?:(?P<user>\w+)@)?(?P<node>n\d|all)[#$] (?P<command>.*)$")
MARK = "--end-of-command--"
BOOT_SECONDS = 60
STOP_SECONDS = 20  # not every kernel ends a container whose init process reboots


# The /sys of a container shows the interfaces of the machine, and libraries of MPI
# look there for those that they can use.
OWN_NETWORK = """
mkdir /run/sys
mount -t sysfs sysfs /run/sys
for part in class/net devices/virtual/net; do mount --bind /run/sys/$part /sys/$part; done
"""


class NodeError(Exception):
    """A node does not boot, or a command does not end."""


def run(*command, **options):
    subprocess.run(command, check=True, **options)


def children_of(pid):
    """Returns the children of a process."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(child) for child in file.read().split()]


class Shell:
    """A shell of a user on a node, which runs one command after the other."""

    def __init__(self, leader, user):
        self.process = subprocess.Popen(
            ["nsenter", "-t", str(leader), "-a", "su", "-", user, "-c",
             "exec bash --norc 2>&1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace")
        self.send("last=0; was() { return $1; }")

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def run(self, command):
        """Returns the exit code and the output of a command, which sees the exit
        code of the previous one as `$?`."""
        self.send(f"was $last\n{{ {command}\n}} < /dev/null\n"
                  f"last=$?; echo; echo '{MARK}' $last")
        lines = []
        for line in self.process.stdout:
            if line.startswith(MARK):
                return int(line.split()[1]), "".join(lines).rstrip("\n")
            lines.append(line)
        raise NodeError(f"the shell has ended at {command!r}: {''.join(lines)}")

    def end(self):
        self.process.kill()
        self.process.wait()


class Node:
    """One node. PARENT is the directory of all nodes; HOSTS is its /etc/hosts."""

    def __init__(self, name, parent, hosts):
        self.name = name
        self.shells = {}
        self.process = None
        self.leader = None
        self.home = os.path.join(parent, name)
        self.root = os.path.join(self.home, "root")
        for part in ("upper", "work", "root"):
            os.makedirs(os.path.join(self.home, part))
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir=/,upperdir={self.home}/upper,workdir={self.home}/work",
            self.root)
        self.write("/etc/hosts", hosts)
        self.write("/etc/hostname", name + "\n")
        for path in ("/etc/machine-id", "/etc/resolv.conf"):
            subprocess.run(["rm", "-f", self.root + path], check=True)
        self.write("/etc/machine-id", os.urandom(16).hex() + "\n")
        for user, uid in USERS.items():
            run("useradd", "-R", self.root, "-m", "-s", "/bin/bash", "-u", str(uid),
                user)

    def write(self, path, text):
        with open(self.root + path, "w", encoding="utf-8") as file:
            file.write(text)

    def boot(self):
        with open(os.path.join(self.home, "console"), "ab") as console:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--boot", "--register=no",
                 "--keep-unit", "--console=pipe", f"--directory={self.root}",
                 f"--machine={self.name}", "--resolv-conf=off",
                 "--link-journal=no", "--kill-signal=SIGRTMIN+3",
                 "--private-users=no", "--capability=all",
                 f"--network-namespace-path=/run/netns/{self.name}"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        self.await_boot()
        run(*self.inside(), "sh", "-ec", OWN_NETWORK)

    def inside(self):
        """Returns the start of a command that runs on the node."""
        return ["nsenter", "-t", str(self.leader), "-a"]

    def await_boot(self):
        deadline = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < deadline:
            children = children_of(self.process.pid)
            if children and self.is_running(children[0]):
                self.leader = children[0]
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        with open(os.path.join(self.home, "console"), encoding="utf-8",
                  errors="replace") as console:
            raise NodeError(f"{self.name} does not boot:\n{console.read()[-2000:]}")

    @staticmethod
    def is_running(leader):
        state = subprocess.run(
            ["nsenter", "-t", str(leader), "-a", "systemctl", "is-system-running"],
            check=False, capture_output=True, text=True).stdout.strip()
        return state in ("running", "degraded")

    def shell(self, user):
        if user not in self.shells:
            self.shells[user] = Shell(self.leader, user)
        return self.shells[user]

    def forget_shells(self):
        for shell in self.shells.values():
            shell.end()
        self.shells = {}

    def reboot(self):
        """Boots the node again when its services have ended."""
        self.forget_shells()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.boot()

    def end(self):
        self.forget_shells()
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        subprocess.run(["umount", "-l", self.root], check=False)
