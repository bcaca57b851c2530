"""A job with one rank on each node that fences all the time beside other
activity on its agents, and reports the time of its slowest fence."""
import os
import re
import time

from cases_faults import Held
from harness import agent_logs, check

# Above this time, a fence is slow. An agent is considered lost, with every job
# on its node, after some seconds of silence; users would notice the delay long
# before that.
SLOW_MS = 250
# A shared machine stops sometimes by itself. These are the slow fences per
# thousand, and the slowest fence, that are allowed in addition to the values
# without an attack.
SLOW_PER_THOUSAND = 30
SLOWEST_MS = 1000
# The duration of an attack, long enough to show its effect.
SECONDS = float(os.environ.get("CANOPY_ATTACK_SECONDS", "8"))


BUSY_PROCESSES = 4
BUSY_SECONDS = 3


class Fences:
    """The results of a watch."""

    def __init__(self, result, ranks):
        found = re.findall(
            r"rank \d+ of \d+: (\d+) fences, (\d+) slow, slowest ([\d.]+) ms",
            result.out)
        check(len(found) == ranks, "not every rank reported" + result.tail())
        self.count = int(found[0][0])
        self.slow = max(int(n) for _, n, _ in found)
        self.slowest = max(float(ms) for _, _, ms in found)
        # The ends of the slow fences, by the clock of time.time().
        self.slow_ends = [float(end) for end in re.findall(
            r"slow fence: [\d.]+ ms, until ([\d.]+)", result.err)]
        print(f"   {self.count} fences, {self.slow} took more than {SLOW_MS} "
              f"ms, the slowest {self.slowest} ms", flush=True)

    def slow_per_thousand(self):
        return self.slow * 1000 / max(self.count, 1)


class Machine:
    """Measures fences beside processes that keep the CPUs busy without using
    their agents. The difference is the share of the attack."""

    def __init__(self, bench, context, nodes):
        watch = FenceWatch(bench, context, nodes)
        busy = bench.start("run", "--context", context, "--oversubscribe",
                           "-n", BUSY_PROCESSES, "sh", "-c",
                           "while :; do :; done")
        time.sleep(BUSY_SECONDS)
        busy.process.terminate()
        busy.finish(20)
        self.fences = watch.end()

    def judge(self, fences):
        slow = SLOW_PER_THOUSAND + 2 * self.fences.slow_per_thousand()
        check(fences.slow_per_thousand() <= slow,
              f"{fences.slow} of {fences.count} fences took more than "
              f"{SLOW_MS} ms, {slow:.0f} of a thousand may")
        slowest = SLOWEST_MS + 2 * self.fences.slowest
        check(fences.slowest < slowest,
              f"a fence took {fences.slowest} ms of {slowest:.0f}")


def lost_nodes():
    """Returns the number of log lines about lost nodes. The shim of a job that
    attacks its agent may be lost too."""
    return len(re.findall(r"(?<!canopy-shim of )\b\S+ is lost", agent_logs()))


class FenceWatch:
    """Runs the job in the overlay CONTEXT with this number of NODES."""

    def __init__(self, bench, context, nodes):
        self.nodes = nodes
        self.lost = lost_nodes()
        self.held = Held(bench, "run", "--context", context, "--oversubscribe",
                         "--map-by", "node", "-n", nodes,
                         bench.pmix("fence_watch"), nodes, SLOW_MS)
        self.held.job.wait_for("up\n", nodes)

    def end(self):
        """Ends the job, and fails if a node was lost."""
        fences = Fences(self.held.let_go().finish(30).expect(), self.nodes)
        check(lost_nodes() == self.lost, "a node was lost:\n" +
              agent_logs()[-2000:])
        return fences

    def finish(self, machine):
        """Ends the job, and fails if a node was lost or if fences were slower than
        this machine explains."""
        machine.judge(self.end())
