"""Canopy's own Python module pmix: clients, tools, and a host."""
import csv
import glob
import os
import re
import signal

import cases_openpmix
from harness import PROGRAMS, PYTHON, ROOT, check

DIRECTORY = os.path.join(PROGRAMS, "python")
RANKS = 4
RACING = 16
CONTEXT = "python-tool"
# Programs of a job on two nodes, and the text that each rank prints.
CLIENTS = {"client": "client", "forms": "forms", "publish": "publish",
           "events": "events", "group": "group", "spawn": "parent",
           "with_mpi": "with_mpi"}
TABLE = os.path.join(ROOT, "client", "include", "tables", "functions.tsv")
MODULE = os.path.join(ROOT, "client", "python", "pmix")
FAILURES = ("of the callback", "of the handler")


def path(bench):
    """Returns the variable with which Python finds the module."""
    return {"PYTHONPATH": os.path.join(
        bench.prefix, "lib", "python3", "dist-packages")}


def program(name):
    return os.path.join(DIRECTORY, name + ".py")


def client(bench, name, *options):
    result = bench.run(
        "run", "--emulate", 2, "--oversubscribe", "--map-by", "node", *options,
        "-n", RANKS, PYTHON, program(name), RANKS, env=path(bench),
        timeout=120).expect(
            out=[f"{CLIENTS[name]} ok {rank}\n" for rank in range(RANKS)])
    if name == "spawn":
        check(result.out.count("child ok") == 2, "children" + result.tail())
    raised = re.findall(r"^RuntimeError: (.*)$", result.err, re.M)
    wanted = {"client": FAILURES[:1], "events": FAILURES[1:]}.get(name, ())
    check(raised == [text for text in wanted for _ in range(RANKS)],
          "what failed on purpose was not logged" + result.tail())


def old_binding(bench):
    """A program for Debian's binding of OpenPMIx runs on the module."""
    bench.run("run", "--emulate", 2, "--oversubscribe", "-n", RANKS, PYTHON,
              os.path.join(PROGRAMS, "pmix_python.py"), RANKS, "lib/canopy/",
              "events", env=path(bench), timeout=120).expect(
                  out=[f"python ok {rank}\n" for rank in range(RANKS)])


def values(bench):
    bench.run(program("values"), program=PYTHON, env=path(bench)).expect(
        out=["values ok\n"])


def tool(bench):
    """The tool ends the job that it has queried."""
    bench.run("up", "--emulate", 2, "--context", CONTEXT).expect()
    job = bench.start("run", "--context", CONTEXT, "-n", 2, "sh", "-c",
                      'echo "in $PMIX_NAMESPACE ."; exec sleep 600')
    job.wait_for(" .\n", 2)
    nspace = bytes(job.texts["out"]).decode().split()[1]
    bench.run(program("tool"), nspace, program=PYTHON, env=path(bench)).expect(
        out=["tool ok\n"])
    job.finish(30).expect(code=128 + signal.SIGTERM)
    bench.run("down", "--context", CONTEXT).expect()


def manual(bench):
    """The program in the manual runs."""
    with open(os.path.join(ROOT, "docs", "python.md"),
              encoding="utf-8") as file:
        script = re.search("^```python\n(from pmix.*?)^```$", file.read(),
                           re.M | re.S)[1]
    bench.run("run", "--emulate", 2, "-n", 2, PYTHON, "-c", script,
              env=path(bench)).expect_lines(["blue", "blue"])


def host(bench, *command):
    """Returns the result of a host whose ranks run COMMAND with our library."""
    env = dict(path(bench), LD_LIBRARY_PATH=os.path.join(bench.prefix, "lib"))
    return bench.run(program("server"), *command, program=PYTHON, env=env,
                     timeout=120).expect(out=["called "])


def host_of_python(bench):
    result = host(bench, RANKS, PYTHON, program("server_client"), RANKS)
    for rank in range(RANKS):
        check(f"served {rank}\n" in result.out, result.tail())
    for call in ("jobcontrol", "getcredential", "log", "allocate"):
        check(f"'{call}': {RANKS}" in result.out, call + result.tail())
    check(result.err.count("RuntimeError: of the host") == RANKS and
          result.err.count("data type 9999") == RANKS,
          "failures of the host were not logged" + result.tail())


def host_of_c(bench, kind):
    modex = cases_openpmix.build(bench, "modex")
    result = host(bench, RANKS, "sh", "-c",
                  f'{cases_openpmix.KINDS[kind]}; exec "$0" "$@"', modex, RANKS)
    check(f"'clientfinalized': {RANKS}" in result.out, result.tail())


def host_of_a_tool(bench):
    directory = os.path.join(bench.work, "tool-host")
    os.mkdir(directory)
    bench.run(program("tool_host"), directory, program=PYTHON,
              env=path(bench)).expect(out=["tool_host ok\n"])


def every_function():
    """The module calls each function of the interface that is not deprecated,
    except functions for structures of C, which have no use in Python."""
    called = set()
    for source in glob.glob(os.path.join(MODULE, "*.py")):
        with open(source, encoding="utf-8") as file:
            called.update(re.findall(r"\blib\.(PMIx_\w+)", file.read()))
    with open(TABLE, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        wanted = {row["name"] for row in rows if row["kind"] == "function" and
                  row["name"].startswith("PMIx_") and row["role"] != "util" and
                  row["status"] != "deprecated"}
    check(wanted and wanted <= called, f"not called: {wanted - called}")


def no_finalize(bench):
    """A program that ends within a session, with a handler, ends by itself."""
    script = ("from pmix import *; c = PMIxClient(); c.init(); "
              "c.register_event_handler(None, None, print); "
              "print('end', flush=True)")
    # Each end is an event of the others' handlers, while their interpreters end.
    result = bench.run("run", "-n", RACING, "--oversubscribe", "--recoverable", PYTHON, "-c", script,
                       env=path(bench))
    check(result.out.count("end\n") == RACING and
          "without calling finalize" in result.err and
          "signal" not in result.err, "it ended otherwise" + result.tail())


def closed(bench):
    """A library that is closed with a session stays in memory, with its thread."""
    script = ("import ctypes, _ctypes; "
              f"path = '{bench.prefix}/lib/canopy/libpmix.so.2'; "
              "library = ctypes.CDLL(path); "
              "library.PMIx_Init(ctypes.create_string_buffer(512), None, 0); "
              "_ctypes.dlclose(library._handle); "
              "print(ctypes.CDLL(path).PMIx_Initialized())")
    result = bench.run("run", "-n", 1, "--inject", "never", PYTHON, "-c", script)
    check(result.out == "1\n" and "signal" not in result.err,
          "it was removed" + result.tail())


def run(bench):
    for name in CLIENTS:
        bench.case(f"python module: {name}",
                   lambda name=name: client(bench, name))
    bench.case("python module: client with --inject never",
               lambda: client(bench, "client", "--inject", "never"))
    for name, body in (("a program for Debian's binding", old_binding),
                       ("the manual's client", manual), ("values", values), ("tool", tool),
                       ("host of Python", host_of_python),
                       ("host of a tool", host_of_a_tool),
                       ("end without finalize", no_finalize),
                       ("closed without finalize", closed)):
        bench.case(f"python module: {name}", lambda body=body: body(bench))
    bench.case("python module: every function", every_function)
    for kind in ("ours", "openpmix"):
        bench.case(f"python module: host of C, {kind}",
                   lambda kind=kind: host_of_c(bench, kind))
