#!/usr/bin/env python3
"""Builds the Debian packages, installs them on nodes that run systemd, and types what
docs/operate.md shows. The nodes are containers of this machine, so this needs root.

A block with a name after its kind is a file on every node. In a console, `n1#` is the
prompt of root on n1, `all#` that of root on every node, and `alice@n1$` that of a user.
The lines below a command are its output, as in tests/integration/cases_user_pages.py.

Usage: tests/packages/run.py [PACKAGES]
PACKAGES is a directory with packages that are built already.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))

import netns  # noqa: E402
import nodes  # noqa: E402
from cases_user_pages import BLOCK, difference  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "operate.md")
PROGRAMS = os.path.join(ROOT, "tests", "integration", "programs")
NEXT = "99:0"  # the version of the upgrade
COUNT = 5
FIRST = 4  # nodes that the page begins with


class Step:
    """One command of the page with the output that it shows."""

    def __init__(self, match):
        self.user = match["user"] or "root"
        self.node = match["node"]
        self.command = match["command"]
        self.shown = []

    def __str__(self):
        return f"{self.user}@{self.node}: {self.command}"


def read(path):
    """Returns the files of a page, and its sections: names with their steps."""
    with open(path, encoding="utf-8") as page:
        text = page.read()
    files = {name: body for _, name, body in BLOCK.findall(text) if name}
    sections = []
    for title, body in re.findall(r"^## (.*)\n((?:(?!^## ).*\n)*)", text, re.M):
        steps = []
        for kind, _, block in BLOCK.findall(body):
            for line in block.splitlines() if kind == "console" else ():
                match = nodes.PROMPT.match(line)
                if match:
                    steps.append(Step(match))
                else:
                    steps[-1].shown.append(line)
        if steps:
            sections.append((title, steps))
    return files, sections


def renumbered(package, out):
    """Writes a copy of a package with the version of the upgrade."""
    with tempfile.TemporaryDirectory() as work:
        tree = os.path.join(work, "tree")
        nodes.run("dpkg-deb", "-R", package, tree)
        control = os.path.join(tree, "DEBIAN", "control")
        with open(control, encoding="utf-8") as file:
            text = file.read()
        version = re.search(r"^Version: (.*)$", text, re.M)[1]
        with open(control, "w", encoding="utf-8") as file:
            file.write(text.replace(f"Version: {version}", f"Version: {NEXT}")
                       .replace(f"(= {version})", f"(= {NEXT})"))
        nodes.run("dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, out,
                  stdout=subprocess.DEVNULL)


class Cluster:
    """The nodes of the page."""

    def __init__(self, parent, packages, space):
        hosts = "127.0.0.1 localhost\n" + "".join(
            f"{space.address(i)} {name}\n" for i, name in enumerate(space.names))
        self.nodes = {name: nodes.Node(name, parent, hosts)
                      for name in space.names}
        self.used = set(space.names[:FIRST])
        new = os.path.join(parent, "new")
        os.mkdir(new)
        for name in packages:
            renumbered(name, new)
        for node in self.nodes.values():
            shutil.copytree(new, node.root + "/root/new")
            for name in packages:
                shutil.copy(name, node.root + "/root")

    def begin(self, files):
        programs(self.nodes["n1"].home)
        for node in self.nodes.values():
            os.makedirs(node.root + "/etc/canopy")
            for path, text in files.items():
                node.write(path, text)
            for user, uid in nodes.USERS.items():
                home = f"{node.root}/home/{user}"
                for name in ("hello-openmpi", "hello-mpich", "until"):
                    shutil.copy(os.path.join(self.nodes["n1"].home, name), home)
                shutil.copy(os.path.join(PROGRAMS, "hello_mpi4py.py"), home)
                nodes.run("chown", "-R", f"{uid}:{uid}", home)
            node.boot()

    def targets(self, step):
        """Returns the nodes of a step. "all" are those that the page has used."""
        if step.node == "all":
            return [self.nodes[name] for name in sorted(self.used)]
        self.used.add(step.node)
        return [self.nodes[step.node]]

    def copy(self, command):
        """Executes scp, whose source is a pattern of n1."""
        for name in re.search(r"for n in (.*?);", command)[1].split() \
                if "for n in" in command else [re.search(r" (n\d):", command)[1]]:
            source = re.search(r"scp -q (\S+)", command)[1]
            nodes.run("sh", "-c", f"cp {self.nodes['n1'].root}{source} "
                      f"{self.nodes[name].root}/etc/canopy/")

    def execute(self, step):
        """Returns the exit code and the output of a step."""
        if "scp -q" in step.command:
            self.copy(step.command)
            return 0, ""
        code, out = 0, ""
        for node in self.targets(step):
            code, out = node.shell(step.user).run(step.command)
            if step.command == "systemctl reboot":
                node.reboot()
                return 0, ""
            if code:
                break
        return code, out

    def end(self):
        for node in self.nodes.values():
            node.end()


def programs(out):
    for family in ("openmpi", "mpich"):
        for name in ("hello",) if family == "mpich" else ("hello", "until"):
            target = f"{name}-{family}" if name == "hello" else name
            nodes.run(f"mpicc.{family}", "-O1", f"-I{PROGRAMS}",
                      os.path.join(PROGRAMS, name + ".c"), "-o",
                      os.path.join(out, target))


def section(cluster, steps):
    """Returns what differs from the page, or None."""
    for step, following in zip(steps, [*steps[1:], None]):
        code, out = cluster.execute(step)
        problem = difference(step.shown, out)
        if code and (following is None or following.command != "echo $?"):
            problem = f"exit code {code}"
        if problem:
            return f"{step}\n    {problem} in:\n{out}"
    return None


def page(packages, parent):
    files, sections = read(PAGE)
    failed = 0
    os.makedirs("/run/netns", exist_ok=True)
    nodes.run("mount", "-t", "tmpfs", "none", "/run/netns")
    with netns.Namespaces(COUNT) as space:
        cluster = Cluster(parent, packages, space)
        try:
            cluster.begin(files)
            for title, steps in sections:
                began = time.monotonic()
                problem = section(cluster, steps)
                seconds = time.monotonic() - began
                print(f"FAILED operate: {title}: {problem}" if problem else
                      f"ok operate: {title} ({seconds:.1f} s)", flush=True)
                failed += problem is not None
                if problem:
                    break
        finally:
            cluster.end()
    return failed


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--inside":
        packages = [os.path.join(sys.argv[2], name)
                    for name in sorted(os.listdir(sys.argv[2]))
                    if name.startswith(("canopy_", "canopyd_", "libpmix2-"))]
        sys.exit(page(packages, sys.argv[3]))
    with tempfile.TemporaryDirectory(prefix="canopy-packages-", dir="/tmp") as work:
        out = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else \
            os.path.join(work, "packages")
        if len(sys.argv) == 1:
            nodes.run(os.path.join(ROOT, "deploy", "deb", "build"), out)
            print("ok packages are built, without errors of lintian", flush=True)
        parent = os.path.join(work, "nodes")
        os.mkdir(parent)
        # What the nodes leave behind ends with these namespaces.
        inside = ["unshare", "--mount", "--net", "--pid", "--fork",
                  "--kill-child", "--mount-proc", "--propagation", "private",
                  sys.executable, os.path.abspath(__file__), "--inside", out,
                  parent]
        code = subprocess.run(inside, check=False).returncode
    sys.exit(code)


if __name__ == "__main__":
    main()
