"""Shared by the programs in Python over Canopy's module pmix."""
import os
import sys
import traceback

from pmix import PMIX_BOOL, PMIX_INT, PMIX_STRING, PMIX_SUCCESS


def kept(condition, *what):
    """Ends the process if a rule is violated; other threads may be waiting."""
    if not condition:
        traceback.print_stack(limit=5)
        print("broken:", *what, file=sys.stderr, flush=True)
        os._exit(1)


def done(status, *what):
    kept(status == PMIX_SUCCESS, "status", status, *what)


def result(answer):
    """Returns the result of a call that returns a status and a result."""
    done(answer[0], answer)
    return answer[1]


def info(key, value, val_type=None):
    """Returns an info; the type is that of the Python value by default."""
    if val_type is None:
        val_type = {bool: PMIX_BOOL, int: PMIX_INT, str: PMIX_STRING}[
            type(value)]
    return {"key": key, "value": value, "val_type": val_type}


def value(data, val_type=None):
    made = info(None, data, val_type)
    del made["key"]
    return made
