"""Events."""
from .constants import PMIX_OPERATION_SUCCEEDED, PMIX_SUCCESS
from .errors import returns
from .handlers import NewHandler, event_handlers, on_event, on_registered
from .library import lib
from .operation import Arguments, perform
from .types import Number

STATUS = Number("pmix_status_t")


class Events:
    @returns(-1)
    def register_event_handler(self, codes, dicts, handler):
        """HANDLER(number, status, source, infos, results) returns a status and
        a list of infos, or None. Returns the status and the number."""
        if not callable(handler):
            raise TypeError("the handler is no function")
        args, made = Arguments(), NewHandler(event_handlers, handler)
        return made.result(lib.PMIx_Register_event_handler(
            *args.array(STATUS, codes), *args.infos(dicts), on_event,
            on_registered, made.handle))

    @returns()
    def deregister_event_handler(self, ref, cbfunc=None, cbdata=None):
        status = perform(lib.PMIx_Deregister_event_handler,
                         lambda _: (ref,), cbfunc, cbdata)
        if status in (PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED):
            event_handlers.pop(ref, None)
        return status

    @returns()
    def notify_event(self, status, source, range, dicts, cbfunc=None,
                     cbdata=None):
        return perform(lib.PMIx_Notify_event, lambda args: (
            status, self._proc(args, source), range, *args.infos(dicts)),
            cbfunc, cbdata)
