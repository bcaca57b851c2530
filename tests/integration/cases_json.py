"""The documents of -o json agree with docs/json.md: each documented field
appears with its type, and no other field appears."""
import json
import os
import re
import signal

import cases_running
import harness
from harness import check, until

PAGE = os.path.join(harness.ROOT, "docs", "json.md")
CONTEXT = "json"
WHERE = ("--context", CONTEXT)


def documented():
    """Returns the types of the fields of each command of the page."""
    with open(PAGE, encoding="utf-8") as page:
        sections = re.split(r"^## `canopy ([^`]+)`$", page.read(), flags=re.M)[1:]
    return {name: dict(re.findall(r"^\| `([^`]+)` \| ([^|]+?) \|", text, re.M))
            for name, text in zip(sections[::2], sections[1::2])}


def kind(value):
    """Returns the type of a value, named as on the page."""
    if value is None:
        return "null"
    for python, name in ((bool, "bool"), ((int, float), "number"), (str, "text"),
                         (dict, "object")):
        if isinstance(value, python):
            return name
    of = {kind(element) for element in value} - {"object"}
    return "list of " + "/".join(sorted(of)) if of else "list"


def fields(document, known, prefix=""):
    """Yields each field of a document with its type. Omits the fields inside a
    field of the type `any`."""
    for name, value in document.items():
        path = prefix + name
        yield path, kind(value)
        if known.get(path) == "any":
            continue
        if isinstance(value, dict):
            yield from fields(value, known, path + ".")
        for element in value if isinstance(value, list) else ():
            if isinstance(element, dict):
                yield from fields(element, known, path + "[].")


def fits(found, wanted):
    alternatives = wanted.split(" or ")
    return wanted == "any" or found in alternatives or (
        found == "list" and any(one.startswith("list") for one in alternatives))


class Documents:
    """Compares the documents of commands with the page."""

    def __init__(self, bench):
        self.bench = bench
        self.known = documented()
        self.seen = {name: set() for name in self.known}

    def add(self, name, document, also=()):
        """Adds a document. ALSO names other commands whose fields it has."""
        known = dict(self.known[name])
        for other in also:
            known.update(self.known[other])
        for path, found in fields(document, known):
            check(path in known, f"canopy {name} prints {path}, which "
                  "docs/json.md does not have")
            check(fits(found, known[path]),
                  f"canopy {name}: {path} is {found}, not {known[path]}")
            self.seen[name].add(path)
        return document

    def run(self, name, *args, code=0, also=(), context=WHERE):
        result = self.bench.run(*args, *context, "-o", "json").expect(code=code)
        return self.add(name, json.loads(result.out), also)

    def finish(self, only=None):
        """Fails if a field of the page was never printed: of one command, or of
        all commands except a scheduler's check."""
        for name, known in self.known.items():
            if name != only and (only or name == "host-module check"):
                continue
            missing = [path for path in known if path not in self.seen[name]]
            check(not missing, f"canopy {name} never printed {missing}")


def lines(result):
    return [json.loads(line) for line in result.out.splitlines()]


def look(documents, bench, job):
    """Adds the documents of commands about the overlay and its running job."""
    documents.run("status", "status")
    documents.run("ps", "ps")
    documents.run("ps --usage", "ps", "--usage")
    until(lambda: all(one["state"] == "in MPI" for one in documents.run(
        "ps --procs", "ps", "--procs")["processes"]), "the processes are up")
    until(lambda: documents.run("why", "why")["waiting"], "a rank waits")
    documents.run("stack", "stack", job)
    for document in lines(bench.run("top", *WHERE, "-o", "json", "--interval",
                                    "0.1", "--count", 2).expect()):
        check(document.pop("status")["context"] == CONTEXT, "status")
        check(document.pop("jobs")[0]["job"] == job, "jobs")
        documents.add("top", document)
    documents.run("logs", "logs", "node1")
    for document in lines(bench.run("output", job, *WHERE, "-o", "json").expect()):
        documents.add("output", document)
    documents.run("query", "query", "PMIX_QUERY_NAMESPACES", "no.such.key", code=1)
    documents.run("event", "event", "PMIX_DEBUGGER_RELEASE", "--job", job)


def runs(documents, bench):
    """Checks the document of `canopy run` wherever it is written."""
    file = os.path.join(bench.work, "run.json")
    rows = (([], "err"), ([f"json={file}"], "file"),
            (["json", "--output", f"file={bench.work}/all.out"], "out"),
            (["json", "--output-filename", f"{bench.work}/dir:nocopy"], "out"))
    for options, place in rows:
        result = bench.run("run", *WHERE, "-n", 2, "--display", "map", "-o",
                           *(options or ["json"]), "sh", "-c",
                           # The failure of rank 1 ends rank 0, which prints before.
                           "echo out; echo err >&2; sleep $PMIX_RANK; "
                           "exit $PMIX_RANK").expect(code=1)
        texts = {"out": result.out, "err": result.err.strip().split("\n")[-1]}
        if place == "file":
            with open(file, encoding="utf-8") as text:
                texts[place] = text.read()
        document = documents.add("run", json.loads(texts[place]))
        check(document["exit_code"] == document["first_failed"] == 1, document)
        check(document["status_name"] and document["job"], document)
        if place != "out":
            check(result.out.splitlines() == ["out"] * 2, result.tail())
    mapped = documents.add("run", json.loads(bench.run(
        "run", *WHERE, "-n", 2, "--do-not-launch", "--display", "map,topo", "-o", "json",
        "true").expect().out))
    check(len(mapped["maps"]) == 1 and not mapped["reason"], mapped)
    refused = bench.run("run", *WHERE, "-o", "json=/proc/x", "-n", 1, "touch",
                        f"{bench.work}/no").expect(code=1, err=["/proc/x"])
    check(not os.path.exists(f"{bench.work}/no"), "it ran" + refused.tail())
    documents.run("doctor PROGRAM", "doctor", "/bin/true")


