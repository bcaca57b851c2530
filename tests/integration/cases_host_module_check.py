"""canopy host-module check: a scheduler that behaves as agents expect, and
schedulers that each deviate in one point."""
import json
import os
import signal
import tempfile
from xml.etree import ElementTree

import cases_json
import harness
from harness import PROGRAMS, PYTHON, ROOT, check

EXAMPLE = os.path.join(ROOT, "examples", "host_module", "scheduler.cc")
CONTRACT = os.path.join(ROOT, "protos/canopy/hostmodule/v1")
SLOTS = ("capabilities", "place_job", "attach", "allocate", "control_session",
         "block_resources", "log", "monitor", "get_credential",
         "validate_credential", "query", "connect_tool")
IMPLEMENTED = ("capabilities", "place_job", "attach", "log", "query")

# The parts of the report of each defect: the slot, and a word of the expected
# behaviour.
BROKEN = {
    "answers-twice": ("place_job", "after the decision"),
    "never-answers": ("place_job", "got no decision"),
    "ghost-nodes": ("place_job", "'ghost'"),
    "slot-twice": ("place_job", "no grant"),
    "wrong-attempt": ("place_job", "late release of attempt 1"),
    "grants-after-cancel": ("place_job", "behind one whose call was cancelled"),
    "loses-queue": ("place_job", "the job that waits"),
    "malformed-infos": ("log", "an info without a key"),
    "claims-slot": ("monitor", "UNIMPLEMENTED"),
    "ignores-required": ("place_job", "required directive"),
    "another-job": ("place_job", "a grant of 4 slots"),
    "acks-unsent": ("attach", "acknowledged, and the last one was"),
    "negative-time": ("place_job", "queued since -1000 ms"),
    "too-few": ("place_job", "a grant of 4 slots"),
    "ignores-hosts": ("place_job", "which the job names"),
    "new-grant": ("place_job", "the same grant"),
    "no-end": ("place_job", "a stream that continues"),
    "silent-end": ("place_job", "end without a decision"),
    "leaks": ("place_job", "got no decision"),
    "unknown-release": ("place_job", "JobReleased answered"),
    "never-acks": ("attach", "acknowledged"),
    "speaks-first": ("attach", "before the host's hello"),
    "forgets-reports": ("attach", "a hello that acknowledges"),
    "lost-nodes": ("place_job", "on a node that is"),
    "keeps-jobs": ("place_job", "that a snapshot has not"),
    "log-required": ("log", "required directive"),
    "log-again": ("log", "again for the same call_id"),
    "ignores-app-hosts": ("place_job", "which the job names"),
    "ignores-host-slots": ("place_job", "as the job requires"),
    "ignores-refusals": ("place_job", "that the job refuses"),
    "ignores-limit": ("place_job", "on each node"),
    "ignores-size": ("place_job", "a grant of 4 slots"),
    "no-oversubscription": ("place_job", "that may share them"),
    "ignores-times": ("place_job", "an hour earlier"),
    "one-overlay": ("place_job", "in the other overlay"),
    "long-environment": ("place_job", "more than 4096 variables"),
    "long-reason": ("place_job", "above 1024 bytes"),
    "control-name": ("place_job", "with control characters"),
    "few-threads": ("place_job", "JobReleased answered"),
    "many-infos": ("log", "more than 512 infos"),
    "decides-anew": ("log", "again for the same call_id"),
    "query-required": ("query", "required directive"),
    "query-malformed": ("query", "has no value"),
    "query-again": ("query", "again for the same call_id"),
    "query-silent": ("query", "expected an answer"),
}


def build(bench):
    """Builds the example in C++ with only the compiler."""
    out = os.path.join(bench.share.directory, "example-scheduler")
    made = out + ".gen"
    bench.share.make(out, ["sh", "-ec", f"""
        mkdir -p {made}
        protoc -I {ROOT} --cpp_out={made} --grpc_out={made} \
            --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin \
            {CONTRACT}/*.proto
        g++ -std=c++20 -O0 -w -I {made} {EXAMPLE} \
            {made}/protos/canopy/hostmodule/v1/*.cc -o {out} \
            $(pkg-config --libs grpc++ protobuf) -lgrpc++_reflection"""])
    return out


