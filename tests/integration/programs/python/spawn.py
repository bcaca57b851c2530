"""Spawns itself, connects with the new job, and exchanges data with it.

    spawn.py        the first job; its rank 0 spawns `spawn.py child`
"""
import os
import sys

from pmix import (PMIX_ERR_BAD_PARAM, PMIX_GLOBAL, PMIX_JOB_SIZE,
                  PMIX_PARENT_ID, PMIX_RANK_WILDCARD, PMIX_SPAWNED, PMIX_UINT32,
                  PMIX_ENVAR, PMIX_SET_ENVAR, PMIxClient)

from checks import done, info, kept, result, value

CHILDREN = 2


def all_of(nspace):
    return {"nspace": nspace, "rank": PMIX_RANK_WILDCARD}


def parent(client, me):
    """Every process of the first job connects with the children."""
    if me["rank"] == 0:
        kept(client.spawn(None, []) == (PMIX_ERR_BAD_PARAM, None), "no app")
        nspace = result(client.spawn([], [{
            "cmd": sys.executable, "argv": [sys.executable, __file__, "child"],
            "maxprocs": CHILDREN, "info": [info(PMIX_SET_ENVAR, {
                "envar": "FROM", "value": "parent", "separator": ":"},
                PMIX_ENVAR)]}]))
        done(client.put(PMIX_GLOBAL, "child", value(nspace)))
        done(client.commit())
    child = result(client.get(dict(me, rank=0), "child", None))["value"]
    members = [all_of(me["nspace"]), all_of(child)]
    done(client.connect(members, None))
    kept(result(client.get(all_of(child), PMIX_JOB_SIZE, None)) ==
         value(CHILDREN, PMIX_UINT32), "size of the children")
    kept(result(client.get({"nspace": child, "rank": 1}, "greeting", None)) ==
         value("hello from parent"), "greeting")
    done(client.disconnect(members, None))


def child(client, me):
    kept(result(client.get(all_of(me["nspace"]), PMIX_SPAWNED, None))["value"],
         "not spawned")
    spawner = result(client.get(me, PMIX_PARENT_ID, None))["value"]
    kept(spawner["rank"] == 0 and spawner["nspace"] != me["nspace"], spawner)
    done(client.put(PMIX_GLOBAL, "greeting",
                    value(f"hello from {os.environ.get('FROM')}")))
    done(client.commit())
    members = [all_of(spawner["nspace"]), all_of(me["nspace"])]
    done(client.connect(members, None))
    done(client.disconnect(members, None))


def main():
    is_child = sys.argv[1:] == ["child"]
    client = PMIxClient()
    me = result(client.init())
    (child if is_child else parent)(client, me)
    done(client.finalize())
    print(f"{'child' if is_child else 'parent'} ok {me['rank']}", flush=True)


if __name__ == "__main__":
    main()
