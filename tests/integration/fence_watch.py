"""A job of one rank on each node that fences all the time beside whatever else
happens on its agents, and tells how long its slowest fence took."""
import os
import re

from cases_faults import Held
from harness import agent_logs, check

# An agent that its neighbours hear nothing of for some seconds is lost, with
# every job on its node. Long before that, others would notice.
SLOW_MS = 250
# A machine that others use too stops now and then by itself: so few fences of
# a thousand may be slow, and none by so much.
SLOW_PER_THOUSAND = 30
SLOWEST_MS = 1000
# How long an attack takes: long enough to do harm if it can.
SECONDS = float(os.environ.get("CANOPY_ATTACK_SECONDS", "8"))


class FenceWatch:
    """The job, in the overlay CONTEXT with this number of NODES."""

    def __init__(self, bench, context, nodes):
        self.nodes = nodes
        self.lost = agent_logs().count(" is lost")
        self.held = Held(bench, "run", "--context", context, "--oversubscribe",
                         "--map-by", "node", "-n", nodes,
                         bench.pmix("fence_watch"), nodes, SLOW_MS)
        self.held.job.wait_for("up\n", nodes)

    def finish(self):
        """Ends the job, and fails if a fence was slow or a node was lost.
        Returns the milliseconds of the slowest fence."""
        result = self.held.let_go().finish(30).expect()
        found = re.findall(
            r"rank \d+ of \d+: (\d+) fences, (\d+) slow, slowest ([\d.]+) ms",
            result.out)
        check(len(found) == self.nodes, "not every rank reported" +
              result.tail())
        fences = int(found[0][0])
        slow = max(int(n) for _, n, _ in found)
        slowest = max(float(ms) for _, _, ms in found)
        print(f"   {fences} fences, {slow} took more than {SLOW_MS} ms, "
              f"the slowest {slowest} ms", flush=True)
        check(agent_logs().count(" is lost") == self.lost, "a node was lost:\n" +
              agent_logs()[-2000:])
        check(slow * 1000 <= fences * SLOW_PER_THOUSAND,
              f"{slow} of {fences} fences took more than {SLOW_MS} ms")
        check(slowest < SLOWEST_MS, f"a fence took {slowest} ms")
        return slowest
