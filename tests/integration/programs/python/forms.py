"""Every method with a non-blocking form: both give the same result. A method
that has no wait returns before its callback is called.

    forms.py SIZE
"""
import sys
import threading

from pmix import (PMIX_ALLOC_NEW, PMIX_CPUBIND_PROCESS, PMIX_ERR_BAD_PARAM,
                  PMIX_ERR_NOT_FOUND, PMIX_GLOBAL, PMIX_JOB_CTRL_RESUME,
                  PMIX_JOB_SIZE, PMIX_LOG_STDERR, PMIX_MONITOR_FILE,
                  PMIX_OPTIONAL, PMIX_QUERY_NAMESPACES,
                  PMIX_RESOURCE_BLOCK_DEFINE, PMIX_SUCCESS, PMIxClient)

from checks import done, info, kept, result, value

OPTIONAL = [info(PMIX_OPTIONAL, True)]


def answer_of(call, *args):
    """Returns the answer in the callback of a non-blocking form, as the
    blocking form returns it. If the call itself fails, returns its status."""
    came, answers = threading.Event(), []

    def answer(*values):
        answers.append(values)
        came.set()
    status = call(*args, answer, "mine")
    if status != PMIX_SUCCESS:
        kept(not answers, status, answers)
        return status
    kept(came.wait(30), call, "has no answer")
    kept(answers[0][-1] == "mine", answers)
    found = answers[0][:-1]
    return found[0] if len(found) == 1 else found


def same(client, name, *args):
    """Compares the two forms of a method, and returns the result."""
    first = getattr(client, name)(*args)
    second = answer_of(getattr(client, name + "_nb"), *args)
    status = first[0] if isinstance(first, tuple) else first
    if status != PMIX_SUCCESS and not isinstance(second, tuple):
        kept(second == status, name, first, second)
    else:
        kept(first == second, name, first, second)
    return first


def data(client, me):
    done(client.put(PMIX_GLOBAL, "key", value(1)))
    done(client.commit())
    done(same(client, "fence", None, None))
    result(same(client, "get", me, "key", None))
    status, found = same(client, "get", me, "absent", OPTIONAL)
    kept(status == PMIX_ERR_NOT_FOUND and found is None, status, found)
    result(same(client, "query",
                [{"keys": [PMIX_QUERY_NAMESPACES], "qualifiers": None}]))
    kept(same(client, "fence", [{"nspace": me["nspace"]}], None) ==
         PMIX_ERR_BAD_PARAM, "a process without a rank")


def published(client, me):
    mine = f"of {me['rank']}"
    done(answer_of(client.publish_nb, [info(mine, 1)]))
    found = result(client.lookup([{"key": mine}], None))
    kept(answer_of(client.lookup_nb, [mine], None) == (PMIX_SUCCESS, found),
         found)
    done(answer_of(client.unpublish_nb, [mine], None))
    kept(client.lookup([{"key": mine}], None)[0] == PMIX_ERR_NOT_FOUND, mine)


def jobs(client, me, size):
    others = [dict(me, rank=rank) for rank in range(size)]
    done(client.connect(others, None))
    done(client.disconnect(others, None))
    done(answer_of(client.connect_nb, others, None))
    done(answer_of(client.disconnect_nb, others, None))
    done(same(client, "log", [info(PMIX_LOG_STDERR, "logged\n")], None))
    same(client, "job_control", [me], [info(PMIX_JOB_CTRL_RESUME, True)])
    kept(same(client, "allocation_request", PMIX_ALLOC_NEW, None)[0] < 0,
         "there is no scheduler")
    kept(same(client, "resource_block", PMIX_RESOURCE_BLOCK_DEFINE, "block",
              [{"type": 1, "count": 2}], None) < 0, "there is no scheduler")
    same(client, "monitor", [info(PMIX_MONITOR_FILE, "/no/such/file")], -2005,
         None)
    kept(same(client, "monitor", [], -2005, None)[0] == PMIX_ERR_BAD_PARAM,
         "nothing to monitor")
    done(client.heartbeat())


def credentials(client):
    first = result(client.get_credential(None))
    kept(first["size"] == len(first["bytes"]) > 0, first)
    status, second, _ = answer_of(client.get_credential_nb, None)
    kept(status == PMIX_SUCCESS and second["bytes"], status, second)
    result(same(client, "validate_credential", first, None))
    kept(same(client, "validate_credential", {"bytes": b"no"}, None)[0] < 0,
         "a wrong credential")


def spawned(client, me):
    if me["rank"] != 0:
        return
    apps = [{"cmd": "/bin/true"}]
    for status, nspace in (client.spawn(None, apps),
                           answer_of(client.spawn_nb, None, apps)):
        done(status)
        kept(nspace and nspace != me["nspace"], nspace)
    kept(same(client, "spawn", None, [{"cmd": "/no/such/program"}])[0] < 0,
         "no program")


def groups(client, me):
    """Constructs a group of the whole job, which each member leaves."""
    result(client.group_construct("first", None, None))
    status, _ = answer_of(client.group_construct_nb, "second", None, None)
    done(status)
    left = client.group_leave("first", None)
    kept(left == answer_of(client.group_leave_nb, "second", None), left)
    done(client.fence(None, None))


def hardware(client):
    cpus = result(client.get_cpuset(PMIX_CPUBIND_PROCESS))
    result(same(client, "compute_distances", cpus, None))
    status, infos = client.fabric_register(None)
    if status == PMIX_SUCCESS:
        kept(infos and client.fabric_update() == (status, infos), infos)
        done(answer_of(client.fabric_update_nb))
        done(client.fabric_deregister())
        done(answer_of(client.fabric_register_nb, None))
        done(answer_of(client.fabric_deregister_nb))
    kept(answer_of(client.fabric_deregister_nb) < 0, "no fabric")


def main():
    client = PMIxClient()
    me = result(client.init())
    size = int(sys.argv[1])
    job = dict(me, rank=0xfffffffe)
    kept(result(client.get(job, PMIX_JOB_SIZE, None))["value"] == size, size)
    data(client, me)
    published(client, me)
    jobs(client, me, size)
    credentials(client)
    spawned(client, me)
    groups(client, me)
    hardware(client)
    done(client.fence(None, None))
    done(client.finalize())
    print(f"forms ok {me['rank']}", flush=True)


if __name__ == "__main__":
    main()
