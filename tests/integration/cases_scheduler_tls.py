"""A scheduler that other machines can reach: agents call it over TLS, and
unauthorised peers get no reply."""
import os
import socket
import subprocess
import threading
import time

import netns
from cases_scheduler import SCHEDULER
from cases_tls import Authority
from harness import check, until

NAME = "scheduler-tls"
# An address of this machine that is not a loopback address.
ADDRESS = "10.213.9.1"
HELLO = ("run", "--context", NAME, "-n", 2, "echo", "hello")
NAMES = {what: f"scheduler by TLS: {what}" for what in (
    "certificates of one authority", "a scheduler of another authority",
    "agents of another authority", "a scheduler without TLS",
    "no certificate of the cluster key", "a certificate of the cluster key",
    "a certificate of another cluster key", "nothing in clear", "in clear, by name")}


class Remote:
    """The example on an address that other machines reach."""

    def __init__(self, port, *options):
        self.process = subprocess.Popen(
            [SCHEDULER, "--listen", f"{ADDRESS}:{port}", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        check(self.process.stdout.readline() == "ready\n", "it does not start")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def free_port():
    with socket.socket() as one:
        one.bind((ADDRESS, 0))
        return one.getsockname()[1]


def runs(bench):
    bench.run(*HELLO).expect_lines(["hello"] * 2)


def waits(bench, *words):
    """A job waits, and the report states that the scheduler does not answer,
    and why."""
    job = bench.start(*HELLO)
    job.wait_for("is queued:", stream="err")

    def said():
        jobs = bench.json("ps", "--context", NAME).get("jobs", [])
        reason = jobs[0]["reason"] if jobs else ""
        return "does not answer" in reason and all(word in reason for word in words)

    until(said, f"a reason with {words}")
    bench.run("kill", "--context", NAME, bench.json(
        "ps", "--context", NAME)["jobs"][0]["job"]).expect()
    check(job.finish().code != 0, "a job has run")


def in_overlay(bench, what, body, port, scheduler, *options):
    """Runs BODY with agents of OPTIONS and a scheduler with the options that
    SCHEDULER() returns, or none if SCHEDULER is None."""
    if not bench.wanted(NAMES[what]):
        return
    with bench.taken() as mine:
        if not mine:
            return
        remote = None if scheduler is None else Remote(port, *scheduler())
        try:
            with bench.overlay(NAME, "--emulate", 2, "--host-module",
                               f"{ADDRESS}:{port}", *options,
                               ignore=("scheduler.py",)) as up:
                if up:
                    bench.case(NAMES[what], body)
        finally:
            if remote:
                remote.end()


class Listener:
    """Accepts connections, and keeps the first message of each."""

    def __init__(self, port):
        self.socket = socket.create_server((ADDRESS, port))
        self.said = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(5)
                try:
                    self.said.append(peer.recv(4096))
                except OSError:
                    self.said.append(b"")

    def close(self):
        self.socket.close()


def nothing_in_clear(bench, listener):
    job = bench.start(*HELLO)
    job.wait_for("is queued:", stream="err")
    until(lambda: len(listener.said) > 2, "calls")
    time.sleep(0.5)
    check(all(first[:1] in (b"", b"\x16") for first in listener.said),
          f"no TLS: {listener.said}")
    check(not any(b"HostModule" in first or b"PRI * HTTP" in first
                  for first in listener.said), "a call in clear")
    bench.run("kill", "--context", NAME, bench.json(
        "ps", "--context", NAME)["jobs"][0]["job"]).expect()
    job.finish()


def key_file(bench, name, digit):
    path = os.path.join(bench.work, name)
    with open(path, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(digit * 64)
    return path


def made(bench, key):
    """Runs 'canopy host-module certificate' for a scheduler. A second run is
    refused."""
    directory = key + ".d"
    command = ("host-module", "--key-file", key, "certificate", directory)
    bench.run(*command).expect()
    bench.run(*command).expect(code=1, err=["is there already"])
    files = [os.path.join(directory, name)
             for name in ("ca.pem", "cert.pem", "key.pem")]
    check(all(os.stat(file).st_mode & 0o777 == 0o600 for file in files),
          "others can read it")
    return ["--tls", *files]


def by_cluster_key(bench, port, key):
    """Agents and the check can call the scheduler. An agent without the key
    cannot."""
    runs(bench)
    for whose in (("--context", NAME), ("--key-file", key)):
        # The check uses nodes of this overlay, which have the same names.
        told = bench.run("host-module", *whose, "check", f"{ADDRESS}:{port}").out
        check("capabilities          OK" in told and "attach                OK" in told,
              told)
    # Uses a running overlay, without its key file.
    bench.run("host-module", "--context", NAME, "certificate",
              key + ".of-context").expect()
    bench.run("host-module", "--key-file", key_file(bench, "third", "3"), "--timeout",
              1, "check", f"{ADDRESS}:{port}").expect(
        code=1, err=["no service answers"])


def by_keys(bench):
    if not bench.wanted(*(name for what, name in NAMES.items() if "cluster" in what)):
        return
    ours, theirs = key_file(bench, "ours", "1"), key_file(bench, "theirs", "2")
    port = free_port()
    in_overlay(bench, "a certificate of the cluster key",
               lambda: by_cluster_key(bench, port, ours), port, lambda: made(bench, ours),
               "--key-file", ours)
    in_overlay(bench, "a certificate of another cluster key",
               lambda: waits(bench, "does not answer"), port, lambda: made(bench, theirs),
               "--key-file", ours)


def by_certificates(bench):
    names = f"IP:127.0.0.1,IP:{ADDRESS}"
    ours, theirs = (Authority(bench, f"scheduler-{who}", names)
                    for who in ("ours", "theirs"))
    agents, foreign = ours.issue(), theirs.issue()

    def files(options):
        """Returns the scheduler's options for an authority."""
        return lambda: ["--tls", *options[3::2]]

    port = free_port()
    in_overlay(bench, "certificates of one authority", lambda: runs(bench), port,
               files(agents), *agents)
    in_overlay(bench, "a scheduler of another authority",
               lambda: waits(bench, "certificate verify failed"), port,
               files(foreign), *agents)
    # The scheduler trusts only the other authority, but has a certificate of
    # the agents' authority.
    own_only = ["--tls", theirs.path("ca.pem"), *files(agents)()[2:]]
    in_overlay(bench, "agents of another authority",
               lambda: waits(bench, "called by TLS", "--tls-cert"), port,
               lambda: own_only, *agents)
    in_overlay(bench, "a scheduler without TLS",
               lambda: waits(bench, "called by TLS"), port, list, *agents)
    in_overlay(bench, "no certificate of the cluster key",
               lambda: waits(bench, "host-module certificate"), port, files(agents))
    in_overlay(bench, "in clear, by name", lambda: runs(bench), port, list,
               "--security", "plaintext")
    if not bench.wanted(NAMES["nothing in clear"]):
        return
    listener = Listener(port)
    try:
        in_overlay(bench, "nothing in clear",
                   lambda: nothing_in_clear(bench, listener), port, None)
    finally:
        listener.close()


def run(bench):
    if not bench.wanted(*NAMES.values()):
        return
    netns.ip("address", "add", f"{ADDRESS}/32", "dev", "lo")
    try:
        by_keys(bench)
        by_certificates(bench)
    finally:
        netns.ip("address", "del", f"{ADDRESS}/32", "dev", "lo")
