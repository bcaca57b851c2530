"""Programs in Python over Debian's binding of PMIx, which is built against
another implementation: with Canopy's library loaded, and with its own."""
import ast
import os

import cases_openpmix
from harness import PROGRAMS, PYTHON, check

HOST = os.path.join(PROGRAMS, "python_host.py")
SCRIPT = os.path.join(PROGRAMS, "pmix_python.py")
RANKS = 4
# The value of --inject, and a part of the path of the library that is loaded
# with it.
LIBRARIES = {"always": "lib/canopy/", "never": "/pmix2/"}


def binding(bench, nodes, inject):
    bench.run("run", "--emulate", nodes, "--inject", inject, "--oversubscribe",
              "--map-by", "node", "-n", RANKS, PYTHON, SCRIPT, RANKS,
              LIBRARIES[inject], "events", timeout=120).expect(
                  out=[f"python ok {rank}\n" for rank in range(RANKS)])


def host(bench, kind, *command):
    """Returns the output of the host, a resource manager in Python with
    Canopy's server. Its ranks have the library of that kind."""
    return bench.run(
        "-W", "ignore", HOST, LIBRARIES["always"], RANKS, "sh", "-c",
        f'{cases_openpmix.KINDS[kind]}; exec "$0" "$@"', *command,
        program=PYTHON, timeout=120,
        env={"LD_LIBRARY_PATH": os.path.join(bench.prefix, "lib")}).expect()


def host_of_data(bench, kind):
    host(bench, kind, cases_openpmix.build(bench, "modex"), RANKS)


def host_of_functions(bench, kind):
    """The ranks call each function of the host that the binding can answer."""
    library = LIBRARIES["always" if kind == "ours" else "never"]
    out = host(bench, kind, PYTHON, "-W", "ignore", SCRIPT, RANKS, library,
               "events", "python-host").out
    for rank in range(RANKS):
        check(f"python ok {rank}\n" in out, out)
    calls = ast.literal_eval(out.split("called ")[-1])
    # Libraries answer some queries themselves.
    wanted = {"clientconnected", "publish", "lookup", "unpublish",
              "clientfinalized"}
    check(wanted <= set(calls), out)
    check(calls["clientconnected"] == calls["clientfinalized"] == RANKS, out)


HOSTS = {"data": host_of_data, "its functions": host_of_functions}


def run(bench):
    for nodes in (1, 2):
        for inject in LIBRARIES:
            bench.case(
                f"python: binding with --inject {inject} on {nodes} nodes",
                lambda n=nodes, i=inject: binding(bench, n, i))
    for what, body in HOSTS.items():
        for kind in ("ours", "openpmix"):
            bench.case(f"python: a host on the binding, {what}, {kind}",
                       lambda body=body, kind=kind: body(bench, kind))