def followed(documents, bench):
    job = bench.start("logs", *WHERE, "--follow", "-o", "json")
    job.wait_for("}\n")
    job.signal(signal.SIGINT)
    for document in lines(job.finish().expect()):
        documents.add("logs --follow", document)


def names(documents):
    documents.run("publish", "publish", "a=1")
    found = documents.run("lookup", "lookup", "a", "b", code=1)
    check(found["values"] == [{"key": "a", "value": "1"}] and
          found["missing"] == ["b"], found)
    again = documents.run("publish", "publish", "a=2", code=1)
    check(again["status_name"] == "DUPLICATE KEY", again)
    documents.run("publish", "unpublish", "a")


def ends(documents, bench, job):
    """Adds the documents about the end of the job and about the history."""
    bench.run("run", *WHERE, "-n", 1, "sh", "-c", "exit 3").expect(code=3)
    name = bench.json("ps", "--all", *WHERE)["ended"][-1]["job"]
    ended = documents.run("wait", "wait", name, code=3)["ended"]
    check(ended["exit_code"] == 3 and ended["nodes"], ended)
    check(documents.run("why", "why", name, also=["wait"])["ended"] == ended, "why")
    sent = documents.run("kill", "signal", job, "CONT")
    check(sent["signal_name"] == "SIGCONT", sent)
    documents.run("kill", "kill", "--now", job)
    until(lambda: not bench.json("ps", *WHERE)["jobs"], "the job is over")
    documents.run("ps --all", "ps", "--all", also=["ps"])
    documents.run("ps --all", "ps", "--all", "--procs", also=["ps", "ps --procs"])
    files = lines(bench.run("output", job, *WHERE, "-o", "json").expect())
    check(len(files) == 1 and os.path.exists(files[0]["file"]), files)


def troubles(documents, bench):
    """Adds the documents of an overlay that has lost a node and whose scheduler
    does not answer."""
    where = ("--context", "json-troubles")
    bench.run("up", *where, "--emulate", 3, "--host-module",
              f"unix:{bench.work}/none").expect()
    os.kill(bench.json("status", *where)["nodes"][2]["pid"], signal.SIGKILL)
    def lost():
        status = documents.run("status", "status", context=where)
        check(not status["scheduler"]["answers"], status)
        return status["nodes"][2]["state"] == "lost"
    until(lost, "the loss")
    report = documents.run("doctor", "doctor", context=(), code=1)
    check(not report["healthy"] and "does not answer" in
          report["checks"][-1]["text"], report)
    bench.run("down", *where).expect()


def relay(documents, bench):
    job = bench.start("relay", *WHERE, "-o", "json")
    job.wait_for("}\n")
    documents.add("relay", json.loads(job.texts["out"]))
    job.end(2)


def nodes(documents, bench):
    documents.run("node add", "node", "add", "node2,node3")
    documents.run("node list", "node", "list")
    documents.run("node drain", "node", "drain", "node3")
    bench.run("node", "remove", "node3", *WHERE).expect()


def all_documents(bench, program):
    documents = Documents(bench)
    documents.run("up", "up", "--emulate", 2, "--log-level", "info")
    documents.run("up", "up", "--replace")
    named = bench.run("run", *WHERE, "--detach", "-n", 2, "-o", "json", "sh", "-c",
                      f"echo hello; exec {program}").expect()
    job = json.loads(named.out)["job"]
    look(documents, bench, job)
    names(documents)
    relay(documents, bench)
    nodes(documents, bench)
    documents.run("doctor", "doctor", context=())
    runs(documents, bench)
    followed(documents, bench)
    documents.run("host-module token", "host-module", "token")
    ends(documents, bench, job)
    troubles(documents, bench)
    down = documents.run("down", "down")
    check(down["nodes"] == ["node1", "node2"], down)
    return documents


def refused(bench):
    """Commands that have no document refuse -o json."""
    for command in (("attach", "1"), ("debug", "1", "--", "true"),
                    ("host-module", "certificate", "/tmp/x")):
        result = bench.run(command[0], "-o", "json", *command[1:])
        check(result.code == 1 and "prints no JSON" in result.err, result.tail())


def run(bench):
    bench.case("json: documents", lambda: all_documents(
        bench, cases_running.hanging(bench)).finish())
    bench.case("json: commands without a document", lambda: refused(bench))