def lines_of(result):
    return {line.split()[0]: line.split(None, 1)[1] if " " in line else ""
            for line in result.out.splitlines() if not line.startswith(" ")}


def conforms(bench, address):
    junit = os.path.join(bench.work, "junit.xml")
    result = bench.run("host-module", "--junit", junit, "check", address).expect()
    suite = ElementTree.parse(junit).getroot()
    check(suite.get("failures") == "0" and int(suite.get("tests")) > 30, suite.attrib)
    lines = lines_of(result)
    check(tuple(lines) == SLOTS, str(lines))
    for slot in SLOTS:
        wanted = "OK" if slot in IMPLEMENTED else "NOT IMPLEMENTED"
        check(lines[slot] == wanted, result.out)
    told = bench.json("host-module", "check", address)
    documents = cases_json.Documents(bench)
    documents.add("host-module check", told)
    documents.finish(only="host-module check")
    check(told["conforms"] and len(told["slots"]) == len(SLOTS), str(told))


def finds(bench, address, slot, word):
    """Expects exit code 1, the defect's slot and the expected behaviour."""
    result = bench.run("host-module", "--timeout", 3, "check", address,
                       "-o", "json").expect(code=1)
    told = json.loads(result.out)
    problems = {s["slot"]: " ".join(s["problems"]) for s in told["slots"]
                if s["result"] == "failed"}
    check(word in problems.get(slot, ""), f"{slot}: no {word!r} in {problems}")
    check(not told.get("conforms"), str(told))


def absent(bench, directory):
    nobody = f"unix:{directory}/nobody.sock"
    result = bench.run("host-module", "check", nobody)
    result.expect_refusal(1, "no service answers at " + nobody)
    check(result.seconds < 4, f"an answer after {result.seconds} s")
    bench.run("host-module", "check").expect(code=2)
    bench.run("host-module", "test", nobody).expect_refusal(2, "check")
    bench.run("host-module", "--tls-ca", "/x", "check", nobody).expect_refusal(
        2, "--tls-key")


def reflection(bench, address):
    """The port of a scheduler supports reflection."""
    out = bench.run(os.path.join(PROGRAMS, "reflect.py"), address, "-", "-", "-",
                    "canopy.hostmodule.v1.HostModuleService/GetCapabilities",
                    program=PYTHON).expect(out=["server: SERVING"]).out
    check("FEATURE_PLACE_JOB" in out and "PlaceJob" in out, out)


def cases(bench, directory):
    example = f"unix:{directory}/example.sock"
    bench.case("host-module check: nobody there, and bad options",
               lambda: absent(bench, directory))
    if not bench.case("host-module check: the example in C++ is built",
                      lambda: build(bench), always=True):
        return
    scheduler = bench.start(example, program=build(bench))
    scheduler.wait_for("schedules at")
    reader, writer = os.pipe()
    broken = bench.start(os.path.join(PROGRAMS, "defect_proxy.py"), example,
                         directory, program=PYTHON, stdin=reader)
    os.close(reader)
    broken.wait_for("ready")
    bench.case("host-module check: the example in C++",
               lambda: conforms(bench, example))
    bench.case("host-module check: health and reflection of a scheduler",
               lambda: reflection(bench, example))
    bench.case("host-module check: through a proxy that breaks nothing",
               lambda: conforms(bench, f"unix:{directory}/none.sock"))
    for kind, (slot, word) in BROKEN.items():
        bench.case(f"host-module check finds {kind}",
                   lambda kind=kind, slot=slot, word=word: finds(
                       bench, f"unix:{directory}/{kind}.sock", slot, word))
    os.close(writer)
    broken.finish(20)
    scheduler.end(signal.SIGTERM)


def run(bench):
    names = [f"host-module check finds {kind}" for kind in BROKEN]
    if not bench.wanted("host-module check: ", *names):
        return
    with bench.taken() as mine:
        if mine:
            with tempfile.TemporaryDirectory() as directory:
                cases(bench, directory)
