"""Lists everything that a case may leave behind: every process, file, socket
and shared-memory object of the isolated world."""
import os
import time

# Every entry of these directories counts; the caller excludes `work`.
PLACES = ("/tmp", "/dev/shm", "/run")


def processes():
    """Returns {pid: text} of all processes but the tests themselves."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) in (1, os.getpid()):
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{entry}/stat", "rb") as file:
                stat = file.read().decode(errors="replace")
        except OSError:
            continue
        name = stat[stat.index("(") + 1:stat.rindex(")")]
        state = stat[stat.rindex(")") + 2]
        command = b" ".join(words).decode(errors="replace").strip()
        found[int(entry)] = f"process {entry} ({state}) {command or name}"
    return found


def files(skip):
    found = set()
    for place in PLACES:
        for base, directories, names in os.walk(place):
            directories[:] = [d for d in directories
                              if os.path.join(base, d) not in skip]
            found.update(f"file {os.path.join(base, n)}"
                         for n in names + directories)
    return found


def sockets():
    """Returns listening Unix sockets without a file, and TCP listeners."""
    found = set()
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        for line in list(file)[1:]:
            words = line.split()
            if len(words) > 7 and words[7].startswith("@"):
                found.add(f"socket {words[7]}")
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="utf-8") as file:
            found.update(f"listener {words[1]}" for words in
                         (line.split() for line in list(file)[1:])
                         if words[3] == "0A")
    return found


# Files that the library of a killed program leaves, which Canopy need not
# remove.
OF_PROGRAMS = ("/dev/shm/open_mpi.", "/dev/shm/ucx_shm_posix_",
               "/dev/shm/mpich_shar_tmp", "System V segment")


def shared_memory():
    with open("/proc/sysvipc/shm", encoding="utf-8") as file:
        return {f"System V segment {line.split()[1]}" for line in list(file)[1:]}


class Snapshot:
    def __init__(self, skip):
        self.skip = skip
        self.processes = processes()
        self.things = files(skip) | sockets() | shared_memory()

    def new_since(self):
        """Returns the entries that did not exist when this snapshot was taken."""
        now = Snapshot(self.skip)
        left = [text for pid, text in now.processes.items()
                if pid not in self.processes]
        return sorted(left) + sorted(now.things - self.things)

    def wait_clean(self, seconds, ignore=()):
        """Returns the entries that remain after at most SECONDS, except those
        that contain one of the texts IGNORE; empty if all are gone."""
        deadline = time.monotonic() + seconds
        while True:
            left = [text for text in self.new_since()
                    if not any(word in text for word in ignore)]
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.01)
