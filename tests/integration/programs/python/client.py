"""A client: scopes of data, job data, direct and non-blocking forms, logs.

    client.py SIZE
"""
import sys
import threading

from pmix import (PMIX_COLLECT_DATA, PMIX_ERR_EXISTS_OUTSIDE_SCOPE,
                  PMIX_ERR_NOT_FOUND, PMIX_GLOBAL,
                  PMIX_JOB_SIZE, PMIX_LOCAL, PMIX_LOCAL_PEERS,
                  PMIX_LOG_STDERR, PMIX_NODEID, PMIX_OPTIONAL,
                  PMIX_QUERY_NAMESPACES, PMIX_RANK_WILDCARD, PMIX_REMOTE,
                  PMIX_STRING, PMIX_SUCCESS, PMIX_UINT32, PMIX_UINT64,
                  PMIxClient)

from checks import done, info, kept, result, value


def put_all(client, me):
    done(client.store_internal(me, "kept inside", value(7)))
    done(client.put(PMIX_LOCAL, f"{me['rank']}-local",
                    value(1234, PMIX_UINT64)))
    done(client.put(PMIX_REMOTE, f"{me['rank']}-remote", value("1234")))
    done(client.put(PMIX_GLOBAL, "name", value(f"rank {me['rank']}")))
    done(client.commit())
    done(client.fence([dict(me, rank=PMIX_RANK_WILDCARD)],
                      [info(PMIX_COLLECT_DATA, True)]))


def scopes(client, me, size):
    """A key of scope local is visible on its node only, and a key of scope remote
    on the other nodes only."""
    job = dict(me, rank=PMIX_RANK_WILDCARD)
    local = result(client.get(job, PMIX_LOCAL_PEERS, None))
    peers = {int(rank) for rank in local["value"].split(",")}
    kept(me["rank"] in peers and len(peers) < size, peers)
    node = result(client.get(me, PMIX_NODEID, None))
    kept(node["val_type"] == PMIX_UINT32, node)
    for rank in range(size):
        side = "local" if rank in peers else "remote"
        wanted = value(1234, PMIX_UINT64) if rank in peers else value("1234")
        peer = dict(me, rank=rank)
        kept(result(client.get(peer, f"{rank}-{side}", [])) == wanted, rank)
        name = result(client.get(peer, "name", []))
        kept(name == value(f"rank {rank}"), rank, name)
        other = "remote" if rank in peers else "local"
        status, absent = client.get(peer, f"{rank}-{other}",
                                    [info(PMIX_OPTIONAL, True)])
        kept(rank == me["rank"] or (absent is None and status in (
            PMIX_ERR_NOT_FOUND, PMIX_ERR_EXISTS_OUTSIDE_SCOPE)), rank, status)
    kept(result(client.get(me, "kept inside", None)) == value(7), "internal")


class Answers:
    """Collects the answers of non-blocking calls."""

    def __init__(self):
        self.came = threading.Event()
        self.values = None

    def __call__(self, *answer):
        self.values = answer
        self.came.set()

    def wait(self, status):
        done(status)
        kept(self.came.wait(30), "no answer")
        return self.values


def nonblocking(client, me, size):
    answers = Answers()
    done(answers.wait(client.fence_nb(None, None, answers, "mine"))[0])
    kept(answers.values[1] == "mine", answers.values)
    answers = Answers()
    status = client.get_nb(dict(me, rank=size - 1), "name", None, answers)
    kept(answers.wait(status) ==
         (PMIX_SUCCESS, value(f"rank {size - 1}"), None), answers.values)
    answers = Answers()
    found = answers.wait(client.query_nb(
        [{"keys": [PMIX_QUERY_NAMESPACES], "qualifiers": []}], answers))[1]
    kept(me["nspace"] in found[0]["value"].split(","), found)
    kept(client.fence_nb(None, None, None) < 0, "a callback is required")


def fails_in_callback(client):
    """An exception of a callback reaches no other thread."""
    came = threading.Event()

    def fail(status, data):
        came.set()
        raise RuntimeError("of the callback")
    done(client.fence_nb(None, None, fail))
    kept(came.wait(30), "no callback")
    done(client.fence(None, None))


def whereabouts(client, me, size):
    """The processes of a job are known by their nodes."""
    nodes = result(client.resolve_nodes(me["nspace"])).split(",")
    kept(len(nodes) == 2, nodes)
    found = sum((result(client.resolve_peers(node, me["nspace"]))
                 for node in nodes), [])
    kept(sorted(proc["rank"] for proc in found) == list(range(size)), found)
    here = result(client.resolve_peers(None, me["nspace"]))
    kept(len(here) == size / 2 and me in here, here)


def main():
    size = int(sys.argv[1])
    client = PMIxClient()
    kept(not client.initialized(), "initialised before")
    me = result(client.init(None))
    kept(client.initialized(), "not initialised")
    job = dict(me, rank=PMIX_RANK_WILDCARD)
    kept(result(client.get(job, PMIX_JOB_SIZE, None)) ==
         value(size, PMIX_UINT32), "job size")
    put_all(client, me)
    scopes(client, me, size)
    nonblocking(client, me, size)
    fails_in_callback(client)
    whereabouts(client, me, size)
    done(client.log([info(PMIX_LOG_STDERR, f"logged by {me['rank']}\n",
                          PMIX_STRING)], None))
    done(client.fence(None, None))
    done(client.finalize(None))
    print(f"client ok {me['rank']}", flush=True)


if __name__ == "__main__":
    main()
