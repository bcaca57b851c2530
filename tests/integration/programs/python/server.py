"""A resource manager of one node in Python.

    server.py N PROGRAM [ARGUMENT...]

Starts N ranks of PROGRAM, serves their requests, prints the number of calls of
each of its functions, and exits with the first exit code that is not 0.
"""
import collections
import os
import subprocess
import sys
import threading

from pmix import (PMIX_ERR_NOT_FOUND, PMIX_EVENT_ACTION_COMPLETE,
                  PMIX_JOB_SIZE, PMIX_NODE_MAP, PMIX_OPERATION_SUCCEEDED,
                  PMIX_PROC_MAP, PMIX_RANGE_NAMESPACE, PMIX_STRING,
                  PMIX_SUCCESS, PMIX_UINT32, PMIxServer)

from checks import info, kept, result

NSPACE = "python-job"
GREETING = -2003  # an event that the host raises when the ranks ask

server = PMIxServer()
published = {}  # key -> result of a lookup
calls = collections.Counter()


def must(status, *what):
    kept(status in (PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED), status, *what)


def agree(_, answer, data):
    answer(PMIX_SUCCESS, data)
    return PMIX_SUCCESS


def at_once(*_):
    """Completes the request immediately, so no answer follows."""
    return PMIX_OPERATION_SUCCEEDED


def fence(args, answer, data):
    answer(PMIX_SUCCESS, args["data"], data)
    return PMIX_SUCCESS


def publish(args, answer, data):
    for row in args["directives"]:
        if not row["key"].startswith("pmix."):
            published[row["key"]] = dict(row, proc=args["proc"])
    return agree(args, answer, data)


def lookup(args, answer, data):
    found = [published[key] for key in args["keys"] if key in published]
    answer(PMIX_SUCCESS if found else PMIX_ERR_NOT_FOUND, found, data)
    return PMIX_SUCCESS


def unpublish(args, answer, data):
    for key in args["keys"] or list(published):
        published.pop(key, None)
    return agree(args, answer, data)


def query(args, answer, data):
    """Answers the query later, on another thread."""
    found = [info(key, f"{key} for {args['source']['rank']}")
             for row in args["queries"] for key in row["keys"]]
    threading.Timer(0.01, answer, (PMIX_SUCCESS, found, data)).start()
    return PMIX_SUCCESS


def spawn(args, answer, data):
    answer(PMIX_SUCCESS, "spawned-" + args["apps"][0]["cmd"], data)
    return PMIX_SUCCESS


def job_control(args, answer, data):
    answer(PMIX_SUCCESS, [info("targets", len(args["targets"]))], data)
    return PMIX_SUCCESS


def get_credential(args, answer, data):
    secret = f"secret of {args['source']['rank']}\0".encode()
    answer(PMIX_SUCCESS, {"bytes": secret, "size": len(secret)}, [], data)
    return PMIX_SUCCESS


def validate_credential(args, answer, data):
    kept(args["credential"]["bytes"].startswith(b"secret of "), args)
    answer(PMIX_SUCCESS, None, [info("valid", True)], data)
    return PMIX_SUCCESS


def monitor(args, answer, data):
    """Raises an event, which the ranks request by this function."""
    must(server.notify_event(GREETING, args["source"], PMIX_RANGE_NAMESPACE,
                             [info("from", "the host")], lambda *_: None))
    answer(PMIX_SUCCESS, None, data)
    return PMIX_SUCCESS


def fails(*_):
    raise RuntimeError("of the host")


def unusable(_, answer, data):
    """Answers with a value that cannot be converted."""
    answer(PMIX_SUCCESS, [info("odd", 1, 9999)], data)
    return PMIX_SUCCESS


FUNCTIONS = {
    "clientconnected": agree, "clientfinalized": agree, "abort": agree,
    "fencenb": fence, "publish": publish, "lookup": lookup,
    "unpublish": unpublish, "query": query, "spawn": spawn, "connect": agree,
    "disconnect": at_once, "registerevents": at_once,
    "deregisterevents": at_once, "notifyevent": at_once,
    "jobcontrol": job_control, "getcredential": get_credential,
    "validatecredential": validate_credential, "monitor": monitor,
    "log": fails, "allocate": unusable, "fabric": fails,
}


