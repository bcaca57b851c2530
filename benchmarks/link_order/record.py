#!/usr/bin/env python3
"""Lists the functions that an agent executes for each operation of processes:
fences, direct modex, publishing, events and groups over four emulated nodes.

The linker puts them side by side (server/agent/link_order.txt), so that they
share pages: where every message meets a CPU that other processes have used,
an agent waits for the translation of each page it touches.

Usage: record.py PREFIX > server/agent/link_order.txt
PREFIX is an installed Canopy. Needs valgrind.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
COMPARE = os.path.join(HERE, "..", "compare")
sys.path.insert(0, COMPARE)
import launchers  # noqa: E402

NODES = 4
COUNT = 200
# Programs of the comparison, their arguments, and operations of each.
PROGRAMS = [("fence", ["none", str(COUNT)], COUNT),
            ("fence", ["collect", str(COUNT)], COUNT),
            ("dmodex", [str(COUNT)], COUNT),
            ("publish", [str(COUNT)], COUNT),
            ("event", [str(COUNT)], COUNT),
            ("group", [str(COUNT)], COUNT)]
HEAD = """\
# Functions of the paths that each fence, get, publish, event and group takes
# through an agent, by how they are called: first what most of them share. Their
# sections stand side by side in canopyd (benchmarks/link_order/record.py).
# A pattern that matches nothing does no harm.
"""
# Longer names are cut: what follows is their arguments.
MAX_NAME = 100


def wrap(prefix, work):
    """The installation with its agents under valgrind."""
    wrapped = os.path.join(work, "canopy")
    shutil.copytree(prefix, wrapped, symlinks=True)
    agent = os.path.join(wrapped, "bin", "canopyd")
    os.rename(agent, agent + ".real")
    with open(agent, "w", encoding="ascii") as script:
        # The address space under valgrind has no room for segments as large
        # as an agent makes them.
        script.write(f"""#!/bin/sh
ulimit -f 524288
exec valgrind --tool=callgrind --demangle=no --callgrind-out-file={work}/calls.%p \\
  --log-file=/dev/null {agent}.real "$@"
""")
    os.chmod(agent, 0o755)
    return wrapped


def calls_of(path):
    """How often each function was called, by its mangled name."""
    names, calls, callee = {}, collections.Counter(), None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line)
            if found:
                number, name = found.groups()
                if name:
                    names[number] = re.sub(r"'\\d+$", "", name)
                callee = names.get(number)
            elif line.startswith("calls=") and callee:
                calls[callee] += int(line[6:].split()[0])
    return calls


def run(prefix, program, arguments, nodes):
    with launchers.Canopy(prefix, [], nodes) as canopy:
        subprocess.run(canopy.command(2 * NODES, [program] + arguments),
                       check=True, stdout=subprocess.DEVNULL, timeout=300)


def ended(work):
    """The agents' files, once all are whole."""
    for _ in range(300):
        files = [os.path.join(work, f) for f in os.listdir(work)
                 if f.startswith("calls.")]
        whole = []
        for file in files:
            with open(file, encoding="utf-8", errors="replace") as text:
                if re.search(r"^totals: ", text.read(), re.MULTILINE):
                    whole.append(file)
        if len(whole) >= NODES and len(whole) == len(files):
            return files
        time.sleep(0.2)
    raise RuntimeError("agents under valgrind have not ended")


def hot_functions(prefix, work):
    uses, most = collections.Counter(), collections.Counter()
    wrapped = wrap(prefix, work)
    with launchers.Nodes(NODES) as nodes:
        for name, arguments, operations in PROGRAMS:
            program = os.path.join(work, name)
            source = os.path.join(COMPARE, "programs", name + ".c")
            subprocess.run(["gcc", "-O2", "-o", program, source,
                            f"-I{prefix}/include", f"-L{prefix}/lib",
                            f"-Wl,-rpath,{prefix}/lib", "-lpmix"], check=True)
            run(wrapped, program, arguments, nodes)
            calls = collections.Counter()
            for file in ended(work):
                calls |= calls_of(file)
                os.remove(file)
            for function, count in calls.items():
                if count >= operations / 2:
                    uses[function] += 1
                    most[function] = max(most[function], count)
    return sorted(uses, key=lambda f: (-uses[f], -most[f], f))


def is_ours(function):
    # The libraries' have no sections of their own, and what visits a variant
    # has the same first hundred letters for all kinds.
    return (function.startswith("_Z") and "6canopy" in function
            and not function.startswith("_ZNSt8__detail9__variant"))


def main():
    prefix = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="link-order-") as work:
        patterns = dict.fromkeys(
            f".text.{f[:MAX_NAME]}*" for f in hot_functions(prefix, work)
            if is_ours(f))
    sys.stdout.write(HEAD + "".join(p + "\n" for p in patterns))


if __name__ == "__main__":
    main()
