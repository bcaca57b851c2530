"""Brings up an overlay of emulated nodes for one measurement."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile


class Overlay:
    """Runs commands in the overlay. `work` is a directory that is removed with
    it, and `members` are its agents as `canopy up` reports them."""

    def __init__(self, prefix, name):
        self.canopy = os.path.join(prefix, "bin", "canopy")
        self.name = name
        self.work = tempfile.mkdtemp(prefix=f"canopy-{name}-")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.work)
        self.members = []

    def command(self, verb, *words):
        return [self.canopy, verb, "--context", self.name, *words]

    def json(self, verb, *words):
        return json.loads(subprocess.run(
            self.command(verb, "-o", "json", *words), env=self.env, check=True,
            capture_output=True).stdout)

    def popen(self, verb, *words, **options):
        return subprocess.Popen(self.command(verb, *words), env=self.env, **options)


@contextlib.contextmanager
def overlay(prefix, name, nodes):
    made = Overlay(prefix, name)
    try:
        made.members = made.json("up", "--nodes", str(nodes))["nodes"]
        yield made
    finally:
        subprocess.run(made.command("down", "--force"), env=made.env, check=False,
                       capture_output=True)
        shutil.rmtree(made.work)