def counted(name):
    def call(*args):
        calls[name] += 1
        return FUNCTIONS[name](*args)
    return call


def register_job(size):
    nodes = result(server.generate_regex([os.uname().nodename]))
    ranks = result(server.generate_ppn([",".join(map(str, range(size)))]))
    job = [info(PMIX_NODE_MAP, nodes.decode(), PMIX_STRING),
           info(PMIX_PROC_MAP, ranks.decode(), PMIX_STRING),
           info(PMIX_JOB_SIZE, size, PMIX_UINT32)]
    must(server.register_nspace(NSPACE, size, job + result(
        server.setup_application(NSPACE, None))))
    must(server.setup_local_support(NSPACE, None))


def start(rank, command):
    proc = {"nspace": NSPACE, "rank": rank}
    must(server.register_client(proc, os.getuid(), os.getgid()))
    env = dict(os.environ)
    must(server.setup_fork(proc, env))
    kept(env["PMIX_RANK"] == str(rank), env)
    return subprocess.Popen(command, env=env)


def own_events():
    """A host can register event handlers of its own."""
    came = threading.Event()

    def handler(number, status, source, infos, results):
        came.set()
        return PMIX_EVENT_ACTION_COMPLETE, None
    result(server.register_event_handler([GREETING], None, handler))
    return came


def after_the_job():
    """Makes the calls that need no process."""
    first = {"nspace": NSPACE, "rank": 0}
    status, (found, size) = server.dmodex_request(first)
    kept(status == PMIX_SUCCESS and len(found) == size > 0, status, found)
    kept(result(server.collect_job_info([first]))["size"] > 0, "job info")
    inventory = result(server.collect_inventory(None))
    must(server.deliver_inventory(inventory, None))
    must(server.register_resources([info("own.key", 1)]))
    must(server.deregister_resources([info("own.key", 1)]))
    must(server.register_attributes("PMIx_Get", ["PMIX_TIMEOUT"]))
    must(server.define_process_set([first], "first"))
    must(server.delete_process_set("first"))
    cpus = result(server.generate_cpuset("hwloc:0"))
    kept(cpus == {"source": "hwloc", "cpus": [0]}, cpus)
    kept(result(server.generate_cpuset_string(cpus)) == "hwloc:0", cpus)
    kept(result(server.generate_locality_string(cpus)), "locality")
    regex = result(server.generate_regex2(["n1", "n2"]))
    kept(result(server.parse_regex2(regex)) == ["n1", "n2"], regex)
    must(server.deregister_client(first))


def with_callback(call, *args):
    """Returns the status of a call that does not wait."""
    came, statuses = threading.Event(), []
    status = call(*args, lambda *answer: (statuses.append(answer), came.set()),
                  "mine")
    if status == PMIX_OPERATION_SUCCEEDED:
        return status
    must(status)
    kept(came.wait(30) and statuses[0][1] == "mine", statuses)
    return statuses[0][0]


def main():
    size, command = int(sys.argv[1]), sys.argv[2:]
    kept(server.init(None, {}) < 0 and server.init(None, {"moon": agree}) < 0,
         "a server without functions, or with an unknown one")
    must(server.init(None, {name: counted(name) for name in FUNCTIONS}))
    greeted = own_events()
    register_job(size)
    children = [start(rank, command) for rank in range(size)]
    codes = [child.wait() for child in children]
    if calls["monitor"]:
        kept(greeted.wait(30), "the host has missed its own event")
    after_the_job()
    must(with_callback(server.register_nspace, "other", 0, None))
    must(with_callback(server.deregister_nspace, "other"))
    must(server.deregister_nspace(NSPACE))
    must(server.finalize())
    print("called", dict(calls), flush=True)
    sys.exit(next((code for code in codes if code != 0), 0))


if __name__ == "__main__":
    main()
