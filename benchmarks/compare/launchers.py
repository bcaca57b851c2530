"""The process managers that are compared, behind one interface."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "tests", "integration"))
import netns  # noqa: E402


class Nodes:
    """COUNT emulated nodes: network namespaces for everyone, or, without the
    right to make them, what a launcher has of its own."""

    made = 0

    def __init__(self, count):
        self.count = count
        # Namespaces that were removed live on for a moment, and others may
        # emulate nodes at the same time.
        Nodes.made += 1
        number = os.getpid() % 10000
        self.spaces = netns.Namespaces(
            count, prefix=f"cb{number}{'abcdefgh'[Nodes.made % 8]}",
            subnet=f"10.{100 + number % 100}.{number // 100}")

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


class Canopy:
    name = "canopy"

    def __init__(self, prefix, pin, nodes=None, options=()):
        self.binary = os.path.join(prefix, "bin", "canopy")
        self.pin = pin
        self.nodes = nodes
        self.context = f"bench{os.getpid()}{''.join(pin[-1:])}" + (
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
                                   self.context] + where, check=True)
        return self

    def __exit__(self, *_):
        subprocess.run([self.binary, "down", "--quiet", "--force", "--context",
                        self.context], check=False)

    def command(self, n, argv):
        return self.pin + [self.binary, "run", "--context", self.context,
                           "--oversubscribe", "-n", str(n)
                           ] + self.options + self.place + argv

    def cold_command(self, n, argv):
        return self.pin + [self.binary, "run", "--context",
                           self.context + "cold", "--oversubscribe", "-n",
                           str(n)] + self.options + argv


class Orterun:
    """Open MPI's own launcher; nothing of it stays between two runs."""
    name = "orterun"

    def __init__(self, pin, nodes=None):
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
                      f"{self.nodes.spaces.subnet}.0/24"]
        return self

    def __exit__(self, *_):
        if self.work:
            shutil.rmtree(self.work, ignore_errors=True)

    def command(self, n, argv):
        return self.pin + ["orterun", "--allow-run-as-root", "--oversubscribe",
                           "--bind-to", "none", "-n", str(n)
                           ] + self.place + argv

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
