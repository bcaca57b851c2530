"""Answers of a host to requests of the library. A function of the module gets
one of these functions, and an Answer that it passes on as the last argument."""
from . import constants as c
from .errors import Mismatch
from .library import ffi, log
from .memory import put_name
from .operation import Arguments
from .types import BYTES, PROC
from .values import PUBLISHED


class Answer:
    """The place for the answer to one request. The library takes one
    answer."""

    def __init__(self, function, data):
        self._function, self._data = function, data
        self.given = False

    def give(self, status, *results, rest=()):
        """Calls the library."""
        if self.given:
            log.error("a request is answered twice; the second answer is "
                      "ignored")
            return False
        self.given = True
        if self._function != ffi.NULL:
            self._function(status, *results, self._data, *rest)
        return True


# The objects that the library reads until it releases them.
_kept = {}


@ffi.callback("pmix_release_cbfunc_t")
def _on_release(handle):
    _kept.pop(handle, None)


def _give_kept(answer, status, memory, results):
    """Gives an answer that the library releases."""
    handle = ffi.new_handle(memory)
    _kept[handle] = memory
    if not answer.give(status, *results, rest=(_on_release, handle)):
        _kept.pop(handle)


def _converted(status, convert, nothing):
    """Returns the status with the result of CONVERT. An answer that cannot be
    converted is an error."""
    try:
        return (status, *convert())
    except (Mismatch, KeyError, TypeError, ValueError, AttributeError) as error:
        log.error("an answer: %s", error)
        return (getattr(error, "status", c.PMIX_ERROR), *nothing)


def answer_done(status, answer):
    answer.give(status)


def answer_infos(status, infos, answer):
    memory = Arguments()
    status, *array = _converted(status, lambda: memory.infos(infos),
                                (ffi.NULL, 0))
    _give_kept(answer, status, memory, array)


def answer_modex(status, data, answer):
    memory, data = Arguments(), bytes(data or b"")
    _give_kept(answer, status, memory, (memory.data(data), len(data)))


def answer_lookup(status, found, answer):
    memory = Arguments()
    answer.give(*_converted(status, lambda: memory.array(PUBLISHED, found),
                            (ffi.NULL, 0)))


def answer_spawn(status, nspace, answer):
    name = ffi.new("pmix_nspace_t *")

    def convert():
        put_name(name[0], nspace or "")
        return (name[0],)
    answer.give(*_converted(status, convert, (name[0],)))


def answer_tool(status, proc, answer):
    made = ffi.new("pmix_proc_t *")

    def convert():
        if status == c.PMIX_SUCCESS:
            PROC.load(made, proc, None)
        return (made,)
    answer.give(*_converted(status, convert, (made,)))


def answer_credential(status, credential, infos, answer):
    memory = Arguments()
    answer.give(*_converted(
        status, lambda: (memory.one(BYTES, credential or {}),
                         *memory.infos(infos)), (ffi.NULL, ffi.NULL, 0)))


def answer_validation(status, _, infos, answer):
    """The second argument is unused; it exists because OpenPMIx's function has
    it."""
    memory = Arguments()
    answer.give(*_converted(status, lambda: memory.infos(infos),
                            (ffi.NULL, 0)))
