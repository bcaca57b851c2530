#!/usr/bin/python3
"""The example scheduler, broken for jobs whose last argument names a fault.
Usage: BROKEN_SCHEDULER --listen ADDRESS"""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../examples/host_module"))
import scheduler  # noqa: E402

pb = scheduler.pb
NO_PERMISSIONS = -23


def granted(*nodes):
    return pb.PlacementUpdate(granted=pb.Granted(host_job_id="7", nodes=[
        pb.GrantedNode(name=name, slots=slots) for name, slots in nodes]))


ANSWERS = {
    "elsewhere": [granted(("elsewhere", 1))],
    "without-nodes": [granted()],
    "same-node-twice": [granted(("node1", 1), ("node1", 1))],
    "without-slots": [granted(("node1", 0))],
    "too-few": [granted(("node1", 1))],
    "granted-twice": [granted(("node1", 1)), granted(("node2", 1)),
                      pb.PlacementUpdate(refused=pb.Refused(status=-1))],
    "refused-without-a-status": [pb.PlacementUpdate(refused=pb.Refused())],
    "dies-at-the-launch": [granted(("node1", 1))],
}


class Broken(scheduler.Scheduler):
    def PlaceJob(self, request, context):
        how = request.apps[0].argv[-1].decode()
        if how == "fails":
            raise RuntimeError("it is broken")
        if how == "unknown-kind":
            yield pb.PlacementUpdate()
        if how not in ANSWERS:
            yield from super().PlaceJob(request, context)
            return
        yield from ANSWERS[how]

    def GetCapabilities(self, request, context):
        reply = super().GetCapabilities(request, context)
        if os.environ.get("NO_QUERY") == "1":
            reply.slots.remove(pb.SLOT_QUERY)
        if "TOOLS" in os.environ:
            reply.slots.append(pb.SLOT_CONNECT_TOOL)
        return reply

    def ConnectTool(self, request, context):
        """Rejects tools that publish, or makes no decision at all."""
        if os.environ["TOOLS"] == "silent":
            over = threading.Event()
            context.add_callback(over.set)
            over.wait(60)
        name = request.call.caller.process.nspace
        refused = name.startswith("canopy-publisher")
        return pb.HostReply(status=NO_PERMISSIONS if refused else 0,
                            message="publishes" if refused else "")

    def Query(self, request, context):
        """The queue's name selects the fault."""
        how = [info.value.text.decode() for info in request.qualifiers
               if info.key == "pmix.alloc.queue"]
        if how == ["silent"]:
            over = threading.Event()
            context.add_callback(over.set)
            over.wait(60)
        if how == ["fails"]:
            raise RuntimeError("it is broken")
        reply = super().Query(request, context)
        if how == ["malformed"]:
            reply.results.add(key="pmix.qry.qst").value.encoded = b"nonsense"
        if how == ["others"]:
            del reply.results[:]
            reply.status = 0
            reply.results.add(key="pmix.job.size").value.unsigned = 77
        if how == ["positive"]:
            reply.status = 5
        return reply

    def JobLaunched(self, request, context):
        if request.host_job_id == "7" and self.dies:
            os._exit(1)
        return super().JobLaunched(request, context)

    dies = os.environ.get("DIES") == "1"


scheduler.Scheduler = Broken
scheduler.main()
