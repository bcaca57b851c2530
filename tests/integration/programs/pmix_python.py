"""Tests Debian's Python binding of PMIx, which is built against OpenPMIx.

    pmix_python.py SIZE LIBRARY [events] [python-host]

LIBRARY is part of the path of the library that is loaded. Less is expected of a
host with the same binding: it can neither name the publisher of data nor
describe processes.
"""
import os
import sys
import threading

from pmix import (PMIX_BOOL, PMIX_COLLECT_DATA, PMIX_ERR_NOT_FOUND,
                  PMIX_EVENT_ACTION_COMPLETE, PMIX_GLOBAL, PMIX_JOB_SIZE,
                  PMIX_QUERY_NAMESPACES, PMIX_QUERY_PROC_TABLE,
                  PMIX_RANGE_NAMESPACE, PMIX_RANK_WILDCARD, PMIX_STRING,
                  PMIxClient)

CODE = -2000  # used for no other event
COLLECT = [{"key": PMIX_COLLECT_DATA, "value": True, "val_type": PMIX_BOOL}]


def kept(condition, *what):
    """Ends the process if a rule is violated; other threads may be waiting."""
    if not condition:
        print("broken:", *what, flush=True)
        os._exit(1)


def text(value):
    return {"value": value, "val_type": PMIX_STRING}


def exchange(client, nspace, rank, size):
    kept(client.put(PMIX_GLOBAL, "color", text(f"color {rank}")) == 0, "put")
    kept(client.commit() == 0, "commit")
    kept(client.fence([], COLLECT) == 0, "fence")
    job = {"nspace": nspace, "rank": PMIX_RANK_WILDCARD}
    status, got = client.get(job, PMIX_JOB_SIZE, [])
    kept(status == 0 and got["value"] == size, "job size", status, got)
    for peer in range(size):
        status, got = client.get({"nspace": nspace, "rank": peer}, "color", [])
        kept(status == 0 and got["value"] == f"color {peer}", peer, status, got)


def publish(client, rank, python_host):
    """Unpublished data is not found."""
    if rank == 0:
        kept(client.publish([dict(text("here"), key="port")]) == 0, "publish")
    kept(client.fence([], []) == 0, "fence")
    status, data = client.lookup([{"key": "port"}], [])
    kept(status == 0 and data[0]["value"] == "here", "lookup", status, data)
    kept(python_host or data[0]["proc"]["rank"] == 0, "published by",
         data[0]["proc"])
    kept(client.fence([], []) == 0, "fence")
    if rank == 0:
        kept(client.unpublish(["port"], []) == 0, "unpublish")
    kept(client.fence([], []) == 0, "fence")
    status, _ = client.lookup([{"key": "port"}], [])
    kept(status == PMIX_ERR_NOT_FOUND, "lookup of what is withdrawn", status)


def query(client, nspace, size, python_host):
    status, answers = client.query(
        [{"keys": [PMIX_QUERY_NAMESPACES], "qualifiers": []}])
    kept(status == 0 and nspace in answers[0]["value"].split(","), status,
         answers)
    if python_host:
        return
    status, answers = client.query(
        [{"keys": [PMIX_QUERY_PROC_TABLE], "qualifiers": []}])
    kept(status == 0, "query", status)
    rows = answers[0]["value"]["array"]
    kept(len(rows) == size, "processes", rows)


def events(client, nspace, rank, size):
    """Each process receives the event that the last process raises."""
    told = threading.Event()

    def on_event(handler, status, source, info, results):
        kept(status == CODE and source["rank"] == size - 1, status, source)
        told.set()
        return PMIX_EVENT_ACTION_COMPLETE, []

    status, handler = client.register_event_handler([CODE], [], on_event)
    kept(status == 0, "registration", status)
    kept(client.fence([], []) == 0, "fence")
    if rank == size - 1:
        status = client.notify_event(CODE, {"nspace": nspace, "rank": rank},
                                     PMIX_RANGE_NAMESPACE, [])
        kept(status == 0, "notify", status)
    kept(told.wait(30), "no event")
    kept(client.fence([], []) == 0, "fence")
    kept(client.deregister_event_handler(handler) == 0, "deregistration")


def main():
    size, library = int(sys.argv[1]), sys.argv[2]
    client = PMIxClient()
    status, me = client.init([])
    kept(status == 0, "init", status)
    nspace, rank = me["nspace"], me["rank"]
    with open("/proc/self/maps", encoding="ascii") as maps:
        kept(any(library in line and "libpmix" in line for line in maps),
             "another library")
    exchange(client, nspace, rank, size)
    python_host = "python-host" in sys.argv
    publish(client, rank, python_host)
    query(client, nspace, size, python_host)
    status, peers = client.resolve_peers(None, nspace)
    kept(status == 0 and {"nspace": nspace, "rank": rank} in peers, peers)
    if "events" in sys.argv:
        events(client, nspace, rank, size)
    kept(client.fence([], []) == 0, "fence")
    kept(client.finalize([]) == 0, "finalize")
    print(f"python ok {rank}", flush=True)


if __name__ == "__main__":
    main()
