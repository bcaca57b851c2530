#!/usr/bin/python3
"""The example scheduler, broken for jobs whose last argument names a fault.
Usage: BROKEN_SCHEDULER --listen ADDRESS"""
import asyncio
import os
import sys

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../examples/host_module"))
import scheduler  # noqa: E402

pb = scheduler.pb


def granted(*nodes, **more):
    return pb.PlaceJobResponse(granted=pb.Granted(host_job_id="7", nodes=[
        pb.GrantedNode(name=name, slots=slots) for name, slots in nodes], **more))


ANSWERS = {
    "elsewhere": [granted(("elsewhere", 1))],
    "without-nodes": [granted()],
    "same-node-twice": [granted(("node1", 1), ("node1", 1))],
    "without-slots": [granted(("node1", 0))],
    "a-million-slots": [granted(("node1", 1_000_000))],
    "a-long-environment": [granted(("node1", 1), env=[b"A=b"] * 100_000)],
    "too-few": [granted(("node1", 1))],
    "granted-twice": [granted(("node1", 1)), granted(("node2", 1)),
                      grpc.StatusCode.FAILED_PRECONDITION],
    "refused-without-a-status": [grpc.StatusCode.FAILED_PRECONDITION],
    "dies-at-the-launch": [granted(("node1", 1))],
}
# These faults fail the first calls. When the scheduler is called again, it
# places the job.
FAILURES = {
    "fails": grpc.StatusCode.UNKNOWN,
    "is-busy": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "has-no-time": grpc.StatusCode.DEADLINE_EXCEEDED,
}
NUM_FAILURES = 3


class Broken(scheduler.Scheduler):
    failures = 0
    dies = os.environ.get("DIES") == "1"

    async def PlaceJob(self, request, context):
        how = request.applications[0].argv[-1].decode()
        if how in FAILURES and self.failures < NUM_FAILURES:
            self.failures += 1
            await context.abort(FAILURES[how], "it is broken")
        self.failures = 0
        if how == "unknown-kind":
            yield pb.PlaceJobResponse()
        if how in ANSWERS:
            for answer in ANSWERS[how]:
                if isinstance(answer, grpc.StatusCode):
                    await context.abort(answer)
                yield answer
            return
        async for update in super().PlaceJob(request, context):
            yield update

    async def GetCapabilities(self, request, context):
        reply = await super().GetCapabilities(request, context)
        if os.environ.get("NO_QUERY") == "1":
            reply.features.remove(pb.FEATURE_QUERY)
        if "TOOLS" in os.environ:
            reply.features.append(pb.FEATURE_CONNECT_TOOL)
        return reply

    async def ConnectTool(self, request, context):
        """Rejects tools that publish, or makes no decision at all."""
        if os.environ["TOOLS"] == "silent":
            await asyncio.sleep(60)
        if request.call.caller.process.nspace.startswith("canopy-publisher"):
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "publishes")
        return pb.ConnectToolResponse()

    async def Query(self, request, context):
        """The queue's name selects the fault."""
        how = [info.value.text.decode() for info in request.qualifiers
               if info.key == "pmix.alloc.queue"]
        if how == ["silent"]:
            await asyncio.sleep(60)
        if how == ["fails"]:
            raise RuntimeError("it is broken")
        reply = await super().Query(request, context)
        if how == ["malformed"]:
            reply.results.add(key="pmix.qry.qst").value.encoded = b"nonsense"
        if how == ["others"]:
            del reply.results[:]
            reply.results.add(key="pmix.job.size").value.unsigned_integer = 77
        return reply

    async def JobLaunched(self, request, context):
        if request.host_job_id == "7" and self.dies:
            os._exit(1)
        return scheduler.pb.JobLaunchedResponse()


scheduler.main(Broken)
