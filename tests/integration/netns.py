"""Nodes as network namespaces: each has its own address and loopback, joined
by a bridge, so that agents and MPI meet over a real (virtual) wire."""
import os
import subprocess


def ip(*args):
    subprocess.run(["ip", *args], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, text=True)


class Namespaces:
    """COUNT namespaces PREFIX1..N on a bridge that this host is on as well."""

    def __init__(self, count, prefix=None, subnet="10.213.7"):
        self.prefix = prefix or f"cn{os.getpid() % 10000}x"
        self.subnet = subnet
        self.names = [f"{self.prefix}{i + 1}" for i in range(count)]
        self.bridge = f"{self.prefix}br"

    def __enter__(self):
        ip("link", "add", self.bridge, "type", "bridge")
        ip("addr", "add", f"{self.subnet}.254/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")
        for i, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("link", "add", f"{name}v", "type", "veth", "peer", "name", "eth0",
               "netns", name)
            ip("link", "set", f"{name}v", "master", self.bridge, "up")
            ip("-n", name, "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        return self

    def address(self, index):
        return f"{self.subnet}.{index + 1}"

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)
        subprocess.run(["ip", "link", "del", self.bridge], check=False)
        return False
