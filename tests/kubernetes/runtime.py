"""Runs one emulated container: a program of its own, because it moves itself into
namespaces. Reads a JSON object from standard input, and prints the process id of
the container's first process. When standard input gets a second line, the network
is ready and the command starts, which is reported by a second line. It ends with
the command's exit code, or as a shell does for a signal, and everything in the
container ends with it.

Keys of the object: command, environment, root (an empty directory), hostname,
cgroups (directories), mounts (lists of host path, container path, read-only),
address, gateway, log, user (a number or null), directory (null: /), capabilities
(numbers of those that are kept), privileged (can write to /sys), read_only (the root
file system cannot be changed), cgroup_namespace (its own group is the root that it
sees).
"""
import ctypes
import json
import os
import signal
import subprocess
import sys

NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWPID, NEWNET = (
    0x20000, 0x2000000, 0x4000000, 0x8000000, 0x20000000, 0x40000000)
RDONLY, NOSUID, REMOUNT, BIND, REC, PRIVATE = (
    1, 2, 0x20, 0x1000, 0x4000, 0x40000)
DETACH = 2
SET_PDEATHSIG, CAPBSET_DROP, SET_NO_NEW_PRIVS = 1, 24, 38
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    """Calls a function of libc; raises OSError if it fails."""
    words = [one.encode() if isinstance(one, str) else one for one in args]
    if getattr(libc, name)(*words) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}{args}: {os.strerror(code)}")


def mount(source, target, kind=None, flags=0, data=None):
    call("mount", source, target, kind, ctypes.c_ulong(flags), data)


def bind(source, target, read_only=False):
    """Binds a directory or a file, which is made if it is missing."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    mount(source, target, None, BIND | REC)
    if read_only:
        mount(None, target, None, BIND | REMOUNT | RDONLY)


def fresh(path, mode, size):
    mount("container", made(path), "tmpfs", NOSUID, f"mode={mode},size={size}")


def make_root(spec):
    """The image is this machine's root file system. What the machine has in /tmp,
    /run and /dev/shm cannot be seen."""
    root = spec["root"]
    # The sources are opened before anything is hidden.
    opened = [(os.open(host, os.O_PATH), inside, read_only)
              for host, inside, read_only in spec["mounts"]]
    mount(None, "/", None, REC | PRIVATE)
    machine = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    mount("container", root, "tmpfs", NOSUID, "mode=755")
    copy_entries(machine, root, without=("proc", "run", "tmp"))
    if spec["read_only"]:
        make_read_only(root)
    elif not spec["privileged"]:
        make_read_only(root + "/sys")
    mount("proc", made(root + "/proc"), "proc", NOSUID)
    fresh(root + "/tmp", "1777", "50%")
    fresh(root + "/run", "755", "16m")
    fresh(root + "/dev/shm", "1777", "64m")  # as container runtimes do
    for fd, inside, read_only in opened:
        inside = resolved(root, inside)
        make_mount_point(root, inside)
        bind(f"/proc/self/fd/{fd}", root + inside, read_only)
        os.close(fd)
    if spec["read_only"]:
        mount(None, root, None, BIND | REMOUNT | RDONLY)
    os.chdir(root)
    call("pivot_root", ".", ".")
    call("umount2", ".", DETACH)
    os.chdir(spec["directory"] or "/")


def made(path):
    os.makedirs(path, exist_ok=True)
    return path


def copy_entries(directory, target, without=()):
    """Makes the entries of an open DIRECTORY in TARGET: links as they are, and
    everything else by mounts."""
    for name in os.listdir(directory):
        if name in without:
            continue
        new = os.path.join(target, name)
        try:
            os.symlink(os.readlink(name, dir_fd=directory), new)
        except OSError:
            bind(f"/proc/self/fd/{directory}/{name}", new)
    os.close(directory)


def resolved(root, path):
    """Returns a path of the image without links, which lead to places in the image.
    """
    at = ""
    for name in path.strip("/").split("/"):
        at += "/" + name
        if os.path.islink(root + at):
            at = resolved(root, os.path.normpath(os.path.join(
                os.path.dirname(at), os.readlink(root + at))))
    return at


def make_mount_point(root, inside):
    """Makes a missing directory of the image without a change to the machine: its
    first existing parent becomes a directory of the container."""
    if os.path.exists(root + inside):
        return
    parent = os.path.dirname(inside)
    while not os.path.isdir(root + parent):
        parent = os.path.dirname(parent)
    if parent == "/" or parent.startswith(("/tmp", "/run")):
        return
    directory = os.open(root + parent, os.O_RDONLY | os.O_DIRECTORY)
    mount("container", root + parent, "tmpfs", NOSUID, "mode=755")
    copy_entries(directory, root + parent)


def make_read_only(top):
    """Forbids writing to all that is mounted below TOP."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        points = [line.split()[1] for line in file]
    for point in points:
        if point.startswith(top + "/"):
            mount(None, point, None, BIND | REMOUNT | RDONLY)


def give_up_privileges(user, kept):
    for capability in range(64):
        if capability not in kept:
            libc.prctl(CAPBSET_DROP, capability, 0, 0, 0)
    if user is not None:
        call("prctl", SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def configure_network(spec):
    subprocess.run(
        ["ip", "-batch", "-"], check=True, text=True, input=f"""\
link set lo up
addr add {spec['address']} dev eth0
link set eth0 up
route add default via {spec['gateway']}
""")


def become(spec, ready):
    """Makes the first process of the container, and runs its command."""
    call("prctl", SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    log = os.open(spec["log"], os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.read(ready, 1)
    configure_network(spec)
    call("sethostname", spec["hostname"], len(spec["hostname"]))
    for path in spec["cgroups"]:
        with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write("0")
    if spec["cgroup_namespace"]:
        call("unshare", NEWCGROUP)
    make_root(spec)
    # The descriptors of this program, among them the end of a pipe by which its
    # parent notices the start, are closed when the command is executed.
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE,
                   signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    give_up_privileges(spec["user"], spec["capabilities"])
    os.execvpe(spec["command"][0], spec["command"], spec["environment"])


def main():
    spec = json.loads(sys.stdin.readline())
    call("unshare", NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET)
    ready, go = os.pipe()
    started, starting = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        try:
            become(spec, ready)
        except OSError as error:
            os.write(2, f"cannot start: {error}\n".encode())
        os._exit(128)  # as a container runtime does
    os.close(starting)
    print(child, flush=True)
    if not sys.stdin.readline():
        os.kill(child, signal.SIGKILL)
    os.write(go, b"1")
    os.read(started, 1)
    print("started", flush=True)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
