"""OpenPMIx's own tools, Debian's 4.2.2, which find an agent by files in
directories."""
import glob
import json
import os
import re
import signal

import harness
from cases_openpmix import build, place
from harness import Job, check

CONTEXT = "tools"
BASE = os.path.join(harness.RUNTIME, f"canopy-{os.getuid()}")
NO_SERVER = "PMIx_tool_init failed: -25"
# Every tool of the package, with options and without. Some crash before they
# look for a server.
COMMANDS = (
    ["pps"], ["pps", "--nodes"], ["pps", "--namespace", "nobody"],
    ["pps", "--pid", "1"], ["pps", "--uri", "nobody.0;tcp4://127.0.0.1:1"],
    ["pps", "--system-server"], ["pps", "--system-server-first"],
    ["pquery"], ["pquery", "PMIX_QUERY_NAMESPACES"],
    ["pquery", "PMIX_QUERY_NAMESPACES", "PMIX_JOB_SIZE"],
    ["plookup"], ["plookup", "nothing"], ["pevent"],
    ["pevent", "--event", "-5"], ["pattrs"], ["pattrs", "--client", "all"],
    ["pmix_info"],
)
# A trap for the removal of files: three links at each of forty levels, which is
# the number of links that the kernel follows.
LINKS = ('cd "$PMIX_SERVER_TMPDIR/$PMIX_NAMESPACE" && '
         'ln -s . a && ln -s . b && ln -s . c && ')


def ask(bench, *command):
    """Returns the output of a tool that runs beside the first of two ranks and
    knows only the directory of its files."""
    result = bench.run(
        *place(1), "-n", 2, "sh", "-c",
        'echo "mine $PMIX_NAMESPACE $PMIX_RANK $$ $(hostname)"; '
        '[ $PMIX_RANK = 0 ] || exit 0; '
        'exec env -i PATH=$PATH TMPDIR=$PMIX_SERVER_TMPDIR "$@" '
        '$PMIX_NAMESPACE', "sh", *command).expect()
    mine = [line.split()[1:] for line in result.out.splitlines()
            if line.startswith("mine ")]
    return sorted(mine, key=lambda line: line[1]), result


def beside_ranks(bench):
    def pps():
        mine, result = ask(bench, "sh", "-c", "exec pps")
        check(f"Active nspaces: {mine[0][0]}\n" in result.out + result.err,
              "pps does not see the job" + result.tail())

    # Debian's pquery ends with SIGFPE before it looks for a server, so this
    # program makes the same calls.
    def query():
        mine, result = ask(bench, build(bench, "tool"))
        nspace = mine[0][0]
        expected = [f"namespaces {nspace}", "size 2"]
        for name, rank, pid, _ in mine:
            expected.append(
                rf"process {name}\.{rank} pid {pid} of sh on node1 state \d+")
        expected.append("alerted")
        for line in expected:
            check(re.search(f"^{line}$", result.out, re.M),
                  f"no line '{line}'" + result.tail())
    def pull():
        mine, result = ask(bench, build(bench, "puller"))
        for line in mine:
            check(f"pulled mine {' '.join(line)}\n" in result.out,
                  f"not pulled: {line}" + result.tail())
    bench.case("openpmix pps", pps)
    bench.case("openpmix tool that pulls output", pull)
    bench.case("openpmix tool that queries", query)


def by_hand(bench, directory, *command):
    """Returns the output of a tool that is in no job, and searches DIRECTORY.
    """
    return Job(command, {"PATH": bench.env["PATH"], "HOME": bench.work,
                         "TMPDIR": directory}).finish(60)


def waiting_job(bench, context, setup=""):
    """Starts a job that waits. Returns it with its namespace and its agent's
    directory."""
    job = bench.start(
        "run", "--context", context, "-n", 2, "sh", "-c",
        f'[ $PMIX_RANK = 0 ] && {{ {setup} '
        'echo "in $PMIX_NAMESPACE $PMIX_SERVER_TMPDIR ."; }; exec sleep 600')
    job.wait_for(" .\n")
    _, nspace, directory, _ = bytes(job.texts["out"]).decode().split()
    return job, nspace, directory


def sees(result, *nspaces):
    """Checks that the tool has printed the names of these jobs and no others."""
    said = re.search("^Active nspaces: (.*)$", result.out + result.err, re.M)
    check(said and sorted(said[1].split(",")) == sorted(nspaces),
          f"not just {nspaces}" + result.tail())


