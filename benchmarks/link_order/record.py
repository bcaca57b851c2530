#!/usr/bin/env python3
"""Lists the functions that an agent, or the library, executes for each
operation.

The operations are fences, direct modex, publishing, events and groups over four
emulated nodes. The linker places the functions side by side
(server/agent/link_order.txt and client/abi/link_order.txt), so that they share
pages: when each message arrives at a CPU that other processes have used, an
agent and a process wait for the translation of each page that they touch.

Usage: record.py PREFIX > server/agent/link_order.txt
       record.py --library PREFIX > client/abi/link_order.txt

PREFIX is an installed Canopy. Needs valgrind.
"""
import argparse
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
# Programs of the comparison, their arguments, and the number of operations.
MESSAGES = [("fence", ["none", str(COUNT)], COUNT),
            ("fence", ["collect", str(COUNT)], COUNT),
            ("dmodex", [str(COUNT)], COUNT),
            ("publish", [str(COUNT)], COUNT),
            ("event", [str(COUNT)], COUNT),
            ("group", [str(COUNT)], COUNT)]
CALLS = [("fence", ["none", str(COUNT)], COUNT),
         ("get", [], COUNT),
         ("fence", ["collect", str(COUNT)], COUNT),
         ("event", [str(COUNT)], COUNT),
         ("publish", [str(COUNT)], COUNT),
         ("init", [], 1)]
AGENT = """\
# Functions of the paths that each fence, get, publish, event and group takes
# through an agent, by how they are called: first what a fence needs. Their
# sections stand side by side in canopyd (benchmarks/link_order/record.py),
# beside the calls of shared libraries; all others follow.
# A pattern that matches nothing does no harm.
"""
LIBRARY = """\
# Functions of the paths that PMIx_Init and each get, fence, event and lookup
# take in a process, by how they are called: first what a fence needs. Their
# sections stand side by side in the library (benchmarks/link_order/record.py),
# beside its calls of other libraries; all others follow.
# A pattern that matches nothing does no harm.
"""
OTHERS = ".text*"
# Longer names are cut; the rest encodes their arguments.
MAX_NAME = 100


def valgrind(work):
    return ["valgrind", "--tool=callgrind", "--demangle=no",
            f"--callgrind-out-file={work}/calls.%p", "--log-file=/dev/null"]


def wrap(prefix, work):
    """Returns a copy of the installation whose agents run under valgrind."""
    wrapped = os.path.join(work, "canopy")
    shutil.copytree(prefix, wrapped, symlinks=True)
    agent = os.path.join(wrapped, "bin", "canopyd")
    os.rename(agent, agent + ".real")
    with open(agent, "w", encoding="ascii") as script:
        # Under valgrind the address space has no room for segments of the size
        # that an agent makes.
        script.write(f"""#!/bin/sh
ulimit -f 524288
exec {" ".join(valgrind(work))} {agent}.real "$@"
""")
    os.chmod(agent, 0o755)
    return wrapped


def calls_of(path):
    """Returns the number of calls of each function, by its mangled name."""
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


def run(prefix, command, nodes):
    with launchers.Canopy(prefix, [], nodes) as canopy:
        subprocess.run(canopy.command(2 * NODES, command),
                       check=True, stdout=subprocess.DEVNULL, timeout=300)


def ended(work, count):
    """Returns the result files once all are complete."""
    for _ in range(300):
        files = [os.path.join(work, f) for f in os.listdir(work)
                 if f.startswith("calls.")]
        whole = []
        for file in files:
            with open(file, encoding="utf-8", errors="replace") as text:
                if re.search(r"^totals: ", text.read(), re.MULTILINE):
                    whole.append(file)
        if len(whole) >= count and len(whole) == len(files):
            return files
        time.sleep(0.2)
    raise RuntimeError("processes under valgrind have not ended")


def build(prefix, work, name):
    program = os.path.join(work, name)
    source = os.path.join(COMPARE, "programs", name + ".c")
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-o", program, source,
                    f"-I{prefix}/include", f"-L{prefix}/lib",
                    f"-Wl,-rpath,{prefix}/lib", "-lpmix"], check=True)
    return program


def record(prefix, work, nodes, library):
    """Returns, for each program, the number of calls of each function and the
    number of operations."""
    wrapped = prefix if library else wrap(prefix, work)
    for name, arguments, operations in CALLS if library else MESSAGES:
        command = [build(prefix, work, name)] + arguments
        run(wrapped, valgrind(work) + command if library else command, nodes)
        calls = collections.Counter()
        for file in ended(work, 2 * NODES if library else NODES):
            calls |= calls_of(file)
            os.remove(file)
        yield calls, operations


def hot_functions(prefix, work, library):
    """Returns the functions of the first program first, the most called
    functions in front."""
    hot = {}
    with launchers.Nodes(NODES) as nodes:
        for calls, operations in record(prefix, work, nodes, library):
            for function, count in sorted(calls.items(),
                                          key=lambda c: (-c[1], c[0])):
                if count >= operations / 2:
                    hot.setdefault(function)
    return hot


def has_section(function):
    # Each of Canopy's functions has its own section, and so has each function
    # of the C++ library that is linked in. Other libraries have one section for
    # many functions, and functions that visit a variant share their first
    # hundred letters.
    if re.match("_ZNK?St8__detail9__variant", function):
        return False
    return ("6canopy" in function or
            re.match("PMIx_|_ZNK?S|_ZS|_Z(nw|na|dl|da)", function) is not None)


def pattern(function):
    """Returns the pattern of a section. The sections of constructors and
    destructors use another of their names."""
    name = re.sub("([CD])[12](?=[EI])", r"\1?", function)
    return f".text.{name[:MAX_NAME]}*"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--library", action="store_true",
                        help="what processes execute, in place of agents")
    parser.add_argument("prefix", help="an installed Canopy")
    args = parser.parse_args()
    prefix = os.path.abspath(args.prefix)
    with tempfile.TemporaryDirectory(prefix="link-order-") as work:
        patterns = dict.fromkeys(
            pattern(f)
            for f in hot_functions(prefix, work, args.library) if has_section(f))
    sys.stdout.write((LIBRARY if args.library else AGENT) +
                     "".join(p + "\n" for p in [*patterns, OTHERS]))


if __name__ == "__main__":
    main()
