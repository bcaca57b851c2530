"""The root file system of the image: the programs of Canopy, the libraries and programs
of Debian that they need, and nothing else."""
import hashlib
import os
import re
import subprocess
from typing import NamedTuple, Optional

HERE = os.path.dirname(os.path.realpath(__file__))
AGENT = "usr/bin/canopyd"
# Programs of the agent's container: place in the image, and in the prefix.
PROGRAMS = {AGENT: "bin/canopyd",
            **{f"usr/bin/{name}": f"bin/{name}"
               for name in ("canopy", "canopy-full", "canopy-shim")}}
# Files that install-files copies to the node for the pods of jobs.
HOST = "usr/lib/canopy/host"
HOST_FILES = {"bin/canopy-exec": "bin/canopy-exec",
              **{f"lib/{name}": f"lib/canopy/{name}"
                 for name in ("canopy-entry.so", "libpmi.so.0", "libpmi2.so.0",
                              "libpmix.so.2")}}
INSTALL_FILES = "usr/lib/canopy/install-files"
# What install-files uses.
TOOLS = ("cp", "dash", "ln", "mv", "readlink", "rm", "sync")
# Libraries that programs load when they need them.
LOADED_LATER = ("libcurl.so.4", "libhwloc.so.15", "libz.so.1")
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64",
         "usr/bin/sh": "dash",
         **{f"usr/lib/canopy/{name}": f"host/lib/{name}"
            for name in ("libpmi.so.0", "libpmi2.so.0", "libpmix.so.2")}}
TEXTS = {"etc/group": "root:x:0:\n",
         "etc/nsswitch.conf": "hosts: files dns\n",
         "etc/passwd": "root:x:0:0:root:/:/bin/sh\n"}
# Directories on which the pod mounts its volumes: the file system is read-only.
MOUNTS = ("etc/canopy", "host/opt/canopy", "host/proc", "proc", "run/agent",
          "run/canopy", "sys", "tmp", "dev", "var/lib/kubelet/device-plugins",
          "var/run/secrets/kubernetes.io/serviceaccount")


class Entry(NamedTuple):
    """A file, a link, or a directory, which has neither content nor link."""
    mode: int
    content: Optional[bytes] = None
    link: str = ""


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path):
    """Returns the names of the libraries that a file needs."""
    return re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", path))


def interpreter(path):
    """Returns the path of a program's dynamic loader, or None."""
    found = re.search(r"program interpreter: (\S+)\]", run("readelf", "-lW", path))
    return found and found[1]


def system_libraries():
    """Returns the paths of the libraries of this machine, by their names. The first of
    several is that of the machine's own architecture."""
    found = {}
    for name, path in re.findall(r"^\t(\S+) \(.*\) => (\S+)$", run("/sbin/ldconfig", "-p"),
                                 re.M):
        found.setdefault(name, path)
    return found


class RootFileSystem:
    """Collects the entries, and the files of Debian that they come from."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.entries = {path: Entry(0o777, link=to) for path, to in LINKS.items()}
        self.debian = set()
        self.libraries = system_libraries()
        for path, text in TEXTS.items():
            self.entries[path] = Entry(0o644, text.encode())
        for path in MOUNTS:
            self.entries[path] = Entry(0o755)
        self._add_own()
        for name in TOOLS:
            self._add_debian(f"/usr/bin/{name}", f"usr/bin/{name}", 0o755)
        for name in LOADED_LATER:
            self._add_library(name)
        self._add_parents(self.entries)

    def add_text(self, path, text):
        """Adds a file that others can read."""
        self.entries[path] = Entry(0o644, text)
        self._add_parents([path])

    def _add_own(self):
        host = {f"{HOST}/{path}": source for path, source in HOST_FILES.items()}
        for path, source in {**PROGRAMS, **host}.items():
            self._add_file(os.path.join(self.prefix, source), path, 0o755)
        self.entries[INSTALL_FILES] = Entry(0o755, read(f"{HERE}/install-files"))
        self.entries[f"{HOST}/version"] = Entry(0o644, self._host_version().encode())

    def _host_version(self):
        """Returns the name of the directory of these files on a node."""
        digest = hashlib.sha256()
        for path in sorted(HOST_FILES):
            content = self.entries[f"{HOST}/{path}"].content
            digest.update(hashlib.sha256(content).digest())
        return f"version-{digest.hexdigest()[:16]}\n"

    def _add_file(self, source, path, mode):
        if not os.path.isfile(source):
            raise FileNotFoundError(f"{source} does not exist; ./install makes it")
        self.entries[path] = Entry(mode, read(source))
        if is_elf(source):
            self._add_needs(source)

    def _add_needs(self, source):
        loader = interpreter(source)
        if loader and loader.lstrip("/") not in self.entries:
            self._add_debian(loader, "usr" + loader, 0o755)
        own = {os.path.basename(path) for path in HOST_FILES}
        for name in needed(source):
            if name not in own:
                self._add_library(name)

    def _add_library(self, name):
        if name not in self.libraries:
            raise FileNotFoundError(f"the library {name} is not installed")
        path = self.libraries[name].lstrip("/")
        path = path if path.startswith("usr/") else f"usr/{path}"
        if path not in self.entries:
            self._add_debian(self.libraries[name], path, 0o644)

    def _add_debian(self, source, path, mode):
        self.debian.add(os.path.realpath(source))
        self._add_file(source, path, mode)

    def _add_parents(self, paths):
        for path in list(paths):
            while path := os.path.dirname(path):
                self.entries.setdefault(path, Entry(0o755))
