"""One scheduler for the overlays of three users on the same nodes."""
import os
import signal
import tempfile

import harness
from cases_scheduler_tls import key_file
from harness import check, until

PROGRAM = os.path.join(harness.PROGRAMS, "fair_scheduler.py")
USERS = (60001, 60002, 60003)
CASE = "scheduler: three users share nodes fairly"
NODES = 4
JOBS = 8  # of each user, each of which takes every slot


class User:
    """A user, whose commands run with the user's ID and directories."""

    def __init__(self, bench, directory, uid):
        self.bench, self.uid, self.context = bench, uid, f"of-{uid}"
        self.home = os.path.join(directory, str(uid))
        os.mkdir(self.home, 0o700)
        self.key = key_file(bench, os.path.join(self.home, "key"), str(uid)[-1])
        for path in (self.home, self.key):
            os.chown(path, uid, uid)

    def start(self, *words):
        return self.bench.start(
            f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--",
            os.path.join(self.bench.prefix, "bin", "canopy"), *words,
            program="setpriv", env={"HOME": self.home, "XDG_RUNTIME_DIR": self.home,
                                    "XDG_STATE_HOME": self.home})

    def token(self):
        result = self.start("host-module", "--key-file", self.key, "token").finish()
        return result.expect().out.strip()

    def up(self, address):
        self.start("up", "--context", self.context, "--emulate", NODES, "--key-file",
                   self.key, "--host-module", address).finish().expect()

    def submit(self, *words):
        return self.start("run", "--context", self.context, *words)

    def down(self):
        self.start("down", "--context", self.context, "--force").finish()


def share(users, scheduler):
    """All jobs of the first user wait before those of the others come; then the
    users take turns."""
    slots = NODES * os.cpu_count()
    gate = os.path.join(users[0].home, "gate")
    held = users[0].submit("-n", slots, "sh", "-c",
                           f"echo is up; until test -e {gate}; do sleep 0.1; done")
    held.wait_for("is up", slots)
    jobs = [user.submit("-n", slots, "true") for user in users for _ in range(JOBS)]
    for user in users:
        until(lambda user=user: user.start(
            "ps", "--context", user.context).finish().out.count("queued:") == JOBS,
            "the user's jobs")
    with open(gate, "w", encoding="utf-8"):
        pass
    for job in (held, *jobs):
        job.finish(60).expect()
    order = [int(line.split()[-1])
             for line in scheduler.texts["out"].decode().splitlines()
             if line.startswith("granted to ")]
    check(len(order) == 1 + len(jobs), order)
    for turn in range(JOBS):
        check(len(set(order[3 * turn:3 * turn + 3])) == 3, order)


def accounted(records):
    """Returns the number of records of each user."""
    with open(records, encoding="utf-8") as file:
        text = file.read()
    return [text.count(f"uid={uid} ") for uid in USERS]


def served(bench, directory):
    users = [User(bench, directory, uid) for uid in USERS]
    tokens, records = (os.path.join(directory, name) for name in ("tokens", "records"))
    with open(tokens, "w", encoding="utf-8") as file:
        file.writelines(f"{user.token()} {user.uid}\n" for user in users)
    socket = os.path.join(directory, "scheduler.sock")
    scheduler = bench.start("--listen", f"unix:{socket}", "--users", tokens,
                            "--accounting", records, program=PROGRAM)
    scheduler.wait_for("ready")
    os.chmod(socket, 0o666)
    try:
        for user in users:
            user.up(f"unix:{socket}")
        share(users, scheduler)
        until(lambda: accounted(records) == [JOBS + 1, JOBS, JOBS], "the records")
    finally:
        for user in users:
            user.down()
        scheduler.end(signal.SIGTERM)


def case(bench):
    check(os.geteuid() == 0, "this needs root")
    os.chmod(os.path.dirname(bench.prefix), 0o711)  # the users run what is there
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        os.chmod(directory, 0o755)
        served(bench, directory)


def run(bench):
    bench.case(CASE, lambda: case(bench))
