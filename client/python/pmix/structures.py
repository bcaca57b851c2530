"""Structures that calls pass beside values: applications and queries."""
import os

from .library import ffi
from .memory import decoded, words
from .values import INFO, infos_of, load_array


class Application:
    """An application to spawn. The working directory is the caller's, the
    arguments are the command alone and the number of processes is 1 if they
    are left out."""

    ctype = "pmix_app_t"

    def load(self, target, value, memory):
        infos = value.get("info") or []
        target.cmd = memory.text(value["cmd"])
        target.argv = memory.words(value.get("argv") or [value["cmd"]])
        target.env = memory.words(value.get("env"))
        target.cwd = memory.text(value.get("cwd") or os.getcwd())
        target.maxprocs = value.get("maxprocs", 1)
        target.info = load_array(INFO, infos, memory)
        target.ninfo = len(infos)

    def unload(self, source):
        return {"cmd": decoded(source.cmd), "argv": words(source.argv),
                "env": words(source.env), "cwd": decoded(source.cwd),
                "maxprocs": source.maxprocs,
                "info": infos_of(source.info, source.ninfo)}


class Query:
    """A query: 'keys', and 'qualifiers' that are infos."""

    ctype = "pmix_query_t"

    def load(self, target, value, memory):
        qualifiers = value.get("qualifiers") or []
        target.keys = memory.words(value.get("keys") or [])
        target.qualifiers = load_array(INFO, qualifiers, memory)
        target.nqual = len(qualifiers)

    def unload(self, source):
        return {"keys": words(source.keys),
                "qualifiers": infos_of(source.qualifiers, source.nqual)}


APPLICATION, QUERY = Application(), Query()


def name_of(proc):
    """Returns the name of a process as a dict."""
    return {"nspace": decoded(proc.nspace), "rank": proc.rank}


def maybe(pointer, converter):
    """Returns the object at POINTER, or None for NULL."""
    return None if pointer == ffi.NULL else converter.unload(pointer)
