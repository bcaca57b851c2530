"""Attacks the two network ports of an agent: by each seed another way to speak
TCP, TLS or HTTP/2 correctly up to a point and then not.

Usage: adversary_net.py SEED LINKS CONTROL CA CERT KEY

LINKS and CONTROL are the addresses HOST:PORT of the ports. The certificate is one of the
overlay's authority; its owner does not know the cluster key."""
import contextlib
import random
import socket
import ssl
import sys
import time

import grpc

LINK = "/canopy.overlay.v1.Overlay/Link"
CALLS = ("/canopy.control.v1.Control/Status", "/canopy.control.v1.Control/Run",
         "/canopy.relay.v1.ToolRelay/CarryLibpmix",
         "/grpc.health.v1.Health/Check", "/no.such.Service/Call")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
SECONDS = 2
TIMEOUT = 5


class Adversary:
    def __init__(self, seed, links, control, *files):
        self.random = random.Random(seed)
        self.addresses = (links, control)
        self.files = files

    def bytes(self, most=65536):
        return self.random.randbytes(self.random.randint(1, most))

    def connect(self):
        host, port = self.random.choice(self.addresses).rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=TIMEOUT)

    def tls(self, plain, certificate=True):
        ca, cert, key = self.files
        context = ssl.create_default_context(cafile=ca)
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(cert, key)
        return context.wrap_socket(plain, server_hostname="127.0.0.1")

    def channel(self):
        ca, cert, key = ([open(path, "rb").read() for path in self.files])
        return grpc.secure_channel(
            self.random.choice(self.addresses),
            grpc.ssl_channel_credentials(ca, key, cert))

    # The attacks.

    def rubbish(self):
        with self.connect() as one:
            one.sendall(self.bytes())
            one.recv(4096)

    def half_a_hello(self):
        """Sends the first bytes of a TLS handshake, and then nothing."""
        with self.connect() as one:
            one.sendall(b"\x16\x03\x01\x02\x00\x01" +
                        self.bytes(self.random.randint(1, 500)))
            time.sleep(SECONDS)

    def many(self):
        """Opens more connections than a source may have."""
        with contextlib.ExitStack() as stack:
            for _ in range(self.random.randint(10, 1200)):
                one = stack.enter_context(self.connect())
                if self.random.random() < 0.5:
                    one.send(b"\x16")
            time.sleep(SECONDS)

    def no_certificate(self):
        with self.connect() as plain, self.tls(plain, False) as one:
            one.sendall(PREFACE + SETTINGS)
            one.recv(4096)

    def rubbish_in_tls(self):
        with self.connect() as plain, self.tls(plain) as one:
            one.sendall(self.bytes())
            one.recv(4096)

    def broken_record(self):
        with self.connect() as plain:
            one = self.tls(plain)
            one.sendall(PREFACE)
            with socket.socket(fileno=one.detach()) as raw:
                raw.sendall(b"\x17\x03\x03\x40\x00" + self.bytes())

    def frames(self):
        """Sends HTTP/2 frames of every type, with lengths that may be wrong."""
        with self.connect() as plain, self.tls(plain) as one:
            one.sendall(PREFACE + SETTINGS)
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                body = self.bytes(2000)
                length = len(body) if self.random.random() < 0.8 else \
                    self.random.randint(0, 1 << 24)
                one.sendall(length.to_bytes(3, "big") +
                            bytes([self.random.randint(0, 10),
                                   self.random.randint(0, 255)]) +
                            self.random.randint(0, 9).to_bytes(4, "big") + body)

    def pings(self):
        with self.connect() as plain, self.tls(plain) as one:
            one.sendall(PREFACE + SETTINGS)
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                one.sendall(b"\0\0\x08\6\0\0\0\0\0" + self.random.randbytes(8))

    def links(self):
        """Opens streams of a link, and sends malformed frames or a false hello."""
        with self.channel() as channel:
            def packets():
                for _ in range(self.random.randint(1, 200)):
                    yield self.bytes(self.random.choice((20, 2000, 200000)))
            for answer in channel.stream_stream(LINK)(packets(), timeout=TIMEOUT):
                del answer

    def calls(self):
        """Makes calls whose bodies are malformed and that lack the proof."""
        with self.channel() as channel:
            for _ in range(50):
                path = self.random.choice(CALLS)
                with contextlib.suppress(grpc.RpcError):
                    channel.unary_unary(path)(self.bytes(3000), timeout=TIMEOUT)

    def abandoned(self):
        """Makes calls, and cancels them immediately."""
        with self.channel() as channel:
            for _ in range(200):
                channel.unary_unary(self.random.choice(CALLS)).future(
                    b"", timeout=TIMEOUT).cancel()


ATTACKS = ("rubbish", "half_a_hello", "many", "no_certificate", "rubbish_in_tls",
           "broken_record", "frames", "pings", "links", "calls", "abandoned")


def main(seed, *rest):
    adversary = Adversary(int(seed), *rest)
    name = adversary.random.choice(ATTACKS)
    print("ports:", name)
    with contextlib.suppress(OSError, grpc.RpcError):
        getattr(adversary, name)()


if __name__ == "__main__":
    main(*sys.argv[1:])
