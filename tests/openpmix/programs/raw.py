#!/usr/bin/env python3
"""A rank that speaks OpenPMIx's protocol itself, incorrectly.

raw.py die COMMAND FORM whole|half   sends a command and is killed
raw.py nest                          commits arrays nested 10,000 times
raw.py huge                          announces a message of 4 GB

All but `die` print "refused" when the agent closes the connection or replies
with an error.
"""
import os
import signal
import socket
import struct
import sys

NSPACE = os.environ["PMIX_NAMESPACE"]
RANK = int(os.environ["PMIX_RANK"])
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                      "..", "server", "openpmix", "golden", "commands.txt")
CODECS = {"modern": ("4.2.2", "v41"), "old": ("3.2.3", "v3"),
          "v51": ("6.1.0", "v51")}


def text(string):
    return string.encode() + b"\0"


def connect(version, codec):
    """Returns the accepted connection of this rank."""
    address = os.environ["PMIX_SERVER_URI41"].rsplit("/", 1)[1]
    host, port = address.rsplit(":", 1)
    peer = socket.create_connection((host, int(port)), 20)
    greeting = text("native") + struct.pack("!I", 8) + struct.pack(
        "=II", os.geteuid(), os.getegid()) + b"\0" + text(NSPACE) + \
        struct.pack("!I", RANK) + text(version) + text(codec) + b"\1" + \
        text("hash")
    peer.sendall(struct.pack("=iIII", -1, 0xffffffff, len(greeting), 0) +
                 greeting)
    welcome = peer.recv(8, socket.MSG_WAITALL)
    if len(welcome) != 8 or welcome[:4] != bytes(4):
        sys.exit(f"not accepted: {welcome!r}")
    return peer


def golden(name, form):
    """Returns a command's bytes, with this job's namespace in place of the
    file's."""
    with open(GOLDEN, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split(" | ")
            if fields[:2] == [name, form]:
                payload = bytes.fromhex(fields[2])
                break
        else:
            sys.exit(f"no command {name} in form {form}")
    size = len(NSPACE) + 1
    if form == "old":
        return payload.replace(struct.pack("!I", 4) + b"nsx\0",
                               struct.pack("!I", size) + text(NSPACE))
    return payload.replace(b"\x08nsx\0", bytes([2 * size]) + text(NSPACE))


def message(payload, size=None):
    return struct.pack("!IIII", 0, 101, len(payload) if size is None else size,
                       0) + payload


def die(name, form, part):
    peer = connect(*CODECS[form])
    whole = message(golden(name, form))
    peer.sendall(whole if part == "whole" else whole[:16 + len(whole[16:]) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


def expect_refusal(payload):
    peer = connect("4.2.2", "v41")
    try:
        peer.sendall(payload)
        answer = peer.recv(4096)
    except ConnectionError:
        answer = b""
    # A reply is a header and a status; a negative status is an odd number.
    if answer and answer[17] % 2 == 0:
        sys.exit(f"answered {answer.hex()}")
    print("refused")


def nest():
    # COMMIT; scope 2; a buffer of one KVAL "k": arrays of one array each.
    array = bytes([0x27, 0x27, 1]) + bytes([0x27, 1]) * 10000 + bytes([0x0e, 0])
    kval = bytes([2, 4]) + b"k\0" + array
    size = len(kval)
    length = bytes([size & 0x7f | 0x80, size >> 7 & 0x7f | 0x80, size >> 14])
    expect_refusal(message(bytes([2, 2, 2, 2, 2, 1]) + length + kval))


def huge():
    expect_refusal(message(bytes([2, 2]), 0xffffffff))


if __name__ == "__main__":
    {"die": die, "nest": nest, "huge": huge}[sys.argv[1]](*sys.argv[2:])
