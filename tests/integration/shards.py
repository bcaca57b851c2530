"""How worlds that run side by side share the cases of a test program. Each
world goes through all cases in the same order and takes the parts that no other
world has taken; a part is a case, or an overlay with its cases. Parts that need
the machine for themselves come last, one by one."""
import contextlib
import fcntl
import json
import os
import subprocess

# More than CPUs, because many cases wait most of their time; not many more,
# because an agent that gets no CPU for seconds counts as lost.
COUNT = int(os.environ.get("CANOPY_SHARDS", min(os.cpu_count() + 1, 8)))
SURVEY = "survey"  # the world that runs nothing
ALONE = "alone"  # the world that runs when no other does
SLOWEST = 15  # number of cases in the summary


class Share:
    """The cases that the world of this NAME runs. All worlds share DIRECTORY.
    """

    def __init__(self, directory, name):
        self.directory = directory
        self.name = name
        self.seen = 0  # parts so far, in the same order in all worlds

    def own_directory(self):
        path = os.path.join(self.directory, "world-" + self.name)
        os.mkdir(path)
        return path

    def take(self, alone):
        """Returns whether the next part is for this world. ALONE: it is for the
        world that runs when no other does."""
        self.seen += 1
        if alone != (self.name == ALONE):
            return False
        path = os.path.join(self.directory, f"taken-{self.seen}")
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            return True
        return False

    def offer(self, name):
        """Called with the name of each wanted case and overlay."""

    def end(self):
        """Records the number of parts."""
        with open(os.path.join(self.directory, "parts-" + self.name), "w",
                  encoding="utf-8") as file:
            file.write(str(self.seen))

    @contextlib.contextmanager
    def lock(self, name):
        """Within the block, no other world holds the lock of the same NAME."""
        with open(os.path.join(self.directory, f"lock-{name}"), "w",
                  encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def make(self, path, command):
        """Runs a command that builds a file, in one of the worlds that use the file."""
        with self.lock(os.path.basename(path)):
            if not os.path.exists(path):
                subprocess.run(command, check=True)

    def report(self, name, seconds, problem):
        """Prints a case's line, or lines, and records it for the summary."""
        line = f"FAILED {name}: {problem}" if problem else \
            f"ok {name} ({seconds:.1f} s)"
        with self.lock("output"):
            print(line, flush=True)
            with open(os.path.join(self.directory, "results"), "a",
                      encoding="utf-8") as file:
                file.write(json.dumps([name, seconds, not problem]) + "\n")


class Survey(Share):
    """A share that takes no part. It counts the wanted parts and records the names
    of the cases, so that no more worlds are made than there are parts."""

    def __init__(self, directory):
        super().__init__(directory, SURVEY)
        self.found = {"names": [], "beside": 0, "alone": 0}

    def take(self, alone):
        self.found["alone" if alone else "beside"] += 1
        return False

    def make(self, path, command):
        pass

    def offer(self, name):
        self.found["names"].append(name)

    def end(self):
        """Records the results of the survey, for found()."""
        with open(os.path.join(self.directory, SURVEY), "w",
                  encoding="utf-8") as file:
            json.dump(self.found, file)


def share(directory, name):
    return Survey(directory) if name == SURVEY else Share(directory, name)


def found(directory):
    """Returns the names of the wanted cases, and how many parts run beside
    others and alone, after a world was surveyed."""
    with open(os.path.join(directory, SURVEY), encoding="utf-8") as file:
        return json.load(file)


def same_parts(directory):
    """Returns false if worlds have counted different parts, so that one may be
    lost."""
    counts = set()
    for name in os.listdir(directory):
        if name.startswith("parts-"):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                counts.add(file.read())
    return len(counts) == 1


def summary(title, directory, seconds):
    """Prints the slowest cases and how many cases passed. Returns true if there
    are some and none failed."""
    results = []
    with contextlib.suppress(FileNotFoundError), \
            open(os.path.join(directory, "results"), encoding="utf-8") as file:
        results = [json.loads(line) for line in file]
    slowest = sorted(results, key=lambda result: -result[1])[:SLOWEST]
    print(f"{title}: the {len(slowest)} longest of {len(results)} cases, which "
          f"took {sum(result[1] for result in results):.0f} s, up to {COUNT} "
          f"at once in {seconds:.0f} s:")
    for name, taken, _ in slowest:
        print(f"  {taken:6.1f} s  {name}")
    passed = sum(result[2] for result in results)
    print(f"{title}: {passed} passed, {len(results) - passed} failed",
          flush=True)
    return passed == len(results) > 0
