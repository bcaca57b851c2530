"""Groups: construct and destruct, by the blocking and the non-blocking form,
and by invitation."""
import sys
import threading

from pmix import (PMIX_GROUP_ASSIGN_CONTEXT_ID, PMIX_GROUP_CONTEXT_ID,
                  PMIX_EVENT_ACTION_COMPLETE, PMIX_GROUP_ACCEPT,
                  PMIX_GROUP_ID, PMIX_GROUP_INVITED, PMIX_SUCCESS,
                  PMIxClient)

from checks import done, info, kept, result


def of(infos, key):
    return next((i["value"] for i in infos if i["key"] == key), None)


def construct(client, me, size):
    """The members are the job's even ranks; they share one context."""
    members = [dict(me, rank=rank) for rank in range(0, size, 2)]
    if me not in members:
        return
    found = result(client.group_construct(
        "even", members, [info(PMIX_GROUP_ASSIGN_CONTEXT_ID, True)]))
    context = of(found, PMIX_GROUP_CONTEXT_ID)
    kept(isinstance(context, int), found)
    done(client.fence([{"nspace": "even", "rank": 0xfffffffe}], None))
    done(client.group_destruct("even", None))


def construct_nb(client):
    came, answers = threading.Event(), []

    def answer(status, results, data):
        answers.append((status, data))
        came.set()
    done(client.group_construct_nb("all", None, None, answer, "made"))
    kept(came.wait(30) and answers == [(PMIX_SUCCESS, "made")], answers)
    ended = threading.Event()
    done(client.group_destruct_nb("all", None, lambda status, _: (
        done(status), ended.set())))
    kept(ended.wait(30), "no answer")


def invite(client, me, size):
    """Rank 0 invites the others, which accept from their handlers."""
    joined = threading.Event()

    def invited(number, status, source, infos, results):
        done(client.group_join_nb(of(infos, PMIX_GROUP_ID), source,
                                  PMIX_GROUP_ACCEPT, None,
                                  lambda status, *_: (done(status),
                                                      joined.set())))
        return PMIX_EVENT_ACTION_COMPLETE, None
    result(client.register_event_handler([PMIX_GROUP_INVITED], None, invited))
    done(client.fence(None, None))
    if me["rank"] == 0:
        others = [dict(me, rank=rank) for rank in range(size)]
        result(client.group_invite("guests", others, None))
    else:
        kept(joined.wait(30), "not invited")
    done(client.fence(None, None))


def main():
    size = int(sys.argv[1])
    client = PMIxClient()
    me = result(client.init())
    construct(client, me, size)
    construct_nb(client)
    invite(client, me, size)
    done(client.finalize())
    print(f"group ok {me['rank']}", flush=True)


if __name__ == "__main__":
    main()
