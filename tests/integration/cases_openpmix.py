"""Programs with their own OpenPMIx library, Debian's 4.2.2: no other library is
loaded instead, and the user sets no variable."""
import codecs
import os
import re
import signal
import socket
import struct
import subprocess

import cases_programs
import leftovers
from harness import ROOT, PYTHON, Failure, check

PROGRAMS = os.path.join(ROOT, "tests", "openpmix", "programs")
CONFORMANCE = os.path.join(ROOT, "tests", "conformance")
PMIX = "/usr/lib/x86_64-linux-gnu/pmix2"
RANKS = 4
NAMES = ("modex", "types", "api", "names", "helpers", "events", "groups",
         "big")
NEVER = ("--inject", "never")
# Moves so much data that an agent may get no CPU for seconds if others run too.
ALONE = ("big",)
RAW = os.path.join(PROGRAMS, "raw.py")

# The library that a rank loads, and the form of the protocol in its
# environment.
KINDS = {
    "openpmix": "unset LD_LIBRARY_PATH",
    "ours": ":",
    "described": "unset LD_LIBRARY_PATH; "
                 "export PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_FULLY_DESC",
    "v4": "unset LD_LIBRARY_PATH PMIX_SERVER_URI41",
    "v3": "unset LD_LIBRARY_PATH PMIX_SERVER_URI41 PMIX_SERVER_URI4",
}
V3_TYPES = 46  # the highest data type of the oldest form


def build(bench, name, kind="openpmix", *more, sources=PROGRAMS):
    out = os.path.join(bench.work, f"{name}.{kind}")
    if not os.path.exists(out):
        subprocess.run(
            ["gcc", "-O1", "-Wall", "-Werror", "-o", out,
             os.path.join(sources, name + ".c"), f"-I{PMIX}/include",
             f"-L{PMIX}/lib", "-lpmix", "-lpthread", *more], check=True)
    return out


def place(nodes, inject="never"):
    return ["run", "--emulate", nodes, "--oversubscribe", "--map-by", "node",
            "--inject", inject]


def ended(result, name, kinds=("openpmix",)):
    """Checks that every rank ended well, with the library that it was meant to
    load."""
    loaded = ["ours" if kind == "ours" else "openpmix" for kind in kinds]
    return result.expect(out=[f"{name} ok size {RANKS}"] + [
        f"rank {rank} loaded {loaded[rank % len(loaded)]}\n"
        for rank in range(RANKS)])


def choosing(bench, kinds):
    """Returns a script that runs a program as the kind that its rank selects.
    """
    path = os.path.join(bench.work, "as-" + "-".join(kinds))
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncase $((PMIX_RANK % {len(kinds)})) in\n")
            for number, kind in enumerate(kinds):
                file.write(f"{number}) {KINDS[kind]};;\n")
            file.write('esac\nexec "$@"\n')
        os.chmod(path, 0o755)
    return path


