"""Events: handlers with codes and without, their order, results, failures.

    events.py SIZE
"""
import sys
import threading

from pmix import (PMIX_ERR_PROC_ABORTED, PMIX_EVENT_ACTION_COMPLETE,
                  PMIX_EVENT_HDLR_NAME, PMIX_EVENT_NO_ACTION_TAKEN,
                  PMIX_RANGE_NAMESPACE, PMIX_RANGE_PROC_LOCAL, PMIX_SUCCESS,
                  PMIxClient)

from checks import done, info, kept, result

CODE = -2001  # used for no other event
LOCAL = -2002


class Handler:
    def __init__(self, answer):
        self.answer, self.calls = answer, []
        self.came = threading.Event()

    def __call__(self, number, status, source, infos, results):
        self.calls.append((number, status, source, infos, results))
        self.came.set()
        return self.answer


def register(client, codes, handler, *infos):
    number = result(client.register_event_handler(codes, list(infos), handler))
    kept(number >= 0, "number", number)
    return number


def of_others(client, me, size):
    """Every process receives the event that the last process raises, with its infos."""
    handler = Handler((PMIX_EVENT_ACTION_COMPLETE, None))
    number = register(client, [CODE], handler, info(PMIX_EVENT_HDLR_NAME, "a"))
    done(client.fence(None, None))
    last = dict(me, rank=size - 1)
    if me == last:
        done(client.notify_event(CODE, me, PMIX_RANGE_NAMESPACE,
                                 [info("why", "because")]))
    kept(handler.came.wait(30), "no event")
    number_called, status, source, infos, _ = handler.calls[0]
    kept((number_called, status, source) == (number, CODE, last),
         handler.calls)
    kept(any(i["key"] == "why" and i["value"] == "because" for i in infos),
         infos)
    done(client.fence(None, None))
    done(client.deregister_event_handler(number))


def chain(client, me):
    """A handler that fails, or returns nothing usable, does not stop the
    others; a successor sees what its predecessors returned."""
    def fails(*_):
        raise RuntimeError("of the handler")

    def ends(*_):
        sys.exit("of a thread of the library")
    first = Handler((PMIX_EVENT_NO_ACTION_TAKEN, [info("left", 42)]))
    default = Handler(None)
    numbers = [register(client, None, default),
               register(client, [LOCAL, PMIX_ERR_PROC_ABORTED], first),
               register(client, [LOCAL], fails),
               register(client, [LOCAL], ends),
               register(client, [LOCAL], lambda *_: (PMIX_SUCCESS, 5)),
               register(client, [LOCAL], lambda *_: "text")]
    done(client.notify_event(LOCAL, me, PMIX_RANGE_PROC_LOCAL, None))
    kept(default.came.wait(30), "the default handler was not called")
    kept(len(first.calls) == 1, first.calls)
    results = default.calls[0][4]
    kept(any(i["value"] == 42 for i in results), results)
    for number in numbers:
        done(client.deregister_event_handler(number))
    came, answers = threading.Event(), []
    done(client.notify_event(LOCAL, me, PMIX_RANGE_PROC_LOCAL, None,
                             lambda *answer: (answers.append(answer),
                                              came.set()), "mine"))
    kept(came.wait(30) and answers == [(PMIX_SUCCESS, "mine")], answers)
    kept(len(default.calls) == 1, "called after its end")


def within(client, me):
    """A handler makes non-blocking calls, and ends its own registration. It may
    be called before the call that registers it returns, for an earlier event.
    """
    came = threading.Event()

    def once(number, *_):
        client.deregister_event_handler(number, lambda *_: came.set())
        return PMIX_EVENT_ACTION_COMPLETE, None
    register(client, [LOCAL], once)
    done(client.notify_event(LOCAL, me, PMIX_RANGE_PROC_LOCAL, None))
    kept(came.wait(30), "not deregistered")


def main():
    client = PMIxClient()
    me = result(client.init())
    of_others(client, me, int(sys.argv[1]))
    chain(client, me)
    within(client, me)
    kept(client.register_event_handler([CODE], None, None)[0] < 0, "no handler")
    done(client.fence(None, None))
    done(client.finalize())
    print(f"events ok {me['rank']}", flush=True)


if __name__ == "__main__":
    main()
