"""Published data: lookup before and after, and by other forms."""
import threading

from pmix import (PMIX_ERR_NOT_FOUND, PMIX_ERR_PARTIAL_SUCCESS,
                  PMIX_PERSIST_APP, PMIX_PERSISTENCE,
                  PMIX_PERSIST, PMIX_SUCCESS, PMIX_TIMEOUT, PMIX_WAIT,
                  PMIxClient)

from checks import done, info, kept, result, value


def main():
    client = PMIxClient()
    me = result(client.init())
    first = dict(me, rank=0)
    if me["rank"] == 0:
        done(client.publish([
            info("FOOBAR", 1), info("PANDA", "bamboo"),
            info(PMIX_PERSISTENCE, PMIX_PERSIST_APP, PMIX_PERSIST)]))
    # A lookup can wait for keys that are not published yet.
    found = result(client.lookup([{"key": "PANDA"}, {"key": "FOOBAR"}],
                                 [info(PMIX_WAIT, 2), info(PMIX_TIMEOUT, 30)]))
    wanted = [dict(value("bamboo"), key="PANDA", proc=first),
              dict(value(1), key="FOOBAR", proc=first)]
    kept(found == wanted, found)
    status, some = client.lookup([{"key": "ABSENT"}, {"key": "FOOBAR"}], None)
    kept(status == PMIX_ERR_PARTIAL_SUCCESS and some == wanted[1:], status,
         some)
    came, answers = threading.Event(), []
    done(client.lookup_nb(["FOOBAR"], None, lambda *answer: (
        answers.append(answer), came.set()), "mine"))
    kept(came.wait(30) and answers[0] == (PMIX_SUCCESS, wanted[1:], "mine"),
         answers)
    done(client.fence(None, None))
    if me["rank"] == 0:
        done(client.unpublish(["FOOBAR"], None))
        done(client.unpublish(None, None))
    done(client.fence(None, None))
    status, found = client.lookup([{"key": "PANDA"}], None)
    kept(status == PMIX_ERR_NOT_FOUND and not found, status, found)
    done(client.fence(None, None))
    done(client.finalize())
    print(f"publish ok {me['rank']}", flush=True)


if __name__ == "__main__":
    main()