def system_server(bench):
    """A machine has one system server. Tools that request it read only its
    file."""
    temporary = os.path.join(bench.work, "system")
    os.makedirs(temporary)
    env = {"TMPDIR": temporary}
    up = ["up", "--system", "--context"]
    bench.run(*up, "tools-system", env=env).expect()
    files = glob.glob(temporary + "/*")
    check(len(files) == 1 and re.search("/pmix[.]sys[.][^/]*$", files[0]) and
          os.stat(files[0]).st_mode & 0o777 == 0o600, f"there is {files}")
    job, nspace, _ = waiting_job(bench, "tools-system", LINKS)
    for option in ("--system-server", "--system-server-first"):
        sees(by_hand(bench, temporary, "pps", option), nspace)
    bench.run(*up, "tools-second", env=env).expect(
        code=1, err=["has a system server"])
    job.end(signal.SIGTERM)
    bench.run("down", "--context", "tools-system").expect()
    check(not os.listdir(temporary), "its file is there")
    by_hand(bench, temporary, "pps", "--system-server").expect(
        code=231, err=[NO_SERVER])


def dead_system_server(bench):
    """The next agent replaces a killed system server, and leaves the file of
    another server alone."""
    temporary = os.path.join(bench.work, "system-gone")
    os.makedirs(temporary)
    env = {"TMPDIR": temporary}
    up = ["up", "--system", "--context"]
    told = bench.run(*up, "tools-killed", "-o", "json", env=env).expect()
    member = json.loads(told.out)["nodes"][0]
    os.kill(int(member["pid"]), signal.SIGKILL)
    bench.run(*up, "tools-next", env=env).expect()
    bench.run("down", "--context", "tools-killed").expect()
    check(len(os.listdir(temporary)) == 1, "the next one's file is gone")
    bench.run("down", "--context", "tools-next").expect()
    check(not os.listdir(temporary), "its file is there")


def all_tools(bench):
    job, _, directory = waiting_job(bench, CONTEXT)
    for command in COMMANDS:
        by_hand(bench, directory, *command)
    job.end(signal.SIGTERM)


def several_overlays(bench):
    """Each agent is found in its own directory; with several agents, tools
    connect to none."""
    with bench.overlay("tools-too") as up:
        if not up:
            return
        jobs = [waiting_job(bench, context) for context in
                (CONTEXT, "tools-too")]
        for _, nspace, directory in jobs:
            sees(by_hand(bench, directory, "pps"), nspace)
        result = by_hand(bench, BASE, "pps")
        check("multiple possible servers" in result.err, "took one" +
              result.tail())
        for job, _, _ in jobs:
            job.end(signal.SIGTERM)


def kill_agent(bench):
    """Kills the agent of an overlay that is brought up for this. Returns its
    directory."""
    member = bench.json("up", "--context", "tools-gone")["nodes"][0]
    os.kill(int(member["pid"]), signal.SIGKILL)
    return member["directory"]


def agent_is_gone(bench):
    """After the overlay of a killed agent is taken down, the agent's files lead
    tools to no agent."""
    job, nspace, _ = waiting_job(bench, CONTEXT)
    kill_agent(bench)
    bench.run("down", "--context", "tools-gone").expect()
    sees(by_hand(bench, BASE, "pps"), nspace)
    left = kill_agent(bench)
    bench.run("up", "--context", "tools-gone").expect()
    check(not os.path.exists(left), "a killed agent's directory is there")
    bench.run("down", "--context", "tools-gone").expect()
    sees(by_hand(bench, BASE, "pps"), nspace)
    job.end(signal.SIGTERM)


def nothing_up(bench):
    empty = os.path.join(bench.work, "empty")
    os.makedirs(empty, exist_ok=True)
    for command in COMMANDS:
        by_hand(bench, empty, *command)
    by_hand(bench, empty, "pps").expect(code=231, err=[NO_SERVER])


def run(bench):
    beside_ranks(bench)
    cases = (("all of them", all_tools),
             ("several overlays", several_overlays),
             ("after an agent that was killed", agent_is_gone))
    cases = [(f"tools by hand: {name}", body) for name, body in cases]
    if bench.wanted(*(name for name, _ in cases)):
        with bench.overlay(CONTEXT) as up:
            for name, body in cases if up else ():
                bench.case(name, lambda: body(bench), settle=10)
    bench.case("tools by hand: nothing is up", lambda: nothing_up(bench))
    bench.case("tools by hand: the system's server",
               lambda: system_server(bench), settle=10)
    bench.case("tools by hand: a system server that was killed",
               lambda: dead_system_server(bench), settle=10)
