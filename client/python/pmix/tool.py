"""The roles of tools: processes that belong to no job."""
from .constants import PMIX_ERR_INIT, PMIX_OPERATION_SUCCEEDED, PMIX_SUCCESS
from .errors import returns
from .handlers import NewHandler, on_output, on_registered, output_handlers
from .library import ffi, lib
from .operation import Arguments, perform
from .server import PMIxServer
from .structures import name_of
from .types import BYTES, PROC
from .values import load_array, procs_of


class PMIxTool(PMIxServer):
    @returns(dict)
    def init(self, dicts=None):
        """Returns the status and the name of the tool."""
        args = Arguments()
        status = lib.PMIx_tool_init(self._self, *args.infos(dicts))
        return status, self._name() if status == PMIX_SUCCESS else {}

    def finalize(self):
        return lib.PMIx_tool_finalize()

    def is_connected(self):
        return lib.PMIx_tool_is_connected()

    @returns()
    def disconnect(self, server):
        """Disconnects from one server; tools cannot connect with processes."""
        args = Arguments()
        return lib.PMIx_tool_disconnect(args.one(PROC, server))

    @returns(None, None)
    def attach_to_server(self, dicts):
        """Returns the status, the name of the tool, and the name of the
        server."""
        args, server = Arguments(), ffi.new("pmix_proc_t *")
        status = lib.PMIx_tool_attach_to_server(self._self, server,
                                                *args.infos(dicts))
        if status != PMIX_SUCCESS:
            return status, None, None
        return status, self._name(), name_of(server)

    @returns(list)
    def get_servers(self):
        servers, count = ffi.new("pmix_proc_t **"), ffi.new("size_t *")
        status = lib.PMIx_tool_get_servers(servers, count)
        if status != PMIX_SUCCESS or servers[0] == ffi.NULL:
            return status, []
        try:
            return status, procs_of(servers[0], count[0])
        finally:
            lib.PMIx_Proc_free(servers[0], count[0])

    @returns()
    def set_server(self, server, dicts):
        args = Arguments()
        return lib.PMIx_tool_set_server(args.one(PROC, server),
                                        *args.infos(dicts))

    @returns()
    def set_server_module(self, functions):
        if not self._set_module(functions):
            return PMIX_ERR_INIT
        return lib.PMIx_tool_set_server_module(self._module)

    @returns(-1)
    def iof_pull(self, procs, channel, directives, handler):
        """HANDLER(number, channel, source, payload, infos) gets the output;
        the payload is a dict with 'bytes'. Returns the status and the number.
        """
        if not callable(handler):
            raise TypeError("the handler is no function")
        args, made = Arguments(), NewHandler(output_handlers, handler)
        return made.result(lib.PMIx_IOF_pull(
            *self._members(args, procs), *args.infos(directives), channel,
            on_output, on_registered, made.handle))

    @returns()
    def iof_deregister(self, number, directives, cbfunc=None, cbdata=None):
        status = perform(lib.PMIx_IOF_deregister, lambda args: (
            number, *args.infos(directives)), cbfunc, cbdata)
        if status in (PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED):
            output_handlers.pop(number, None)
        return status

    @returns()
    def iof_push(self, targets, data, directives, cbfunc=None, cbdata=None):
        """DATA is a dict with 'bytes', or None."""
        return perform(lib.PMIx_IOF_push, lambda args: (
            *self._members(args, targets),
            load_array(BYTES, data and [data], args),
            *args.infos(directives)), cbfunc, cbdata)


class PMIxScheduler(PMIxTool):
    """A tool that is the system's scheduler. It serves the requests for which
    it has functions (`set_server_module`) and controls sessions
    (`session_control`)."""
