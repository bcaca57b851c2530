"""Controls how the kernel shares CPUs out while the tests run."""
import contextlib

# Linux gives each session (setsid) a group of its own with one share of each
# CPU. If a few groups of busy processes compete for few CPUs, a runnable
# process may get no CPU for seconds, and a test would attribute that delay to
# the agent.
_GROUPS = "/proc/sys/kernel/sched_autogroup_enabled"


def _write(text):
    with open(_GROUPS, "w", encoding="ascii") as file:
        file.write(text)


@contextlib.contextmanager
def without_session_groups():
    """Lets each process compete for itself, if that is permitted."""
    try:
        with open(_GROUPS, encoding="ascii") as file:
            before = file.read().strip()
        if before != "0":
            _write("0")
    except OSError:
        before = "0"
    try:
        yield
    finally:
        if before != "0":
            _write(before)
