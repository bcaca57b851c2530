#!/usr/bin/python3
"""The example scheduler, with nodes that several users' overlays share: the
overlay whose user has been granted the fewest slots comes first.
Usage: FAIR_SCHEDULER --listen unix:PATH --users FILE --accounting FILE"""
import collections
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../examples/host_module"))
import scheduler  # noqa: E402


class Overlay(scheduler.Overlay):
    def set_node(self, report):
        """Nodes of the same name in several overlays are the same hardware."""
        self.nodes[report.name] = report
        used = sum(job.nodes.get(report.name, 0)
                   for overlay in self.scheduler.overlays.values()
                   for job in overlay.jobs.values())
        self.free = self.scheduler.free
        self.free[report.name] = self.slots_of(report.name) - used

    def schedule(self):
        self.scheduler.schedule()


class Scheduler(scheduler.Scheduler):
    def __init__(self, *options):
        super().__init__(*options)
        self.overlays = collections.defaultdict(lambda: Overlay(self))
        self.free = {}
        self.granted = collections.Counter()  # slots, by uid

    def schedule(self):
        while waiting := [overlay for overlay in self.overlays.values()
                          if overlay.waiting and overlay.nodes]:
            overlay = min(waiting, key=lambda overlay: self.granted[overlay.uid])
            job = overlay.waiting[0][1]
            nodes = overlay.pick(job.request, self.free)
            if not nodes:
                return
            overlay.grant(job, nodes, time.time())
            self.granted[overlay.uid] += sum(nodes.values())
            print(f"granted to {overlay.uid}", flush=True)


if __name__ == "__main__":
    scheduler.main(Scheduler)
