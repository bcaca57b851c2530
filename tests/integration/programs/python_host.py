"""A resource manager of one node on Debian's Python binding of PMIx.

    python_host.py LIBRARY N PROGRAM [ARGUMENT...]

The binding is built against OpenPMIx. Starts N ranks of PROGRAM, prints the
number of calls of each of its functions, and exits with the first exit code
that is not 0. LIBRARY is part of the path of the library that this process must
have loaded.
"""
import collections
import os
import subprocess
import sys

from pmix import (PMIX_ERR_NOT_FOUND, PMIX_JOB_SIZE, PMIX_NODE_MAP,
                  PMIX_OPERATION_SUCCEEDED, PMIX_PROC_MAP,
                  PMIX_QUERY_NAMESPACES, PMIX_STRING, PMIX_SUCCESS, PMIX_UINT32,
                  PMIxServer)

NSPACE = "python-job"

children = []
published = {}  # key -> result of a lookup
calls = collections.Counter()


def connected(proc):
    return PMIX_SUCCESS if proc["nspace"] == NSPACE else PMIX_ERR_NOT_FOUND


def done(_):
    return PMIX_SUCCESS


def abort(_):
    for child in children:
        child.terminate()
    return PMIX_SUCCESS


def publish(args):
    for info in args["directives"]:
        published[info["key"]] = dict(info, proc=args["proc"])
    return PMIX_SUCCESS


def lookup(args):
    keys = [key.decode() for key in args["keys"]]
    found = [published[key] for key in keys if key in published]
    return (PMIX_SUCCESS, found) if found else (PMIX_ERR_NOT_FOUND, None)


def unpublish(args):
    for key in args.get("keys", list(published)):
        published.pop(key, None)
    return PMIX_SUCCESS


def query(_, queries):
    return PMIX_SUCCESS, [{"key": PMIX_QUERY_NAMESPACES, "value": NSPACE,
                           "val_type": PMIX_STRING}] * len(queries)


# The binding never returns the results of a fence or a direct modex.
FUNCTIONS = {"clientconnected": connected, "clientfinalized": done,
             "abort": abort, "publish": publish, "lookup": lookup,
             "unpublish": unpublish, "query": query, "registerevents": done,
             "deregisterevents": done, "notifyevent": done}


def counted(name):
    def call(*args):
        calls[name] += 1
        return FUNCTIONS[name](*args)
    return call


def must(status, what):
    """Ends the process; the binding has threads that wait."""
    if status not in (PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED):
        print("python_host:", what, status, file=sys.stderr, flush=True)
        os._exit(125)


def register_job(server, size):
    status, nodes = server.generate_regex([os.uname().nodename])
    must(status, "generate_regex")
    status, ranks = server.generate_ppn([",".join(map(str, range(size)))])
    must(status, "generate_ppn")
    must(server.register_nspace(NSPACE, size, [
        {"key": PMIX_NODE_MAP, "value": nodes.decode(), "val_type": PMIX_STRING},
        {"key": PMIX_PROC_MAP, "value": ranks.decode(), "val_type": PMIX_STRING},
        {"key": PMIX_JOB_SIZE, "value": size, "val_type": PMIX_UINT32}]),
        "register_nspace")


def environment(server, rank):
    proc = {"nspace": NSPACE, "rank": rank}
    must(server.register_client(proc, os.getuid(), os.getgid()),
         "register_client")
    env = dict(os.environ)
    must(server.setup_fork(proc, env), "setup_fork")
    return env


def serve(server, size, command):
    register_job(server, size)
    # All ranks are registered before the first rank starts, because the binding
    # holds the interpreter's lock while it registers, and a function of the
    # host waits for that lock.
    environments = [environment(server, rank) for rank in range(size)]
    for env in environments:
        children.append(subprocess.Popen(command, env=env))
    codes = [child.wait() for child in children]
    server.deregister_nspace(NSPACE)
    return next((code for code in codes if code != 0), 0)


def main():
    library, size, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    with open("/proc/self/maps", encoding="ascii") as maps:
        loaded = any(library in line and "libpmix" in line for line in maps)
    must(PMIX_SUCCESS if loaded else PMIX_ERR_NOT_FOUND, library)
    server = PMIxServer()
    must(server.init([], {name: counted(name) for name in FUNCTIONS}), "init")
    code = serve(server, size, command)
    must(server.finalize(), "finalize")
    print("called", dict(calls), flush=True)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
