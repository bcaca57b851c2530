"""A client of server.py: requests that the host answers.

    server_client.py SIZE
"""
import sys
import threading

from pmix import (PMIX_ALLOC_NEW, PMIX_COLLECT_DATA, PMIX_ERR_NOT_FOUND,
                  PMIX_EVENT_ACTION_COMPLETE, PMIX_GLOBAL, PMIX_JOB_CTRL_PAUSE,
                  PMIX_LOG_STDERR, PMIX_MONITOR_FILE, PMIX_SUCCESS, PMIxClient)

from checks import done, info, kept, result, value

GREETING = -2003


def exchange(client, me, size):
    done(client.put(PMIX_GLOBAL, "colour", value(f"colour {me['rank']}")))
    done(client.commit())
    done(client.fence(None, [info(PMIX_COLLECT_DATA, True)]))
    for rank in range(size):
        kept(result(client.get(dict(me, rank=rank), "colour", None)) ==
             value(f"colour {rank}"), rank)


def publish(client, me):
    if me["rank"] == 0:
        done(client.publish([info("port", "here")]))
    done(client.fence(None, None))
    (found,) = result(client.lookup([{"key": "port"}], None))
    kept(found["value"] == "here" and found["proc"] == dict(me, rank=0), found)
    done(client.fence(None, None))
    if me["rank"] == 0:
        done(client.unpublish(["port"], None))
    done(client.fence(None, None))
    kept(client.lookup([{"key": "port"}], None) == (PMIX_ERR_NOT_FOUND, []),
         "still published")


def requests(client, me, size):
    (answer,) = result(client.query([{"keys": ["my.own"]}]))
    kept(answer["value"] == f"my.own for {me['rank']}", answer)
    kept(result(client.spawn(None, [{"cmd": "app"}])) == "spawned-app", "spawn")
    (answer,) = result(client.job_control(
        [dict(me, rank=rank) for rank in range(size)],
        [info(PMIX_JOB_CTRL_PAUSE, True)]))
    kept(answer["value"] == size, answer)
    credential = result(client.get_credential(None))
    kept(credential["bytes"] == f"secret of {me['rank']}\0".encode(),
         credential)
    (answer,) = result(client.validate_credential(credential, None))
    kept(answer["value"] is True, answer)
    done(client.connect(None, None))
    done(client.disconnect(None, None))


def failures(client):
    """If a function of the host fails, the request gets an error."""
    kept(client.log([info(PMIX_LOG_STDERR, "text")], None) != PMIX_SUCCESS,
         "log")
    status, found = client.allocation_request(PMIX_ALLOC_NEW, None)
    kept(status != PMIX_SUCCESS and not found, status, found)


def greeting(client, me):
    """An event of the host reaches every rank."""
    came, infos = threading.Event(), []

    def handler(number, status, source, found, results):
        infos.extend(found)
        came.set()
        return PMIX_EVENT_ACTION_COMPLETE, None
    result(client.register_event_handler([GREETING], None, handler))
    done(client.fence(None, None))
    if me["rank"] == 0:
        result(client.monitor([info(PMIX_MONITOR_FILE, "/tmp")], -2004, None))
    kept(came.wait(30), "no greeting")
    kept(any(i["value"] == "the host" for i in infos), infos)
    done(client.fence(None, None))


def main():
    size = int(sys.argv[1])
    client = PMIxClient()
    me = result(client.init())
    exchange(client, me, size)
    publish(client, me)
    requests(client, me, size)
    failures(client)
    greeting(client, me)
    done(client.finalize())
    print(f"served {me['rank']}", flush=True)


if __name__ == "__main__":
    main()
