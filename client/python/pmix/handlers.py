"""Functions that the library calls many times: handlers of events and of
output."""
import atexit
import threading

from .constants import PMIX_ERR_NOT_FOUND, PMIX_ERROR, \
    PMIX_EVENT_NO_ACTION_TAKEN, PMIX_SUCCESS
from .errors import Mismatch, converting
from .library import ffi, lib, log
from .operation import Arguments
from .types import BYTES
from .values import infos_of
from .structures import name_of


class NewHandler:
    """Waits until the library has registered a handler. The library reports the
    number on the thread on which it calls handlers, so the handler is in its
    table before its first call."""

    def __init__(self, table, handler):
        self._table, self._handler = table, handler
        self._done = threading.Event()
        self._status, self._number = PMIX_ERROR, -1
        self.handle = ffi.new_handle(self)

    def store(self, status, number):
        self._status = status
        if status == PMIX_SUCCESS:
            self._number = number
            self._table[number] = self._handler
        self._done.set()

    def result(self, status):
        """Returns status and number, given the status of the call."""
        if status != PMIX_SUCCESS:
            return status, -1
        self._done.wait()
        return self._status, self._number


@ffi.callback("pmix_hdlr_reg_cbfunc_t")
def on_registered(status, number, handle):
    ffi.from_handle(handle).store(status, number)


event_handlers, output_handlers = {}, {}


@atexit.register
def _deregister_all():
    """Deregisters the handlers before the interpreter frees them. The library
    may have a session still, of this program or of its MPI. A deregistration
    returns when the thread that calls handlers has ended a call."""
    for number in list(event_handlers):
        lib.PMIx_Deregister_event_handler(number, ffi.NULL, ffi.NULL)
    for number in list(output_handlers):
        lib.PMIx_IOF_deregister(number, ffi.NULL, 0, ffi.NULL, ffi.NULL)


# The results of event handlers, until the library has read them.
_returned = {}


@ffi.callback("pmix_op_cbfunc_t")
def _on_read(_, handle):
    _returned.pop(handle, None)


@ffi.callback("pmix_notification_fn_t")
def on_event(number, status, source, infos, ninfo, results, nresults, done,
             data):
    answer, found = _handle_event(number, status, source, infos_of_event(
        infos, ninfo), infos_of_event(results, nresults))
    if done == ffi.NULL:
        return
    kept = Arguments()
    handle = ffi.new_handle(kept)
    try:
        array = converting(kept.infos, found)
    except Mismatch as error:
        log.error("the results of an event handler: %s", error)
        array = ffi.NULL, 0
    _returned[handle] = kept
    done(answer, *array, _on_read, handle, data)


def infos_of_event(infos, count):
    """Returns the infos of an event that can be converted."""
    found = []
    for i in range(0 if infos == ffi.NULL else count):
        try:
            found += infos_of(infos + i, 1)
        except Mismatch as error:
            log.error("an event: %s", error)
    return found


def _handle_event(number, status, source, infos, results):
    """Returns the handler's status and results. A handler that fails is an
    error, and the next handler is called."""
    handler = event_handlers.get(number)
    if handler is None:
        return PMIX_ERR_NOT_FOUND, None
    origin = None if source == ffi.NULL else name_of(source)
    try:
        answer = handler(number, status, origin, infos, results)
        if answer is None:
            return PMIX_EVENT_NO_ACTION_TAKEN, None
        return int(answer[0]), answer[1]
    except BaseException:  # pylint: disable=broad-except
        log.exception("an event handler has failed")
        return PMIX_ERROR, None


@ffi.callback("pmix_iof_cbfunc_t")
def on_output(number, channel, source, payload, infos, ninfo):
    handler = output_handlers.get(number)
    if handler is None:
        return
    data = {"bytes": b"", "size": 0}
    if payload != ffi.NULL:
        data = BYTES.unload(payload)
    try:
        handler(number, channel, name_of(source), data,
                infos_of_event(infos, ninfo))
    except BaseException:  # pylint: disable=broad-except
        log.exception("an output handler has failed")
