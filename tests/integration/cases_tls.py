"""Agents that authenticate each other by certificates of the operator's own
authority, made by openssl, and other services of their ports."""
import os
import subprocess

import netns
from cases_netns import context_of
from harness import RUNTIME, check

AUTHORITY = """[ca]
default_ca = authority
[authority]
database = index
serial = serial
new_certs_dir = .
private_key = ca.key
certificate = ca.pem
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[agents]
subjectAltName = {names}
[strangers]
subjectAltName = DNS:elsewhere.example
[only_serve]
subjectAltName = {names}
extendedKeyUsage = serverAuth
"""
LATE, PAST = "20991231235959Z", "20200102000000Z"


class Authority:
    """Makes certificates below a directory of its own."""

    def __init__(self, bench, name, names):
        self.directory = os.path.join(bench.work, "authority-" + name)
        os.mkdir(self.directory)
        for file, text in (("conf", AUTHORITY.format(names=names)),
                           ("index", ""), ("serial", "01\n")):
            with open(os.path.join(self.directory, file), "w",
                      encoding="utf-8") as out:
                out.write(text)
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                     "ca.key", "-out", "ca.pem", "-days", "3650", "-subj",
                     "/CN=" + name)

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.directory, check=True,
                       capture_output=True)

    def issue(self, section="agents", end=LATE):
        """Returns options of `canopy up` for a certificate."""
        name = f"{section}-{end}"
        self.openssl("req", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                     name + ".key", "-out", name + ".csr", "-subj", "/CN=agent")
        self.openssl("ca", "-batch", "-notext", "-config", "conf", "-in",
                     name + ".csr", "-out", name + ".pem", "-startdate",
                     "20200101000000Z", "-enddate", end, "-extensions", section)
        path = os.path.join(self.directory, name)
        return ["--security", "files", "--tls-ca", self.path("ca.pem"),
                "--tls-cert", path + ".pem", "--tls-key", path + ".key"]

    def path(self, name):
        return os.path.join(self.directory, name)


def refused(bench, options, word):
    """Agents with these certificates form no overlay, and report the reason."""
    bench.run("up", "--context", "refused", "--emulate", 2, "--timeout", 2,
              *options).expect_refusal(1, "cannot be reached", word)


def from_another_machine(bench):
    """A command that reaches the agents only over the network proves that it knows
    the cluster key. A command with another key is refused."""
    hide = "mount -t tmpfs hidden /tmp/elsewhere && exec \"$@\""

    def status():
        return bench.run("--mount", "sh", "-c", hide, "sh", bench.canopy,
                         "status", "--context", "far", program="unshare")
    status().expect()
    path = os.path.join(RUNTIME, f"canopy-{os.geteuid()}", "contexts", "far.json")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    key = context_of("far")["cluster_key"]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(key, ("A" if key[0] != "A" else "B") + key[1:]))
    status().expect_refusal(1, "prove that it knows the cluster key")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def hello(bench, context):
    check(context_of(context)["security"] == "files", "not by files")
    bench.run("run", "--context", context, "--oversubscribe", "-n", 4,
              "--map-by", "node", bench.mpi("hello"), 4).expect(
                  out=["hello ok size 4"])


def run(bench):
    if not bench.wanted("tls: certificates"):
        return
    names = ",".join(["IP:127.0.0.1"] + [
        f"IP:{netns.SUBNET}.{i + 1}" for i in range(2)])
    ours, theirs = Authority(bench, "ours", names), Authority(bench, "theirs",
                                                              names)
    right = ours.issue()
    with bench.overlay("certificates", "--emulate", "2", *right) as up:
        if up:
            bench.case("tls: certificates, one machine",
                       lambda: hello(bench, "certificates"))
    with netns.Namespaces(2) as space, \
            bench.overlay("certificates", *space.options, *right) as up:
        if up:
            bench.case("tls: certificates, two networks",
                       lambda: hello(bench, "certificates"))
    os.makedirs("/tmp/elsewhere", mode=0o700)
    with netns.Namespaces(2) as space, bench.overlay(
            "far", "--hosts", ",".join(space.names), "--launch-agent",
            "ip netns exec {host} env XDG_RUNTIME_DIR=/tmp/elsewhere",
            *right) as up:
        if up:
            bench.case("tls: certificates, from another machine",
                       lambda: from_another_machine(bench))
    os.rmdir("/tmp/elsewhere")
    verify = "certificate verify failed"
    for what, options, word in (
            ("expired", ours.issue(end=PAST), verify),
            ("of another host", ours.issue("strangers"), "eer name"),
            ("of another role", ours.issue("only_serve"), ""),
            ("of another authority", [*right[:3], theirs.path("ca.pem"),
                                      *right[4:]], verify)):
        bench.case(f"tls: certificates {what}",
                   lambda: refused(bench, options, word))
    bench.case("tls: certificates that are not there", lambda: bench.run(
        "up", "--context", "refused", "--emulate", 2, "--timeout", 5, *right[:3],
        "/no/such/ca", *right[4:]).expect_refusal(1, "/no/such/ca"))
