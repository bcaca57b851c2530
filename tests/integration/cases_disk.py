"""The disk of an agent's directory: a full file system, a directory that is removed,
and cleaners of temporary files."""
import fcntl
import json
import os
import shutil
import subprocess

from cases_faults import Held
from harness import RUNTIME, check, until

CONTEXT = "disk"
USER = os.path.join(RUNTIME, f"canopy-{os.geteuid()}")
SMALL = "/tmp/small"
RUN = ["run", "--context", CONTEXT, "--oversubscribe", "--map-by", "node"]


def pids(bench, **more):
    text = bench.run("status", "--context", CONTEXT, "-o", "json", **more).expect().out
    return [int(node["pid"]) for node in json.loads(text)["nodes"]]


def lives(pid):
    """Returns whether a process runs. A zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def fill():
    """Uses every byte of the small file system."""
    with open(os.path.join(SMALL, "filler"), "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


def full(bench):
    """Jobs run, and their launchers print what a restart would lose."""
    os.makedirs(SMALL)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "small",
                    SMALL], check=True)
    env = {"XDG_RUNTIME_DIR": SMALL}
    try:
        bench.run("up", "--context", CONTEXT, "--emulate", 2, "--restart-grace", 30,
                  env=env).expect()
        agents = pids(bench, env=env)
        fill()
        result = bench.run(*RUN, "-n", 4, bench.pmix("fences"), 4, 1000, env=env)
        result.expect(out=[f"fences ok {rank}" for rank in range(4)],
                      err=["would end with a restart of the agent that controls it",
                           "No space left on device"])
        bench.run(*RUN, "-n", 2, "sh", "-c", "exit 3", env=env).expect(code=3)
        check(all(map(lives, agents)), "an agent has ended")
        os.unlink(os.path.join(SMALL, "filler"))
        again = bench.run(*RUN, "-n", 2, "true", env=env).expect()
        check("would end" not in again.err, "it still complains" + again.tail())
        bench.run("down", "--context", CONTEXT, env=env).expect()
    finally:
        subprocess.run(["umount", "--lazy", SMALL], check=True)
        os.rmdir(SMALL)


def removed(bench):
    """A job ends well although its agents have lost their directories. Then the agents
    end, because no command finds them any more."""
    bench.run("up", "--context", CONTEXT, "--emulate", 2).expect()
    agents = pids(bench)
    held = Held(bench, *RUN, "-n", 4, bench.pmix("fences"), 4, 1000)
    held.job.wait_for("up\n", 4)
    for name in os.listdir(USER):
        if name != "contexts":
            shutil.rmtree(os.path.join(USER, name))
    os.unlink(os.path.join(USER, "contexts", CONTEXT + ".json"))
    check(all(map(lives, agents)), "an agent has ended")
    held.let_go().finish(30).expect_lines(
        ["up"] * 4 + [f"fences ok {rank}" for rank in range(4)])
    until(lambda: not any(map(lives, agents)), "the agents to end", 40)
    shutil.rmtree(USER)


def is_free(path):
    """Returns whether a cleaner gets the lock of the directory."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def cleaners(bench):
    """The directories of agents and of their contexts are locked, so cleaners that
    respect locks leave them out."""
    bench.run("up", "--context", CONTEXT, "--emulate", 2).expect()
    own = [base for base, _, names in os.walk(USER)
           if "clients.sock" in names]
    check(len(own) == 2, f"directories of agents: {own}")
    for path in (*own, os.path.dirname(own[0]), os.path.join(USER, "contexts"), USER):
        until(lambda path=path: not is_free(path), f"{path} to be locked")
    bench.run("down", "--context", CONTEXT).expect()
    check(not os.path.exists(own[0]), "the directory is left")


CASES = {"disk: a full file system": full,
         "disk: the agents' directories are removed": removed,
         "disk: directories are locked for cleaners": cleaners}


def run(bench):
    for name, body in CASES.items():
        bench.case(name, lambda body=body: body(bench), settle=10)
