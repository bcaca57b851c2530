"""The user who attacks root, and the files that this user must not change. Shared
by the cases in which a server runs as root and its processes do not."""
import os
import stat

from harness import check

USER = 60001
NAME = "canopy-test"
# Options of setpriv.
AS_USER = (f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--")
CONTENT = "precious"


def make_for_user(path):
    os.mkdir(path, 0o700)
    os.chown(path, USER, USER)


def make_target(path):
    """Makes a directory of root with a file and an empty directory."""
    os.mkdir(path)
    os.chmod(path, 0o755)
    file = os.path.join(path, "file")
    with open(file, "w", encoding="utf-8") as out:
        out.write(CONTENT)
    os.chmod(file, 0o600)
    os.mkdir(os.path.join(path, "hollow"), 0o700)


def check_target(path):
    """Checks that everything is unchanged."""
    for name, mode in (("file", stat.S_IFREG | 0o600), ("hollow", stat.S_IFDIR | 0o700)):
        whole = os.path.join(path, name)
        check(os.path.exists(whole), f"{name} of root's is gone")
        info = os.stat(whole)
        check(info.st_uid == 0 and info.st_mode == mode,
              f"{name} of root's is now {info.st_mode:o} of user {info.st_uid}")
    with open(os.path.join(path, "file"), encoding="utf-8") as file:
        check(file.read() == CONTENT, "the file of root's has another content")
