"""Nodes as network namespaces. Each has its own address and loopback, and a
bridge joins them, so that agents and MPI communicate over a virtual network.
Meant for the isolated world of isolation.py, whose end removes everything."""
import contextlib
import heapq
import random
import select
import socket
import subprocess
import threading
import time

SUBNET = "10.213.7"
BRIDGE = "nodes"
LAUNCH_AGENT = "ip netns exec {host}"


def ip(*args):
    subprocess.run(["ip", *args], check=True, stdout=subprocess.DEVNULL)


class Relay:
    """Carries packets between two links. Packets from NEAR arrive SECONDS late,
    and some of either direction are lost. Not every kernel's traffic control
    can do that."""

    ETH_P_ALL = 3
    SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
    BIGGEST = 1 << 17

    def __init__(self, near, far, seconds, loss):
        self.passed = self.lost = 0
        self._loss, self._random = loss, random.Random(7)
        self._ends = [self._open(near), self._open(far)]
        self._delay = {self._ends[0]: seconds, self._ends[1]: 0}
        self._stop, self._stopped = socket.socketpair()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _open(self, link):
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                            socket.htons(self.ETH_P_ALL))
        # Packets have a header with the work that is left to the network card.
        end.setsockopt(self.SOL_PACKET, self.PACKET_VNET_HDR, 1)
        end.setsockopt(self.SOL_PACKET, self.PACKET_IGNORE_OUTGOING, 1)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
        end.bind((link, 0))
        return end

    def _run(self):
        due = []
        while True:
            wait = max(due[0][0] - time.monotonic(), 0) if due else None
            ready, _, _ = select.select([self._stopped, *self._ends], [], [],
                                        wait)
            if self._stopped in ready:
                return
            for end in ready:
                packet = end.recv(self.BIGGEST)
                if self._random.random() < self._loss:
                    self.lost += 1
                    continue
                self.passed += 1
                heapq.heappush(due, (time.monotonic() + self._delay[end],
                                     self.passed, end, packet))
            while due and due[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(due)
                with contextlib.suppress(OSError):
                    self._ends[self._ends[0] is end].send(packet)

    def stop(self):
        self._stop.close()
        self._thread.join()
        for end in (*self._ends, self._stopped):
            end.close()


class Namespaces:
    """COUNT namespaces n1, n2, ... on a bridge to which the launcher is
    connected as well."""

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

    @contextlib.contextmanager
    def parted(self, names):
        """Cuts these nodes off from the others, but not from each other."""
        ip("link", "add", "apart", "type", "bridge")
        ip("link", "set", "apart", "up")
        for name in names:
            ip("link", "set", f"{name}v", "master", "apart")
        try:
            yield
        finally:
            for name in names:
                ip("link", "set", f"{name}v", "master", BRIDGE)
            ip("link", "del", "apart")

    @contextlib.contextmanager
    def slow(self, name, seconds, loss):
        """Packets of NAME are delayed, and a share of all its packets is lost.
        """
        ip("link", "add", "slow0", "type", "veth", "peer", "name", "slow1")
        ip("link", "set", f"{name}v", "nomaster")
        ip("link", "set", "slow1", "master", BRIDGE, "up")
        ip("link", "set", "slow0", "up")
        relay = Relay(f"{name}v", "slow0", seconds, loss)
        try:
            yield relay
        finally:
            relay.stop()
            ip("link", "set", f"{name}v", "master", BRIDGE)
            ip("link", "del", "slow0")

    def __exit__(self, *_):
        for name in self.names:
            # A namespace and its link continue to exist for a moment.
            ip("link", "del", f"{name}v")
            ip("netns", "del", name)
        ip("link", "del", BRIDGE)
        return False
