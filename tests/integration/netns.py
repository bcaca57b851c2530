"""Nodes as network namespaces: each has its own address and loopback, joined
by a bridge, so that agents and MPI meet over a real (virtual) wire. Meant for
the isolated world of isolation.py, whose end removes what is left."""
import subprocess

SUBNET = "10.213.7"
BRIDGE = "nodes"
LAUNCH_AGENT = "ip netns exec {host}"


def ip(*args):
    subprocess.run(["ip", *args], check=True, stdout=subprocess.DEVNULL)


class Namespaces:
    """COUNT namespaces n1, n2, ... on a bridge that the launcher is on as well."""

    def __init__(self, count):
        self.names = [f"n{i + 1}" for i in range(count)]

    @property
    def options(self):
        return ["--hosts", ",".join(self.names), "--launch-agent", LAUNCH_AGENT]

    def __enter__(self):
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{SUBNET}.254/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for i, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("link", "add", f"{name}v", "type", "veth", "peer", "name", "eth0",
               "netns", name)
            ip("link", "set", f"{name}v", "master", BRIDGE, "up")
            ip("-n", name, "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        return self

    def address(self, index):
        return f"{SUBNET}.{index + 1}"

    def __exit__(self, *_):
        for name in self.names:
            # A namespace lives on for a moment, and its link with it.
            ip("link", "del", f"{name}v")
            ip("netns", "del", name)
        ip("link", "del", BRIDGE)
        return False
