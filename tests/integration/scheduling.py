"""How the kernel shares CPUs out while the tests run."""
import contextlib

# Linux gives each session (setsid) a group of its own with one share of each
# CPU. Where a few groups of busy processes compete for few CPUs, it has been
# seen to leave a process that could run without CPU for seconds, whatever that
# process does: a test would call that the agent's fault.
_GROUPS = "/proc/sys/kernel/sched_autogroup_enabled"


def _write(text):
    with open(_GROUPS, "w", encoding="ascii") as file:
        file.write(text)


@contextlib.contextmanager
def without_session_groups():
    """Each process competes for itself, where we may ask for that."""
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
