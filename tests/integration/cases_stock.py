"""Programs that bring their own OpenPMIx library, Debian's 4.2.2: nothing is put
in front of it, and nothing is set by the user."""
import os
import socket
import struct
import subprocess

from harness import ROOT, PYTHON, Failure, check

PROGRAMS = os.path.join(ROOT, "tests", "stock", "programs")
PMIX = "/usr/lib/x86_64-linux-gnu/pmix2"
RANKS = 4
NAMES = ("modex", "types", "api", "events", "big")

# Which library a rank loads, and which form of the protocol it is told of.
KINDS = {
    "stock": "unset LD_LIBRARY_PATH",
    "ours": ":",
    "described": "unset LD_LIBRARY_PATH; "
                 "export PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_FULLY_DESC",
    "v4": "unset LD_LIBRARY_PATH PMIX_SERVER_URI41",
    "v3": "unset LD_LIBRARY_PATH PMIX_SERVER_URI41 PMIX_SERVER_URI4",
}
V3_TYPES = 46  # the highest data type that the oldest form can carry


def build(bench, name):
    out = os.path.join(bench.work, f"{name}.stock")
    if not os.path.exists(out):
        subprocess.run(
            ["gcc", "-O1", "-Wall", "-Werror", "-o", out,
             os.path.join(PROGRAMS, name + ".c"), f"-I{PMIX}/include",
             f"-L{PMIX}/lib", "-lpmix", "-lpthread"], check=True)
    return out


def place(nodes, inject="never"):
    return ["run", "--nodes", nodes, "--oversubscribe", "--map-by", "node",
            "--inject", inject]


def ended(result, name, kinds=("stock",)):
    """Every rank ended well, and with the library that it was meant to load."""
    loaded = ["ours" if kind == "ours" else "stock" for kind in kinds]
    result.expect(out=[f"{name} ok size {RANKS}"] + [
        f"rank {rank} loaded {loaded[rank % len(loaded)]}\n"
        for rank in range(RANKS)])


def choosing(bench, kinds):
    """A script that runs a program as the kind whose turn its rank is."""
    path = os.path.join(bench.work, "as-" + "-".join(kinds))
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncase $((PMIX_RANK % {len(kinds)})) in\n")
            for number, kind in enumerate(kinds):
                file.write(f"{number}) {KINDS[kind]};;\n")
            file.write('esac\nexec "$@"\n')
        os.chmod(path, 0o755)
    return path


def api(bench):
    for nodes in (1, 2, 4):
        for name in NAMES:
            bench.case(f"stock {name}: {nodes} nodes", lambda: ended(bench.run(
                *place(nodes), "-n", RANKS, build(bench, name), RANKS), name))


def forms(bench):
    for kinds in (["v3"], ["v4"], ["described"],
                  ["v3", "described", "stock", "ours"]):
        label = " and ".join(kinds)
        for name in ("modex", "types", "events", "big"):
            bench.case(f"stock {name}: {label}", lambda: ended(bench.run(
                *place(2, "auto"), "-n", RANKS, choosing(bench, kinds),
                build(bench, name), RANKS, V3_TYPES), name, kinds))


def mixed(bench):
    for nodes in (1, 2, 4):
        for name in ("modex", "types", "events", "big"):
            kinds = ["stock", "ours"]
            bench.case(f"stock mixed {name}: {nodes} nodes", lambda: ended(
                bench.run(*place(nodes, "auto"), "-n", RANKS,
                          choosing(bench, kinds), build(bench, name), RANKS),
                name, kinds))
        bench.case(f"stock mixed ring: {nodes} nodes", lambda: bench.run(
            *place(nodes, "auto"), "-n", RANKS,
            choosing(bench, ["ours", "stock"]), bench.mpi("ring"),
            RANKS).expect(out=[f"ring ok size {RANKS}"]))


