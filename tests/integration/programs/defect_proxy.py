"""Forwards calls to a scheduler and breaks them: one kind of defect at each
socket.

Usage: defect_proxy.py UPSTREAM DIRECTORY

Listens at unix:DIRECTORY/KIND.sock for each KIND, prints "ready", and forwards
calls to UPSTREAM with the defect of KIND. Ends when its standard input does."""
import concurrent.futures
import itertools
import os
import sys
import threading

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../examples/host_module"))
from host_module_stubs import pb, rpc  # noqa: E402

KINDS = (
    "none", "answers-twice", "never-answers", "ghost-nodes", "slot-twice",
    "wrong-attempt", "grants-after-cancel", "loses-queue", "malformed-infos",
    "claims-slot", "ignores-required", "another-job", "acks-unsent",
    "negative-time", "too-few", "ignores-hosts", "new-grant", "no-end",
    "silent-end", "leaks", "unknown-release", "never-acks", "speaks-first",
    "forgets-reports", "lost-nodes", "keeps-jobs", "log-required", "log-again",
    "ignores-app-hosts", "ignores-host-slots",
    "ignores-refusals", "ignores-limit", "ignores-size", "no-oversubscription",
    "ignores-times", "one-overlay", "long-environment", "long-reason",
    "control-name", "few-threads", "many-infos", "decides-anew",
    "query-required", "query-malformed", "query-again",
    "query-silent")
FOR_EVER = 3600


