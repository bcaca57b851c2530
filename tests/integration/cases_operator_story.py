"""What operators do on their first day: each row is a command and the result that is
expected of it. cases_user_story.py has the rows of users."""
import os
import re
import signal

from cases_bad import LAUNCH_AGENT
from cases_user_story import row
from harness import check, until

# Starts the agents of other hosts on this machine, and lists them. The host "away" is
# another machine, whose runtime directory is visible on this one.
AGENTS = """#!/bin/sh
echo "$1" >> %(place)s/started
[ "$1" = away ] || exec %(place)s/launch "$@"
shift
echo another-boot > %(place)s/boot
exec unshare --mount sh -c 'mount --bind %(place)s/boot /proc/sys/kernel/random/boot_id
exec "$@"' sh "$@"
"""


def script(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def up_hosts(bench, name, hosts, *options, **expected):
    """Starts agents on hosts that this machine stands for. Returns the file with the
    hosts for which the launch agent was called."""
    place = os.path.join(bench.work, name)
    os.makedirs(place, exist_ok=True)
    script(os.path.join(place, "launch"), LAUNCH_AGENT)
    agents = script(os.path.join(place, "agents"), AGENTS % {"place": place})
    row(bench, "up", "--context", name, "--listen", "127.0.0.1", "--launch-agent",
        agents + " {host}", "--hosts", hosts, *options, **expected)
    return os.path.join(place, "started")


def plain_run(bench):
    """The job of a plain `canopy run` is found by commands and by PMIx tools."""
    job = bench.start("run", "--emulate", 2, "--oversubscribe", "-n", 4, "sh", "-c",
                      "echo up; exec sleep 600")
    job.wait_for("up\n", 4)
    name = bench.json("ps")["jobs"][0]["job"]
    row(bench, "ps", out=[name])
    row(bench, "status", out=[f"context run-{job.pid}: 2 nodes up", "1 job,"])
    row(bench, "why", out=[f"{name}: 4 processes run", f"canopy stack {name}"])
    row(bench, "stack", "1", out=["4 ranks 0-3:"])
    row(bench, program=os.path.join(bench.prefix, "bin", "canopy-pps"),
        out=[f"Active nspaces: {name}"])
    row(bench, "kill", "--now", name)
    job.finish().expect(137)


def silent_host(bench):
    """The error names the host that does not answer among those that do."""
    up_hosts(bench, "silent", "near1,near2,silent", "--timeout", 5, code=1,
             err=["no answer from silent (1 of 3) in 5 s", "near1, near2 wait for it"])
    up_hosts(bench, "silent", "near[1-2],silent", "--timeout", 5, "--allow-missing",
             out=["2 nodes"], err=["continuing without 1 of 3 nodes"])
    row(bench, "down", "--context", "silent")


def visible_directory(bench):
    """A killed agent of another machine is replaced on that machine, even if
    the directory of its socket is visible on this one."""
    started = up_hosts(bench, "visible", "near1,away", "--restart-grace", 60)
    where = ("--context", "visible")
    away = bench.json("status", *where)["nodes"][1]
    os.kill(away["pid"], signal.SIGKILL)
    row(bench, "up", *where, "--replace")
    with open(started, encoding="utf-8") as file:
        check(sorted(file.read().split()) == ["away", "away", "near1"], "the hosts")
    row(bench, "run", *where, "-n", 1, "--host", "away", "printenv", "PMIX_HOSTNAME",
        out=["away"])
    row(bench, "down", *where)


def agent_in_grace(bench):
    """If an agent has ended while its node is not lost yet, all commands that an
    operator tries report this. The agent's replacement has another process ID."""
    def nodes():
        return {node["node"]: node for node in
                bench.json("status", "--context", "grace")["nodes"]}
    where = ("--context", "grace")
    bench.run("up", *where, "--emulate", 3, "--restart-grace", 60).expect()
    first = nodes()["node3"]["pid"]
    os.kill(first, signal.SIGKILL)
    left = re.search(r"no answer: node3 \(lost in (\d+) s\)", row(
        bench, "status", *where, out=["canopy up --replace"]).out)
    check(left and 30 < int(left[1]) <= 60, "no time until the loss")
    check(30000 < nodes()["node3"]["lost_in_ms"] <= 60000, nodes())
    row(bench, "doctor", code=1, out=["no answer: node3", "jobs will not run"])
    job = bench.start("run", *where, "-n", 6, "echo", "there")
    job.wait_for("node3", stream="err")
    row(bench, "why", *where, out=["node3"])
    until(lambda: "no answer: node3" in bench.run("ps", *where).out, "ps")
    row(bench, "up", *where, "--replace")
    job.finish().expect_lines(["there"] * 6)
    check(nodes()["node3"]["pid"] not in (0, first), "the dead process")
    row(bench, "doctor", out=["3 nodes up", "ready to run jobs"])
    row(bench, "down", *where)


def full_directory(bench):
    """`canopy doctor` fails if the runtime directory is full."""
    place = os.path.join(bench.work, "full")
    os.makedirs(place, mode=0o700)
    line = ("mount -t tmpfs -o size=64k,mode=700 none $0 && { cat /dev/zero > $0/all; "
            'XDG_RUNTIME_DIR=$0 exec "$@"; } 2> /dev/null')
    row(bench, "--mount", "sh", "-c", line, place, bench.canopy, "doctor",
        program="unshare", code=1, out=["only 0 KiB are left", "jobs will not run"])


def dead_agents(bench):
    """`canopy doctor` fails if the agents of an overlay are gone, and `up` replaces
    such an overlay."""
    where = ("--context", "stale")
    row(bench, "up", *where, "--emulate", 2)
    for node in bench.json("status", *where)["nodes"]:
        os.kill(node["pid"], signal.SIGKILL)
    row(bench, "doctor", code=1, out=["stale", "jobs will not run"])
    row(bench, "run", *where, "true", code=1, err=["stale"])
    row(bench, "up", *where, "--emulate", 2, out=["context stale is up"])
    row(bench, "down", *where)


def dead_scheduler(bench):
    """`status` and `doctor` report a scheduler that does not answer."""
    where = ("--context", "scheduled")
    row(bench, "up", *where, "--emulate", 2, "--host-module",
        f"unix:{bench.work}/nobody")
    until(lambda: "new jobs wait for it" in bench.run("status", *where).out,
          "the scheduler's state")
    row(bench, "doctor", code=1, out=["does not answer", "jobs will not run"])
    row(bench, "down", *where)
    row(bench, "host-module", "check", f"unix:{bench.work}/nobody", code=1,
        err=["no service answers at"])


def manual(bench):
    """The manual has all exit codes and commands."""
    with open(os.path.join(bench.prefix, "share/man/man1/canopy.1"),
              encoding="utf-8") as file:
        text = file.read()
    for word in ("110", "127", "certificate", "CANOPY_", "canopy.toml"):
        check(word in text, f"{word} is not in the manual")


ROWS = {"plain run": plain_run, "a silent host": silent_host,
        "a visible directory": visible_directory,
        "an agent in its grace": agent_in_grace,
        "a full runtime directory": full_directory, "dead agents": dead_agents,
        "a dead scheduler": dead_scheduler, "the manual": manual}


def run(bench):
    for name, body in ROWS.items():
        bench.case(f"operator story: {name}", lambda body=body: body(bench))
