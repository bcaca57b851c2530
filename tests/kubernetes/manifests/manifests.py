"""Reads the manifests of deploy/kubernetes, and renders its kustomization as far as the
manifests need it."""
import glob
import itertools
import os
import tomllib

import yaml

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                    "..", "..", ".."))
HOME = os.path.join(ROOT, "deploy", "kubernetes")
BASE = os.path.join(HOME, "base")
KUSTOMIZATION = {"apiVersion", "kind", "namespace", "labels", "resources",
                 "configMapGenerator", "images"}


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice, of which YAML's readers keep one."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.MarkedYAMLError(
                    problem=f"the key '{key}' is there twice",
                    problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


def documents(path):
    """Returns the objects of a file."""
    with open(path, encoding="utf-8") as file:
        return list(yaml.load_all(file, StrictLoader))


def comment(path):
    """Returns the text of the comment with which a file begins."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    head = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return " ".join(line.lstrip("# ") for line in head)


class Manifests:
    """The objects of the base and of the examples, each with the name of its file, and
    what the kustomization makes of files."""

    def __init__(self):
        self.kustomization, = documents(os.path.join(BASE, "kustomization.yaml"))
        self.base = [(name, one) for name in self.kustomization["resources"]
                     for one in documents(os.path.join(BASE, name))]
        self.examples = {
            os.path.basename(path): documents(path)
            for path in sorted(glob.glob(os.path.join(HOME, "examples", "*.yaml")))}
        self.notes = {name: comment(os.path.join(HOME, "examples", name))
                      for name in self.examples}
        with open(os.path.join(BASE, "cluster.toml"), "rb") as file:
            self.cluster = tomllib.load(file)

    def one(self, kind):
        """Returns the only object of a kind in the base."""
        found, = [one for _, one in self.base if one["kind"] == kind]
        return found

    def config_maps(self):
        """Returns the keys of each generated ConfigMap, by its name."""
        return {one["name"]: {os.path.basename(file) for file in one["files"]}
                for one in self.kustomization["configMapGenerator"]}

    def problems(self):
        """Returns what is wrong with the kustomization itself."""
        found = [f"kustomization.yaml: the field '{name}' is not known here"
                 for name in self.kustomization if name not in KUSTOMIZATION]
        listed = {"kustomization.yaml", *self.kustomization["resources"]}
        for one in self.kustomization["configMapGenerator"]:
            listed.update(one["files"])
        there = set(os.listdir(BASE))
        found += [f"kustomization.yaml does not name {name}"
                  for name in sorted(there - listed)]
        found += [f"kustomization.yaml names {name}, which does not exist"
                  for name in sorted(listed - there)]
        return found
