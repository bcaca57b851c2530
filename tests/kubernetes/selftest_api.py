"""The fake API server, as programs in pods see it."""
import contextlib
import http.client
import json
import os
import ssl
import time

import fake_api
from selftest_pods import check

PODS = "/api/v1/namespaces/default/pods"


class Client:
    """One connection to the server, as a program in a pod makes it."""

    def __init__(self, server):
        self.server = server
        tls = ssl.create_default_context(
            cafile=os.path.join(server.account, "ca.crt"))
        self.connection = http.client.HTTPSConnection(
            *server.address, context=tls, timeout=10)

    def ask(self, verb, path, body=None, kind="application/json"):
        with open(os.path.join(self.server.account, "token"),
                  encoding="ascii") as file:
            token = file.read()
        self.connection.request(
            verb, path, json.dumps(body) if body is not None else None,
            {"Authorization": f"Bearer {token}", "Content-Type": kind})
        return self.connection.getresponse()

    def json(self, verb, path, body=None, code=200, **more):
        answer = self.ask(verb, path, body, **more)
        text = answer.read()
        check(answer.status == code, f"{verb} {path}: {answer.status} {text}")
        return json.loads(text)

    def close(self):
        self.connection.close()


def pod(name, node="n1", **labels):
    return {"metadata": {"name": name, "labels": labels},
            "spec": {"nodeName": node, "containers": []}}


@contextlib.contextmanager
def serving(directory):
    with fake_api.Server(directory) as server:
        client = Client(server)
        try:
            yield server, client
        finally:
            client.close()


def objects(directory):
    with serving(directory) as (server, client):
        made = client.json("POST", PODS, pod("a", "n1", app="x"), code=201)
        client.json("POST", PODS, pod("a"), code=409)
        client.json("POST", PODS, pod("b", "n2", app="y"), code=201)
        meta = made["metadata"]
        check(meta["uid"] and int(meta["resourceVersion"]) > 0, meta)
        for query, names in (
                ("?fieldSelector=spec.nodeName%3Dn2", ["b"]),
                ("?labelSelector=app%20in%20(x,z)", ["a"]),
                ("?labelSelector=app!%3Dx", ["b"]), ("?labelSelector=!app", []),
                ("?fieldSelector=metadata.name%3Da", ["a"]), ("", ["a", "b"])):
            found = client.json("GET", PODS + query)["items"]
            check([one["metadata"]["name"] for one in found] == names, query)
        client.json("GET", PODS + "?fieldSelector=spec.color%3Dred", code=400)
        changed = client.json("PATCH", PODS + "/a", {"metadata": {"labels": {
            "app": None, "new": "1"}}}, kind="application/merge-patch+json")
        check(changed["metadata"]["labels"] == {"new": "1"}, changed)
        made["metadata"]["labels"] = {}
        client.json("PUT", PODS + "/a", made, code=409)
        client.json("DELETE", PODS + "/a")
        left = client.json("GET", PODS + "/a")
        check("deletionTimestamp" in left["metadata"], left)
        client.json("DELETE", PODS + "/a?gracePeriodSeconds=0")
        client.json("GET", PODS + "/a", code=404)
        check(server.counts["create pods"] == 3, server.counts)


def parts(directory):
    """The parts of a long list show one moment, and end with the history."""
    with serving(directory) as (server, client):
        for i in range(5):
            server.create("pods", "default", pod(f"p{i}"))
        names, more = [], ""
        while True:
            answer = client.json("GET", f"{PODS}?limit=2&continue={more}")
            names += [one["metadata"]["name"] for one in answer["items"]]
            more = answer["metadata"].get("continue")
            if not more:
                break
            server.delete("pods", "default", names[-1], 0)
            server.create("pods", "default", pod(f"q{len(names)}"))
        check(names == [f"p{i}" for i in range(5)], names)
        first = client.json("GET", f"{PODS}?limit=1")["metadata"]["continue"]
        version = server.store.version
        old = f"{PODS}?resourceVersion={version - 1}&resourceVersionMatch="
        check(len(client.json("GET", old + "Exact")["items"]) == 4, "the past")
        check(len(client.json("GET", old + "NotOlderThan&limit=1")["items"]) == 5,
              "the present, in one part")
        client.json("GET", f"{PODS}?resourceVersion={version + 1}", code=504)
        server.expire_history()
        client.json("GET", f"{PODS}?limit=1&continue={first}", code=410)
        client.json("GET", old + "Exact", code=410)


def event(answer):
    """Returns type, name and version of the next event of a watch."""
    line = answer.readline()
    if not line:
        return None
    found = json.loads(line)
    meta = found["object"].get("metadata", {})
    return found["type"], meta.get("name"), meta.get("resourceVersion")


def watches(directory):
    with serving(directory) as (server, client):
        version = server.create("pods", "default", pod("a"))["metadata"][
            "resourceVersion"]
        watch = f"{PODS}?watch=1&fieldSelector=spec.nodeName%3Dn1"
        answer = client.ask("GET", f"{watch}&timeoutSeconds=1")
        check(event(answer)[:2] == ("ADDED", "a"), "the present state")
        check(event(answer) is None, "the end of its time")
        answer = client.ask("GET", f"{watch}&resourceVersion={version}")
        server.create("pods", "default", pod("elsewhere", "n2"))
        server.create("pods", "default", pod("b"))
        server.patch("pods", "default", "a", {"spec": {"x": "1"}})
        server.delete("pods", "default", "a", 0)
        seen = [event(answer) for _ in range(3)]
        check([one[:2] for one in seen] == [("ADDED", "b"), ("MODIFIED", "a"),
                                            ("DELETED", "a")], seen)
        server.drop_watches()
        try:
            check(event(answer) is None, "the end of a dropped watch")
        except (OSError, http.client.HTTPException):
            pass
        client.close()
        answer = client.ask("GET", f"{watch}&resourceVersion={seen[-1][2]}"
                            "&allowWatchBookmarks=true")
        check(event(answer)[0] == "BOOKMARK", "a bookmark")
        server.expire_history()
        client.close()
        answer = client.ask("GET", f"{watch}&resourceVersion={seen[-1][2]}")
        found = json.loads(answer.readline())
        check((found["type"], found["object"]["code"]) == ("ERROR", 410), found)
        client.close()


def faults(directory):
    with serving(directory) as (server, client):
        server.faults.throttle(2, retry_after=3)
        for _ in range(2):
            answer = client.ask("GET", PODS)
            check((answer.status, answer.headers["Retry-After"]) == (429, "3"),
                  answer.status)
            answer.read()
        client.json("GET", PODS)
        old = server.token
        server.rotate_token()
        client.json("GET", PODS)
        server.token, new = old, server.token
        client.json("GET", PODS, code=401)
        server.token = new
        server.faults.break_answers(1)
        try:
            client.json("GET", PODS)
            raise AssertionError("a whole answer")
        except http.client.IncompleteRead:
            client.close()
        server.refuse(0.3)
        client.close()
        try:
            client.json("GET", PODS)
            raise AssertionError("an answer")
        except ConnectionRefusedError:
            client.close()
        time.sleep(0.5)
        client.json("GET", PODS)
        server.faults.forbidden.add(("list", "pods"))
        client.json("GET", PODS, code=403)


CASES = {"objects": objects, "parts of a list": parts, "watches": watches,
         "faults": faults}
