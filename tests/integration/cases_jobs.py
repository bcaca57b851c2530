"""Runs jobs one after another on one overlay, whose agents must stay as they
were. CANOPY_JOBS=N runs N of them, such as 1000; then memory must not grow
either, and the figures are printed."""
import os
import re
import time

from harness import check

JOBS = int(os.environ.get("CANOPY_JOBS", "50"))
WARM_UP = 20  # after these jobs, permanent state exists
# With this many jobs, a leak of each job is distinguishable from the
# allocator's behaviour, in their second half.
MANY = 1000
MOST_BYTES_PER_JOB = 1024
EXACT = ("descriptors", "files", "processes")
EVENTS = "anon_inode:[eventfd]"
MOST_EVENTS = 3


def state(agents):
    """Returns the numbers of descriptors, files and processes and the memory of
    each agent."""
    found = {}
    for agent in agents:
        pid = agent["pid"]
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            text = file.read()
        links = []
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                link = os.readlink(f"/proc/{pid}/fd/{fd}")
            except OSError:
                continue
            # Agents open the directory of contexts when it exists, which may be
            # during the jobs.
            if not link.endswith("/contexts"):
                links.append(re.sub(r"\d+", "N", link))
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            children = file.read().split()
        files = [os.path.join(base, name) for base, directories, names in
                 os.walk(agent["directory"]) for name in directories + names]
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            maps = len(file.readlines())
        found[agent["node"]] = {
            "descriptors": sorted(links), "files": sorted(files),
            "processes": sorted(children), "mappings": maps,
            "KiB": int(re.search(r"RssAnon:\s+(\d+)", text)[1])}
    return found


def settled(agents, wanted):
    """Waits for the state WANTED, and returns the last state after a while."""
    deadline = time.monotonic() + 10
    while True:
        now = state(agents)
        # A job is over for its user before the last agent has dropped it.
        if all(same(what, wanted[name], now[name]) for name in now
               for what in EXACT) or time.monotonic() > deadline:
            return now
        time.sleep(0.01)


def same(what, then, now):
    """Compares two values. gRPC keeps the event descriptors that its threads
    once needed."""
    if what != "descriptors":
        return then[what] == now[what]
    without = [[name for name in one[what] if name != EVENTS]
               for one in (then, now)]
    more = now[what].count(EVENTS) - then[what].count(EVENTS)
    return without[0] == without[1] and more <= MOST_EVENTS


def one_job(bench, context, pmix, number):
    run = ["run", *context, "--oversubscribe", "--map-by", "node"]
    kind = number % 5
    if kind in (0, 1):
        bench.run(*run, "-n", 4, pmix).expect()
    elif kind == 2:
        bench.run(*run, "-n", 2, "true").expect()
    elif kind == 3:
        bench.run(*run, "-n", 3, "cat", stdin=b"x" * 300000).expect()
    else:
        bench.run(*run, "-n", 4, "sh", "-c",
                  "[ $PMIX_RANK != 1 ] || exit 3; exec sleep 1000").expect(3)


def one_after_another(bench, context):
    pmix = bench.compile("gcc", "stuck", f"-I{bench.prefix}/include",
                         f"-L{bench.prefix}/lib", "-lpmix")
    agents = bench.json("up", "--context", context[1], "--emulate", 2)["nodes"]
    for number in range(WARM_UP):
        one_job(bench, context, pmix, number)
    empty = bench.json("ps", *context)["jobs"]
    before = state(agents)
    for number in range(JOBS):
        if number == JOBS // 2:
            middle = state(agents)
        one_job(bench, context, pmix, number)
    after = settled(agents, before)
    check(empty == [] and bench.json("ps", *context)["jobs"] == [], "jobs left")
    for name, then in before.items():
        now = after[name]
        half = middle[name]["KiB"]
        grown = now["KiB"] - half
        print(f"  {JOBS} jobs, {name}: memory {then['KiB']}, after one half "
              f"{half}, at the end {now['KiB']} KiB; descriptors {len(then['descriptors'])} to "
              f"{len(now['descriptors'])}; files {len(then['files'])} to "
              f"{len(now['files'])}; processes {len(then['processes'])} to "
              f"{len(now['processes'])}; mappings {then['mappings']} to "
              f"{now['mappings']}", flush=True)
        for what in EXACT:
            check(same(what, then, now), f"{what} of {name}: {then[what]} "
                  f"became {now[what]}")
        check(JOBS < MANY or grown * 1024 <= JOBS / 2 * MOST_BYTES_PER_JOB,
              f"memory of {name} grew by {grown} KiB")
    bench.run("down", *context).expect()


def run(bench):
    bench.case(f"jobs: {JOBS} one after another", lambda: one_after_another(
        bench, ["--context", "jobs"]), settle=5)
