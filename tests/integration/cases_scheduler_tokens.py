"""A scheduler for several users knows their overlays by tokens."""
import os
import re
import signal

from cases_scheduler import SCHEDULER
from cases_scheduler_tls import key_file
from harness import check, until


def served(bench):
    """A scheduler with a list of tokens serves the overlays that have one of them,
    and accounts their jobs to the users of the list."""
    known, unknown = key_file(bench, "known.key", "5"), key_file(bench, "other.key", "6")
    def token(key):
        return bench.run("host-module", "--key-file", key, "token").expect().out.strip()
    check(re.fullmatch("[0-9a-f]{64}", token(known)) and
          token(known) != token(unknown), "the tokens")
    users, records = (os.path.join(bench.work, name) for name in ("users", "by-token"))
    with open(users, "w", encoding="utf-8") as file:
        file.write(f"{token(known)} 4711\n")
    address = f"unix:{bench.work}/by-token.sock"
    scheduler = bench.start("--listen", address, "--users", users, "--accounting",
                            records, program=SCHEDULER)
    scheduler.wait_for("ready")
    try:
        def up(name, key):
            bench.run("up", "--context", name, "--emulate", 2, "--key-file", key,
                      "--host-module", address).expect()
        up("known", known)
        check(bench.run("host-module", "--context", "known", "token").out.strip() ==
              token(known), "the token of the overlay")
        bench.run("run", "--context", "known", "-n", 1, "--account", "physics",
                  "true").expect()
        up("unknown", unknown)
        until(lambda: "does not know the overlay's token" in
              bench.run("status", "--context", "unknown").out, "the reason")
        def accounted():
            with open(records, encoding="utf-8") as file:
                return "uid=4711 account=physics " in file.read()
        until(accounted, "the record")
    finally:
        for name in ("known", "unknown"):
            bench.run("down", "--context", name, "--force")
        scheduler.end(signal.SIGTERM)


def run(bench):
    bench.case("scheduler: overlays are known by their tokens", lambda: served(bench))