def all_functions():
    """The programs call every function of the client API."""
    with open(f"{PMIX}/include/pmix.h", encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    functions = set(re.findall(r"PMIX_EXPORT[^;(]*?(PMIx_\w+)\(", text))
    check(len(functions) > 90, f"only {len(functions)} functions were found")
    called = ""
    for name in os.listdir(PROGRAMS):
        with open(os.path.join(PROGRAMS, name), encoding="utf-8") as file:
            called += file.read()
    missing = [f for f in sorted(functions)
               if not re.search(rf"\b{f}\(", called)]
    check(not missing, "nobody calls " + " ".join(missing))


def api(bench):
    bench.case("openpmix: every function is called", all_functions)
    for nodes in (1, 2, 4):
        for name in NAMES:
            bench.case(f"openpmix {name}: {nodes} nodes",
                       lambda: ended(bench.run(
                *place(nodes), "-n", RANKS, build(bench, name), RANKS), name),
                       alone=name in ALONE)
        # With this many ranks, job info describes other ranks only as far as
        # needed.
        bench.case(f"openpmix places of 40 ranks: {nodes} nodes",
                   lambda: bench.run(
            *place(nodes), "-n", 40, build(bench, "places"), 40).expect(
                out=["places ok size 40"]))


def lives(bench):
    """Runs the conformance program about events of other jobs with the other
    library: each event arrives once."""
    for nodes in (1, 2, 4):
        bench.case(f"openpmix job_life: {nodes} nodes", lambda: bench.run(
            *place(nodes), "-n", RANKS,
            build(bench, "job_life", sources=CONFORMANCE), RANKS, nodes,
            timeout=120).expect(
                out=[f"job_life.openpmix ok {r}\n" for r in range(RANKS)]))


def forms(bench):
    for kinds in (["v3"], ["v4"], ["described"],
                  ["v3", "described", "openpmix", "ours"]):
        label = " and ".join(kinds)
        for name in ("modex", "types", "events", "groups", "big"):
            bench.case(f"openpmix {name}: {label}", lambda: ended(bench.run(
                *place(2, "auto"), "-n", RANKS, choosing(bench, kinds),
                build(bench, name), RANKS, V3_TYPES), name, kinds),
                       alone=name in ALONE)


def mixed(bench):
    for nodes in (1, 2, 4):
        for name in ("modex", "types", "events", "groups", "big"):
            kinds = ["openpmix", "ours"]
            bench.case(f"openpmix mixed {name}: {nodes} nodes", lambda: ended(
                bench.run(*place(nodes, "auto"), "-n", RANKS,
                          choosing(bench, kinds), build(bench, name), RANKS),
                name, kinds), alone=name in ALONE)
        bench.case(f"openpmix mixed ring: {nodes} nodes", lambda: bench.run(
            *place(nodes, "auto"), "-n", RANKS,
            choosing(bench, ["ours", "openpmix"]), bench.mpi("ring"),
            RANKS).expect(out=[f"ring ok size {RANKS}"]))


def mixed_abort(bench):
    """If a rank of either kind aborts, all ranks of both kinds end."""
    for kinds in (["openpmix", "ours"], ["ours", "openpmix"]):
        for nodes in (1, 2):
            loaded = [f"rank {rank} loaded {kinds[rank % 2]}"
                      for rank in range(RANKS)]
            bench.case(f"openpmix mixed abort by {kinds[1]}: {nodes} nodes",
                       lambda: bench.run(
                           *place(nodes, "auto"), "-n", RANKS,
                           choosing(bench, kinds), build(bench, "abort"), RANKS,
                           timeout=30).expect(code=9, out=loaded,
                                              err=["rank 3", "enough"]))


def log_order(bench, nodes, *options):
    """Every logged text arrives once and unaltered, and in order with the output
    that the process writes.
    """
    program = build(bench, "log")
    result = ended(bench.run(*place(nodes), *options, "-n", RANKS, program,
                             RANKS, "order"), "log")
    for rank in range(RANKS):
        lines = re.findall(rf"^r{rank} out (\d+)$", result.out, re.M)
        check(lines == [str(n) for n in range(40)],
              f"rank {rank}: {lines}" + result.tail())
    errors = result.out + result.err if options else result.err
    for rank in range(RANKS):
        check(errors.count(f'r{rank} \t"<&>" \u00e4 no newline;') == 1,
              f"rank {rank}'s error" + result.tail())
    check(errors.count("x" * 199999 + "\n") == 1, "the long text is not whole")


def log_kinds(bench, nodes):
    """On each node the first text of a kind is logged, with the number of the
    others."""
    result = ended(bench.run(*place(nodes), "-n", RANKS, build(bench, "log"),
                             RANKS, "kind"), "log")
    texts = re.findall(r"help of r\d", result.err)
    check(len(texts) == nodes, f"{texts}" + result.tail())
    counts = [int(n) for n in re.findall(
        r"^(\d+) more process(?:es have| has) sent help message "
        r"help-file.txt / some topic$", result.err, re.M)]
    check(sum(counts) == RANKS - nodes, f"{counts}" + result.tail())


def logs(bench):
    for nodes in (1, 2):
        bench.case(f"openpmix log in order: {nodes} nodes",
                   lambda: log_order(bench, nodes))
        bench.case(f"openpmix log in order, merged: {nodes} nodes",
                   lambda: log_order(bench, nodes,
                                     "--merge-stderr-to-stdout"))
        bench.case(f"openpmix log of one kind: {nodes} nodes",
                   lambda: log_kinds(bench, nodes))
        bench.case(f"openpmix log before an abort: {nodes} nodes",
                   lambda: bench.run(
                       *place(nodes), "-n", RANKS, build(bench, "log"), RANKS,
                       "abort", timeout=30).expect(
                           code=9, err=["last words\n", "enough"]))
        bench.case(f"openpmix log elsewhere: {nodes} nodes", lambda: ended(
            bench.run(*place(nodes), "-n", RANKS, build(bench, "log"), RANKS,
                      "refused"), "log").expect(out=["stdout: tagged\n"]))


def open_mpi(bench):
    for nodes in (1, 2, 4):
        for name, *more in (("hello",), ("ring",), ("alltoall",),
                            ("split", 8 // nodes)):
            bench.case(f"openpmix openmpi {name}: {nodes} nodes",
                       lambda: bench.run(
                *place(nodes), "-n", 8, bench.mpi(name), 8, *more).expect(
                    out=[f"{name} ok size 8"]))
        bench.case(f"openpmix openmpi abort: {nodes} nodes", lambda: bench.run(
            *place(nodes), "-n", 4, bench.mpi("abort"), 4, 7).expect(
                code=7, err=["rank 3"], absent=["abort ok"]))
        bench.case(f"openpmix openmpi segv: {nodes} nodes", lambda: bench.run(
            *place(nodes), "-n", 4, bench.mpi("segv"), 4).expect(
                code=139, err=["rank 3", "signal 11"]))
        bench.case(f"openpmix mpi4py: {nodes} nodes",
                   lambda: cases_programs.mpi4py(bench, nodes, NEVER))
        bench.case(f"openpmix HPCC: {nodes} nodes",
                   lambda: cases_programs.hpcc(bench, nodes, NEVER))
        if nodes <= 2:  # a program of two processes
            bench.case(f"openpmix NetPIPE: {nodes} nodes",
                       lambda: cases_programs.netpipe(bench, nodes, NEVER))


def deaths(bench):
    for nodes in (1, 2):
        for what in ("fence", "get", "commit", "connect", "notify", "query"):
            bench.case(f"openpmix killed in {what}: {nodes} nodes",
                       lambda: bench.run(*place(nodes), "-n", 3,
                                         build(bench, "die"), 3, what,
                                         timeout=30).expect(
                           code=137, err=["rank 2"]))
    for nodes in (1, 2, 4):
        bench.case(f"openpmix agent dies: {nodes} nodes",
                   lambda: agent_dies(bench, nodes), settle=10.0)


def commands():
    """Returns (command, form) of every line of the golden file."""
    with open(os.path.join(ROOT, "server", "openpmix", "golden", "commands.txt"),
              encoding="utf-8") as file:
        rows = [line.split(" | ")[:2] for line in file if line[0] != "#"]
    check(len(rows) > 70, "the golden file is too short")
    return rows


def killed_inside(bench, nodes, name, form):
    """The last rank is killed when half of a command, or all of it, is sent;
    the others get an error."""
    script = os.path.join(bench.work, "last-is-raw")
    if not os.path.exists(script):
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"""#!/bin/sh
[ $PMIX_RANK = 2 ] && exec {PYTHON} {RAW} die "$@"
exec {build(bench, "survivor")} 3
""")
        os.chmod(script, 0o755)
    for part in ("half", "whole"):
        aborted = (name, part) == ("abort", "whole")
        bench.run(*place(nodes), "-n", 3, script, name, form, part,
                  timeout=30).expect(code=1 if aborted else 137, err=["rank 2"])


def every_command(bench):
    for name, form in commands():
        bench.case(f"openpmix killed in {name} ({form}): 2 nodes",
                   lambda: killed_inside(bench, 2, name, form))
    for nodes in (1, 4):
        for name in ("job info", "commit", "fence", "get", "finalize"):
            bench.case(f"openpmix killed in {name} (modern): {nodes} nodes",
                       lambda: killed_inside(bench, nodes, name, "modern"))


def agents():
    """Returns the processes of all local agents."""
    found = []
    for pid in leftovers.processes():
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read().strip() == "canopyd":
                    found.append(pid)
        except OSError:
            continue
    return sorted(found)


def agent_dies(bench, nodes):
    """Ranks end with their agent, whether or not they wait for it."""
    job = bench.start(*place(nodes), "-n", RANKS, build(bench, "hang"), RANKS)
    job.wait_for("waiting", RANKS)
    running = agents()
    check(len(running) == nodes, f"{len(running)} agents")
    os.kill(running[-1], signal.SIGKILL)
    result = job.finish(40)
    check(result.code != 0, "the end of an agent is taken for success" +
          result.tail())


def outer_job(bench):
    """A job works although its launcher has the variables of an outer job in its
    environment."""
    outer = {
        "PMIX_NAMESPACE": "outer", "PMIX_RANK": "77",
        "PMIX_SERVER_URI51": "outer.0;tcp4://127.0.0.1:1",
        "PMIX_SERVER_URI61": "outer.0;tcp4://127.0.0.1:1",
        "PMIX_SERVER_URI2": "outer.0;tcp4://127.0.0.1:1",
        "PMIX_GDS_MODULE": "ds21", "PMIX_MCA_gds": "ds21",
        "PMIX_MCA_ptl": "none", "PMIX_SECURITY_MODE": "munge",
    }
    bench.case("openpmix inside an outer job", lambda: bench.run(
        *place(1), "-n", 2, build(bench, "modex"), 2, env=outer).expect(
            out=["modex ok size 2"]))


# A job that prints its server's address and waits for its release.
WAITING = 'echo "at $PMIX_SERVER_URI41 in $PMIX_NAMESPACE"; read go; '


def greeting(nspace, rank, uid):
    """Returns the first message of a client of 4.2.2."""
    payload = b"native\0" + struct.pack("!I", 8) + struct.pack(
        "=II", uid, uid) + b"\0" + nspace.encode() + b"\0" + struct.pack(
            "!I", rank) + b"4.2.2\0v41\0\1hash\0"
    return struct.pack("=iIII", -1, 0xffffffff, len(payload), 0) + payload


def during(bench, attack, nodes):
    """Attacks an agent's port while a job runs; the job must not be affected.
    """
    reader, writer = os.pipe()
    job = bench.start(*place(nodes), "-n", RANKS, "sh", "-c",
                      WAITING + f"exec {build(bench, 'modex')} {RANKS}",
                      "--stdin", "all", stdin=reader)
    os.close(reader)
    try:
        job.wait_for("at ", RANKS)
        words = bytes(job.texts["out"]).decode().split()
        address = words[1].rsplit("/", 1)[1]
        port = int(address.rsplit(":", 1)[1])
        attack(("127.0.0.1", port), words[3])
        os.write(writer, b"go\n")
    finally:
        os.close(writer)
    job.finish(30).expect(out=[f"modex ok size {RANKS}"])


def refused(address, first, seconds=30):
    """Returns whether the agent closes the connection without a reply, which
    takes it 5 s at most, and longer on a busy machine."""
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
        # Looking up a host needs this codec, and another user may not read
        # Python's files.
        codecs.lookup("idna")
        child = os.fork()
        if child == 0:
            code = 2  # after any exception, no other case may run here
            try:
                os.setresuid(65534, 65534, 65534)
                code = 0 if refused(address, greeting(nspace, 0, 65534)) and \
                    refused(address, greeting(nspace, 0, 0)) else 1
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        check(code != 1, "another user was let in")
        check(code == 0, "another user could not ask")

    def half_headers(address, _):
        check(refused(address, greeting("x", 0, 0)[:9]),
              "half a header is waited for")

    def huge(address, _):
        check(refused(address, struct.pack("=iIII", -1, 0xffffffff, 0xffffffff,
                                           0)), "4 GB were asked for")

    def garbage(address, _):
        for first in (b"GET / HTTP/1.0\r\n\r\n", bytes(64), os.urandom(4096)):
            check(refused(address, first), "garbage was let in")

    crowd = []

    # The connections stay open while the job continues.
    def silent_crowd(address, _):
        for _ in range(1000):
            crowd.append(socket.create_connection(address, 5))

    def leave():
        for peer in crowd:
            peer.close()
        crowd.clear()

    for attack in (false_claim, another_user, half_headers, huge, garbage,
                   silent_crowd):
        if attack is another_user and os.geteuid() != 0:
            continue
        for nodes in (1, 2, 4):
            bench.case(f"openpmix hostile: {attack.__name__.replace('_', ' ')}: "
                       f"{nodes} nodes", lambda: during(bench, attack, nodes))
            leave()
    for attack in ("nest", "huge"):
        for nodes in (1, 2, 4):
            bench.case(f"openpmix hostile: a rank sends {attack}: {nodes} nodes",
                       lambda: bench.run(
                           *place(nodes), "-n", RANKS, build(bench, "attacked"),
                           RANKS, f"{PYTHON} {RAW} {attack}").expect(
                               out=[f"attacked ok size {RANKS}", "refused\n"]))


def injection(bench):
    """Tests the library that is loaded by programs that search it by their
    environment, and by programs with a fixed path."""
    plain = build(bench, "modex")
    fixed = build(bench, "modex", "fixed",
                  "-Wl,-rpath,/usr/lib/x86_64-linux-gnu,--disable-new-dtags")
    for inject, loads, insists in (("auto", "ours", "openpmix"),
                                   ("always", "ours", "ours"),
                                   ("never", "openpmix", "openpmix")):
        for program, library in ((plain, loads), (fixed, insists)):
            bench.case(
                f"inject {inject}: {os.path.basename(program)}",
                lambda: bench.run(*place(1, inject), "-n", 2, program,
                                  2).expect(
                    out=["modex ok size 2", f"rank 0 loaded {library}",
                         f"rank 1 loaded {library}"]))
    bench.case("inject never, in an inherited path", lambda: bench.run(
        *place(1), "-n", 2, plain, 2,
        env={"LD_LIBRARY_PATH": f"{bench.prefix}/lib/canopy"}).expect(
            out=["rank 0 loaded openpmix", "rank 1 loaded openpmix"]))
    bench.case("inject: a misspelt word", lambda: bench.run(
        "run", "--inject", "sometimes", "-n", 1, "true").expect_refusal(
            2, "sometimes"))


def listening(bench):
    """--pmix-listen sets the address on which the agent listens."""
    address = "127.0.0.9"
    with bench.overlay("elsewhere", "--pmix-listen", address) as up:
        if up:
            bench.case("openpmix modex: the agent at another address",
                       lambda: ended(bench.run(
                           "run", *NEVER, "--oversubscribe", "-n", RANKS, "sh",
                           "-c", 'echo "at $PMIX_SERVER_URI41"; exec "$@"',
                           "sh", build(bench, "modex"), RANKS),
                           "modex").expect(out=[f"/{address}:"]))
    bench.case("openpmix: the agent at no address", lambda: check(
        "nowhere" in bench.run("up", "--context", "nowhere", "--pmix-listen",
                               "nowhere").expect(code=1).err, "no reason"))


def run(bench):
    api(bench)
    lives(bench)
    forms(bench)
    mixed(bench)
    mixed_abort(bench)
    logs(bench)
    open_mpi(bench)
    deaths(bench)
    every_command(bench)
    outer_job(bench)
    hostile(bench)
    injection(bench)
    listening(bench)
