"""Python objects that have no counterpart in C."""
import functools

from .constants import PMIX_ERR_BAD_PARAM, PMIX_ERR_TYPE_MISMATCH
from .library import log


class Mismatch(Exception):
    """An argument that cannot be converted. `status` is the result of the call
    that has it."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def wrong_type(wanted, value):
    """Returns the error for a value that its data type does not have."""
    return Mismatch(PMIX_ERR_TYPE_MISMATCH,
                    f"{wanted} is expected, not {value!r}")


def converting(action, *args):
    """Calls ACTION and returns its result. Errors of Python, which come from
    arguments of another form, become a Mismatch."""
    try:
        return action(*args)
    except KeyError as error:
        raise Mismatch(PMIX_ERR_BAD_PARAM, f"no {error}") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Mismatch(PMIX_ERR_BAD_PARAM, str(error)) from error


def returns(*rest):
    """Decorates a call of the interface. A call with an argument that cannot be
    converted is not made: a line of the log gives the reason, and the result is
    the status, with REST behind it if the call has further results. A function
    in REST stands for its result."""
    def decorate(call):
        @functools.wraps(call)
        def checked(self, *args, **named):
            try:
                return converting(functools.partial(call, self, *args, **named))
            except Mismatch as error:
                log.error("%s: %s", call.__name__, error)
                others = [x() if callable(x) else x for x in rest]
                return (error.status, *others) if rest else error.status
        return checked
    return decorate
