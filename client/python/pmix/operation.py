"""Calls of the library: their arguments, and calls that have an answer later.
"""
import threading

from .constants import PMIX_ERR_BAD_PARAM, PMIX_SUCCESS
from .errors import Mismatch, converting
from .library import ffi, lib, log
from .memory import Memory, decoded
from .types import BYTES, PROC
from .values import DISTANCE, INFO, PUBLISHED, VALUE, infos_of, load_array, \
    unload_array


class Arguments(Memory):
    """The arguments of one call. An array comes with the number of its
    elements. The object must be in a variable during the call, because pointers
    do not keep it."""

    def array(self, converter, elements):
        elements = elements or []
        return load_array(converter, elements, self), len(elements)

    def infos(self, dicts):
        return self.array(INFO, dicts)

    def procs(self, procs):
        return self.array(PROC, procs)

    def one(self, converter, value):
        """Returns the address of one object."""
        return load_array(converter, [value], self) + 0


# Operations without their answer. The library has only their handles.
_pending = set()


class Operation(Arguments):
    """A call whose answer comes later, on a thread of the library. The object
    exists until then, with all memory that the library reads. FUNCTION gets the
    status, the results, and DATA."""

    def __init__(self, function, data=None):
        super().__init__()
        if not callable(function):
            raise Mismatch(PMIX_ERR_BAD_PARAM, "the callback is no function")
        self.function, self.user_data = function, data
        self.handle = ffi.new_handle(self)

    def start(self, call, *args):
        """Makes the call. Its last argument, the handle, is added."""
        _pending.add(self)
        status = call(*args, self.handle)
        if status is not None and status != PMIX_SUCCESS:
            _pending.discard(self)  # there will be no answer
        return PMIX_SUCCESS if status is None else status

    def finish(self, status, *results):
        _pending.discard(self)
        try:
            self.function(status, *results, self.user_data)
        except BaseException:  # pylint: disable=broad-except
            log.exception("a callback has failed")


def perform(call, arguments, function, data=None):
    """Makes a call that takes a callback. ARGUMENTS returns its arguments,
    given their memory. Without a FUNCTION it returns when the operation is
    done."""
    if function is None:
        memory = Arguments()
        status = call(*arguments(memory), ffi.NULL, ffi.NULL)
        return PMIX_SUCCESS if status is None else status
    operation = Operation(function, data)
    return operation.start(call, *arguments(operation), on_done)


class Waiting(Operation):
    """An operation whose caller waits for the answer."""

    def __init__(self):
        self._done = threading.Event()
        self._answer = None
        super().__init__(self._store)

    def _store(self, *answer):
        self._answer = answer[:-1]  # without the data of the callback
        self._done.set()

    def result(self, status, *nothing):
        """Returns the answer, or NOTHING behind STATUS if the call failed."""
        if status != PMIX_SUCCESS:
            return (status, *nothing)
        self._done.wait()
        return self._answer


# The answers, one function for each form that the library calls. Results are as
# for the corresponding blocking call.
@ffi.callback("pmix_op_cbfunc_t")
def on_done(status, handle):
    ffi.from_handle(handle).finish(status)


@ffi.callback("pmix_info_cbfunc_t")
def on_infos(status, infos, count, handle, release, release_data):
    found, status = _converted(status, lambda: infos_of(infos, count), [])
    if release != ffi.NULL:
        release(release_data)
    ffi.from_handle(handle).finish(status, found)


@ffi.callback("pmix_value_cbfunc_t")
def on_value(status, value, handle):
    found = None
    if status == PMIX_SUCCESS and value != ffi.NULL:
        found, status = _converted(status, lambda: VALUE.unload(value), None)
    ffi.from_handle(handle).finish(status, found)


@ffi.callback("pmix_lookup_cbfunc_t")
def on_lookup(status, data, count, handle):
    found, status = _converted(
        status, lambda: unload_array(
            PUBLISHED, data, 0 if data == ffi.NULL else count), [])
    ffi.from_handle(handle).finish(status, found)


@ffi.callback("pmix_spawn_cbfunc_t")
def on_spawn(status, nspace, handle):
    name = decoded(nspace) if status == PMIX_SUCCESS else None
    ffi.from_handle(handle).finish(status, name)


@ffi.callback("pmix_credential_cbfunc_t")
def on_credential(status, credential, infos, count, handle):
    found = {}
    if status == PMIX_SUCCESS and credential != ffi.NULL:
        found = BYTES.unload(credential)
    results, status = _converted(status, lambda: infos_of(infos, count), [])
    ffi.from_handle(handle).finish(status, found, results)


@ffi.callback("pmix_validation_cbfunc_t")
def on_validation(status, infos, count, handle):
    results, status = _converted(status, lambda: infos_of(infos, count), [])
    ffi.from_handle(handle).finish(status, results)


@ffi.callback("pmix_device_dist_cbfunc_t")
def on_distances(status, distances, count, handle, release, release_data):
    found, status = _converted(
        status, lambda: unload_array(
            DISTANCE, distances, 0 if distances == ffi.NULL else count), [])
    if release != ffi.NULL:
        release(release_data)
    ffi.from_handle(handle).finish(status, found)


def _converted(status, convert, nothing):
    """Returns the result of CONVERT and the status; a result that cannot be
    converted is an error."""
    try:
        return converting(convert), status
    except Mismatch as error:
        log.error("a result: %s", error)
        return nothing, error.status


class Results:
    """The array of infos that a call returns, which belongs to the caller."""

    def __init__(self):
        self.start, self.count = ffi.new("pmix_info_t **"), ffi.new("size_t *")

    def places(self):
        return self.start, self.count

    def take(self, status):
        """Returns the status with the infos. Of the errors, only a partial
        success has infos."""
        try:
            found, status = _converted(
                status, lambda: infos_of(self.start[0], self.count[0]), [])
            return status, found
        finally:
            if self.start[0] != ffi.NULL:
                lib.PMIx_Info_free(self.start[0], self.count[0])