class Broken(rpc.HostModuleServiceServicer):
    """Forwards all calls with the defect of KIND."""

    def __init__(self, kind, stub):
        self.kind = kind
        self.stub = stub
        self.lock = threading.Lock()
        self.attempts = {}  # the newest, by request_id
        self.waiting = set()  # calls upstream without a decision
        self.undecided = set()  # their request_ids
        self.lost = set()  # those whose job was forgotten
        self.last = None  # the last grant
        self.numbers = itertools.count()
        self.calls = set()  # call_id of Log

    def is_kind(self, *kinds):
        return self.kind in kinds

    def GetCapabilities(self, request, context):
        reply = self.stub.GetCapabilities(request)
        if self.is_kind("claims-slot"):
            reply.features.append(pb.FEATURE_MONITOR)
        return reply

    # ------------------------------------------------------------- placement

    def PlaceJob(self, request, context):
        over = threading.Event()
        context.add_callback(over.set)
        if self.is_kind("never-answers"):
            over.wait(FOR_EVER)
            return
        with self.lock:
            self.attempts[request.placement.request_id] = request.placement.attempt
        if self.is_kind("ignores-required"):
            for info in request.directives:
                info.required = False
        self.forget_needs(request)
        if self.is_kind("few-threads") and len(self.waiting) > 20:
            over.wait(FOR_EVER)
            return
        call = self.stub.PlaceJob(request)
        if not self.is_kind("grants-after-cancel"):
            context.add_callback(call.cancel)
        with self.lock:
            self.waiting.add(call)
            self.undecided.add(request.placement.request_id)
        try:
            for update in call:
                yield from self.updates(request, update)
        except grpc.RpcError as error:
            if call not in self.lost:
                context.set_trailing_metadata([
                    item for item in error.trailing_metadata()
                    if item[0] == "grpc-status-details-bin"])
                context.abort(error.code(), error.details() or "")
        finally:
            with self.lock:
                self.waiting.discard(call)
        if call in self.lost or self.is_kind("no-end"):
            over.wait(FOR_EVER)

    def forget_needs(self, request):
        application = request.applications[0]
        if self.is_kind("ignores-hosts"):
            del request.hosts[:]
        if self.is_kind("ignores-app-hosts"):
            del application.hosts[:]
        if self.is_kind("ignores-host-slots"):
            for host in request.hosts:
                host.ClearField("slots")
        if self.is_kind("ignores-refusals"):
            del request.refused_nodes[:]
        if self.is_kind("ignores-limit"):
            application.ClearField("max_procs_per_node")
        if self.is_kind("ignores-size") and application.slots_per_process > 1:
            application.slots_per_process = 1
            request.num_slots = application.num_procs
        if self.is_kind("no-oversubscription"):
            request.oversubscribe = False
        if self.is_kind("ignores-times"):
            request.ClearField("request_time")
        if self.is_kind("one-overlay"):
            request.overlay.overlay_id = b"0" * 16

    def updates(self, request, update):
        if update.HasField("queued") and self.is_kind("negative-time"):
            update.queued.queue_time.seconds = -1
        if update.HasField("queued") and self.is_kind("long-reason"):
            update.queued.reason = "x" * 3_000_000
        if not update.HasField("granted"):
            yield update
            return
        granted = update.granted
        self.undecided.discard(request.placement.request_id)
        if self.is_kind("silent-end"):
            return
        if self.is_kind("long-environment"):
            granted.env.extend([b"A=b"] * 100_000)
        if self.is_kind("control-name"):
            granted.host_job_id += "\x1b[31m"
        if self.is_kind("ghost-nodes"):
            granted.nodes[0].name = "ghost"
        if self.is_kind("too-few"):
            del granted.nodes[1:]
            granted.nodes[0].slots = 1
        if self.is_kind("new-grant"):
            granted.host_job_id += f"-{next(self.numbers)}"
        if self.is_kind("another-job"):
            before, self.last = self.last, pb.Granted()
            self.last.CopyFrom(granted)
            if before:
                granted.CopyFrom(before)
        if self.is_kind("slot-twice"):
            self.stub.JobReleased(pb.JobReleasedRequest(
                overlay=request.overlay, placement=request.placement))
        yield update
        if self.is_kind("answers-twice"):
            yield update

    def JobLaunched(self, request, context):
        return self.stub.JobLaunched(request)

    def JobReleased(self, request, context):
        known = request.placement.request_id in self.attempts
        if self.is_kind("one-overlay"):
            request.overlay.overlay_id = b"0" * 16
        if self.is_kind("few-threads") and len(self.waiting) > 20:
            over = threading.Event()
            context.add_callback(over.set)
            over.wait(FOR_EVER)
        if self.is_kind("leaks") or self.is_kind("grants-after-cancel") and \
                request.placement.request_id in self.undecided:
            return pb.JobReleasedResponse()
        if self.is_kind("unknown-release") and not known:
            context.abort(grpc.StatusCode.NOT_FOUND, "there is no such job")
        if self.is_kind("wrong-attempt") and known:
            request.placement.attempt = self.attempts[request.placement.request_id]
        if self.is_kind("loses-queue"):
            with self.lock:
                self.lost |= self.waiting
                forgotten = list(self.waiting)
            for call in forgotten:
                call.cancel()
        return self.stub.JobReleased(request)

    # --------------------------------------------------------------- reports

    def Attach(self, requests, context):
        if self.is_kind("speaks-first"):
            yield pb.AttachResponse(acknowledge=pb.Acknowledge(sequence=0))
        call = self.stub.Attach(map(self.message, requests))
        context.add_callback(call.cancel)
        try:
            for message in call:
                if message.HasField("acknowledge"):
                    if self.is_kind("never-acks"):
                        continue
                    if self.is_kind("acks-unsent"):
                        message.acknowledge.sequence += 100
                if message.HasField("hello") and self.is_kind("forgets-reports"):
                    message.hello.acknowledged = 0
                yield message
        except grpc.RpcError as error:
            context.abort(error.code(), error.details() or "")

    def message(self, message):
        if self.is_kind("one-overlay") and message.HasField("hello"):
            message.hello.overlay.overlay_id = b"0" * 16
        if self.is_kind("lost-nodes") and message.report.HasField("node"):
            message.report.node.state = pb.NODE_STATE_UP
        if self.is_kind("keeps-jobs") and message.HasField("snapshot"):
            message.snapshot.settle_time.seconds = FOR_EVER
        return message

    # ----------------------------------------------------------------- calls

    @staticmethod
    def forward(method, request, context):
        try:
            return method(request)
        except grpc.RpcError as error:
            context.set_trailing_metadata([
                item for item in error.trailing_metadata()
                if item[0] == "grpc-status-details-bin"])
            context.abort(error.code(), error.details() or "")

    def Log(self, request, context):
        if self.is_kind("log-required"):
            for info in request.directives:
                info.required = False
        reply = self.forward(self.stub.Log, request, context)
        if self.is_kind("many-infos"):
            for number in range(3000):
                reply.results.add(key=f"key{number}").value.flag = True
        if self.is_kind("decides-anew"):
            reply.results.add(key="number").value.unsigned_integer = len(self.calls)
        if self.is_kind("malformed-infos"):
            reply.results.add().value.text = b"of no key"
        if self.is_kind("log-again") and request.call.call_id in self.calls:
            context.abort(grpc.StatusCode.NOT_FOUND, "there is no log")
        self.calls.add(request.call.call_id)
        return reply

    def Query(self, request, context):
        if self.is_kind("query-silent"):
            over = threading.Event()
            context.add_callback(over.set)
            over.wait(FOR_EVER)
        if self.is_kind("query-required"):
            for info in request.qualifiers:
                info.required = False
        reply = self.forward(self.stub.Query, request, context)
        if self.is_kind("query-malformed"):
            reply.results.add(key="pmix.qry.qlst")
        if self.is_kind("query-again") and request.call.call_id in self.calls:
            del reply.results[:]
        self.calls.add(request.call.call_id)
        return reply


def main(upstream, directory):
    servers = []
    channel = grpc.insecure_channel(upstream)
    stub = rpc.HostModuleServiceStub(channel)
    for kind in KINDS:
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(300))
        rpc.add_HostModuleServiceServicer_to_server(Broken(kind, stub), server)
        server.add_insecure_port(f"unix:{directory}/{kind}.sock")
        server.start()
        servers.append(server)
    print("ready", flush=True)
    sys.stdin.read()
    # Ends the process without waiting for threads with open streams.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
