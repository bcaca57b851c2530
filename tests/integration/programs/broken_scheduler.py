#!/usr/bin/python3
"""The example of a scheduler, but for jobs whose last argument says how it is
broken. BROKEN_SCHEDULER --listen ADDRESS"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../examples/host_module"))
import scheduler  # noqa: E402

pb = scheduler.pb


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

    def JobLaunched(self, request, context):
        if request.host_job_id == "7" and self.dies:
            os._exit(1)
        return super().JobLaunched(request, context)

    dies = os.environ.get("DIES") == "1"


scheduler.Scheduler = Broken
scheduler.main()
