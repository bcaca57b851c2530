"""An isolated world for the tests: process ids, mounts, network and System V
memory that no other process uses. Everything that is present after a case was
left by it, and nothing survives the tests."""
import os
import shutil
import subprocess
import sys
import traceback

INSIDE = "--inside"
PYTHON = "/usr/bin/python3"  # has the modules of Debian's packages

# Directories that are mounted fresh and empty, with their modes: everything in
# them belongs to the tests.
FRESH = {"/tmp": "1777", "/dev/shm": "1777", "/run": "755"}


def enter(script, keep, words):
    """Runs SCRIPT again inside the world. KEEP are the paths below /tmp that
    stay visible. Returns its exit code."""
    command = ["unshare", "--mount", "--pid", "--net", "--ipc", "--fork",
               "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        command[1:1] = ["--user", "--map-root-user"]
    command += [PYTHON, os.path.abspath(script), INSIDE, *keep, "--",
                *words]
    return subprocess.run(command, check=False, cwd="/").returncode


def settle_in(arguments, main):
    """Runs as the first process inside: sets the world up, runs MAIN(keep,
    words) in a child and reaps every orphan until the child ends. Returns the
    child's exit code."""
    split = arguments.index("--")
    keep, words = arguments[:split], arguments[split + 1:]
    _mount(keep)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = main(keep, words)
            sys.stdout.flush()
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def _mount(keep):
    held = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in keep}
    for path, mode in FRESH.items():
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode={mode}", "canopy-it",
                        path], check=True)
    os.mkdir("/run/netns")
    for path, fd in held.items():
        os.makedirs(path, exist_ok=True)
        subprocess.run(["mount", "-c", "--bind", f"/proc/{os.getpid()}/fd/{fd}", path],
                       check=True)
        os.close(fd)


def available():
    """Returns None if the namespaces can be made, otherwise the reason why not.
    """
    if not shutil.which("unshare"):
        return "unshare (package util-linux) is missing"
    probe = ["unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "true"]
    if os.geteuid() != 0:
        probe[1:1] = ["--user", "--map-root-user"]
    done = subprocess.run(probe, check=False, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip()