def open_mpi(bench):
    for nodes in (1, 2, 4):
        for name, *more in (("hello",), ("ring",), ("alltoall",),
                            ("split", 8 // nodes)):
            bench.case(f"stock openmpi {name}: {nodes} nodes", lambda: bench.run(
                *place(nodes), "-n", 8, bench.mpi(name), 8, *more).expect(
                    out=[f"{name} ok size 8"]))
        bench.case(f"stock openmpi abort: {nodes} nodes", lambda: bench.run(
            *place(nodes), "-n", 4, bench.mpi("abort"), 4, 7).expect(
                code=7, err=["rank 3"], absent=["abort ok"]))
        bench.case(f"stock openmpi segv: {nodes} nodes", lambda: bench.run(
            *place(nodes), "-n", 4, bench.mpi("segv"), 4).expect(
                code=139, err=["rank 3", "signal 11"]))
    bench.case("stock mpi4py", lambda: bench.run(
        *place(2), "-n", 4, PYTHON, os.path.join(
            ROOT, "tests", "integration", "programs", "hello_mpi4py.py"),
        4).expect(out=["size 4"]))


def deaths(bench):
    for nodes in (1, 2):
        for what in ("fence", "get", "commit", "connect", "notify", "query"):
            bench.case(f"stock killed in {what}: {nodes} nodes",
                       lambda: bench.run(*place(nodes), "-n", 3,
                                         build(bench, "die"), 3, what,
                                         timeout=30).expect(
                           code=137, err=["rank 2"]))


def outer_job(bench):
    """What an outer job left in the environment does no harm."""
    outer = {
        "PMIX_NAMESPACE": "outer", "PMIX_RANK": "77",
        "PMIX_SERVER_URI51": "outer.0;tcp4://127.0.0.1:1",
        "PMIX_SERVER_URI61": "outer.0;tcp4://127.0.0.1:1",
        "PMIX_SERVER_URI2": "outer.0;tcp4://127.0.0.1:1",
        "PMIX_GDS_MODULE": "ds21", "PMIX_MCA_gds": "ds21",
        "PMIX_MCA_ptl": "none", "PMIX_SECURITY_MODE": "munge",
    }
    bench.case("stock inside an outer job", lambda: bench.run(
        *place(1), "-n", 2, build(bench, "modex"), 2, env=outer).expect(
            out=["modex ok size 2"]))


def tools(bench):
    def ask():
        result = bench.run(
            *place(1), "-n", 1, "sh", "-c",
            'echo "mine $PMIX_NAMESPACE"; exec env -i PATH=$PATH '
            'TMPDIR=$PMIX_SERVER_TMPDIR pps')
        result.expect()
        mine = result.out.split("mine ")[1].split()[0]
        check(f"Active nspaces: {mine}" in result.out + result.err,
              "pps does not see the job" + result.tail())
    bench.case("stock pps", ask)


# A job that waits until it is told to go on, with its server's address.
WAITING = 'echo "at $PMIX_SERVER_URI41 in $PMIX_NAMESPACE"; read go; '


def greeting(nspace, rank, uid):
    """What a client of 4.2.2 says first."""
    payload = b"native\0" + struct.pack("!I", 8) + struct.pack(
        "=II", uid, uid) + b"\0" + nspace.encode() + b"\0" + struct.pack(
            "!I", rank) + b"4.2.2\0v41\0\1hash\0"
    return struct.pack("=iIII", -1, 0xffffffff, len(payload), 0) + payload


def during(bench, attack):
    """Attacks the agent's port while a job runs; the job must not notice."""
    reader, writer = os.pipe()
    job = bench.start(*place(1), "-n", 2, "sh", "-c",
                      WAITING + f"exec {build(bench, 'modex')} 2",
                      "--stdin", "all", stdin=reader)
    os.close(reader)
    try:
        job.wait_for("at ", 2)
        words = bytes(job.texts["out"]).decode().split()
        address = words[1].rsplit("/", 1)[1]
        port = int(address.rsplit(":", 1)[1])
        attack(("127.0.0.1", port), words[3])
        os.write(writer, b"go\n")
    finally:
        os.close(writer)
    job.finish(30).expect(out=["modex ok size 2"])


def refused(address, first, seconds=8):
    """Whether the agent closes without a word."""
    with socket.create_connection(address, seconds) as peer:
        try:
            peer.sendall(first)
            return peer.recv(1) == b""
        except ConnectionError:
            return True


def hostile(bench):
    def false_claim(address, nspace):
        check(refused(address, greeting(nspace, 0, os.geteuid())),
              "a process that is not the rank's was let in")

    def another_user(address, nspace):
        child = os.fork()
        if child == 0:
            os.setresuid(65534, 65534, 65534)
            os._exit(0 if refused(address, greeting(nspace, 0, 65534)) and
                     refused(address, greeting(nspace, 0, 0)) else 1)
        check(os.waitpid(child, 0)[1] == 0, "another user was let in")

    def half_headers(address, _):
        check(refused(address, greeting("x", 0, 0)[:9]),
              "half a header is waited for")

    def huge(address, _):
        check(refused(address, struct.pack("=iIII", -1, 0xffffffff, 0xffffffff,
                                           0)), "4 GB were asked for")

    def garbage(address, _):
        for first in (b"GET / HTTP/1.0\r\n\r\n", bytes(64), os.urandom(4096)):
            check(refused(address, first), "garbage was let in")

    def silent_crowd(address, _):
        crowd = []
        try:
            for _ in range(1000):
                crowd.append(socket.create_connection(address, 5))
        finally:
            for peer in crowd:
                peer.close()

    for attack in (false_claim, another_user, half_headers, huge, garbage,
                   silent_crowd):
        if attack is another_user and os.geteuid() != 0:
            continue
        bench.case("stock hostile: " + attack.__name__.replace("_", " "),
                   lambda: during(bench, attack))


def injection(bench):
    ask = ["-n", 1, "sh", "-c", "echo path:$LD_LIBRARY_PATH pre:$LD_PRELOAD"]

    def says(inject, path, preload):
        result = bench.run("run", "--inject", inject, *ask).expect()
        if (("path:/" in result.out) != path or
                ("pre:/" in result.out) != preload):
            raise Failure("wrong" + result.tail())
    for inject, path, preload in (("auto", True, False),
                                  ("always", True, True),
                                  ("never", False, False)):
        bench.case(f"inject {inject}", lambda: says(inject, path, preload))


def run(bench):
    api(bench)
    forms(bench)
    mixed(bench)
    open_mpi(bench)
    deaths(bench)
    outer_job(bench)
    tools(bench)
    hostile(bench)
    injection(bench)
