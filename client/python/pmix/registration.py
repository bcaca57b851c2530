"""Registrations at the server of a host: jobs, processes, resources, data."""
from . import constants as c
from .errors import Mismatch, returns
from .library import ffi, lib
from .memory import put_name, words
from .operation import Operation, Waiting, on_infos, perform
from .operation import Arguments
from .types import BYTES, PROC
from .values import infos_of, load_array


@ffi.callback("pmix_setup_application_cbfunc_t")
def _on_setup(status, infos, ninfo, handle, done, data):
    operation = ffi.from_handle(handle)
    try:
        found = infos_of(infos, ninfo)
    except Mismatch as error:
        status, found = error.status, []
    if done != ffi.NULL:
        done(c.PMIX_SUCCESS, data)
    operation.finish(status, found)


@ffi.callback("pmix_dmodex_response_fn_t")
def _on_modex(status, data, size, handle):
    found = bytearray(ffi.buffer(data, size)) if data != ffi.NULL else \
        bytearray()
    ffi.from_handle(handle).finish(status, (found, len(found)))


def _nspace(arguments, name):
    made = arguments.new("pmix_nspace_t *")
    put_name(made[0], name)
    return made[0]


class Registration:
    """Calls with `cbfunc` return immediately, and `cbfunc` is called later with
    the status and `cbdata`. Calls without it wait."""

    @returns()
    def register_nspace(self, nspace, nlocalprocs, dicts, cbfunc=None,
                        cbdata=None):
        return perform(lib.PMIx_server_register_nspace, lambda args: (
            _nspace(args, nspace), nlocalprocs, *args.infos(dicts)),
            cbfunc, cbdata)

    @returns()
    def deregister_nspace(self, nspace, cbfunc=None, cbdata=None):
        return perform(lib.PMIx_server_deregister_nspace,
                       lambda args: (_nspace(args, nspace),), cbfunc, cbdata)

    @returns()
    def register_client(self, proc, uid, gid, cbfunc=None, cbdata=None):
        return perform(lib.PMIx_server_register_client, lambda args: (
            args.one(PROC, proc), uid, gid, ffi.NULL), cbfunc, cbdata)

    @returns()
    def deregister_client(self, proc, cbfunc=None, cbdata=None):
        return perform(lib.PMIx_server_deregister_client,
                       lambda args: (args.one(PROC, proc),), cbfunc, cbdata)

    @returns()
    def register_resources(self, directives, cbfunc=None, cbdata=None):
        return perform(lib.PMIx_server_register_resources,
                       lambda args: args.infos(directives), cbfunc, cbdata)

    @returns()
    def deregister_resources(self, directives, cbfunc=None, cbdata=None):
        return perform(lib.PMIx_server_deregister_resources,
                       lambda args: args.infos(directives), cbfunc, cbdata)

    @returns()
    def register_attributes(self, function, attributes):
        args = Arguments()
        return lib.PMIx_Register_attributes(args.needed(function),
                                            args.words(attributes or []))

    @returns()
    def setup_fork(self, proc, envin):
        """Adds the variables of a process to the dict ENVIN."""
        args, env = Arguments(), ffi.new("char ***")
        status = lib.PMIx_server_setup_fork(args.one(PROC, proc), env)
        try:
            envin.update(word.split("=", 1) for word in words(env[0])
                         if "=" in word)
            return status
        finally:
            lib.PMIx_Argv_free(env[0])

    @returns(list)
    def setup_application(self, nspace, dicts):
        op = Waiting()
        return op.result(op.start(
            lib.PMIx_server_setup_application, _nspace(op, nspace),
            *op.infos(dicts), _on_setup), [])

    @returns()
    def setup_local_support(self, nspace, dicts, cbfunc=None, cbdata=None):
        return perform(lib.PMIx_server_setup_local_support, lambda args: (
            _nspace(args, nspace), *args.infos(dicts)), cbfunc, cbdata)

    @returns(lambda: (None, 0))
    def dmodex_request(self, proc, _=None):
        """Returns the status, and a pair of the data and its size."""
        op = Waiting()
        return op.result(op.start(lib.PMIx_server_dmodex_request,
                                  op.one(PROC, proc), _on_modex), (None, 0))

    @returns(list)
    def collect_inventory(self, directives):
        op = Waiting()
        return op.result(op.start(lib.PMIx_server_collect_inventory,
                                  *op.infos(directives), on_infos), [])

    @returns()
    def deliver_inventory(self, dicts, directives, cbfunc=None, cbdata=None):
        return perform(lib.PMIx_server_deliver_inventory, lambda args: (
            *args.infos(dicts), *args.infos(directives)), cbfunc, cbdata)

    @returns()
    def iof_deliver(self, source, channel, data, directives, cbfunc=None,
                    cbdata=None):
        return perform(lib.PMIx_server_IOF_deliver, lambda args: (
            args.one(PROC, source), channel, args.one(BYTES, data or {}),
            *args.infos(directives)), cbfunc, cbdata)

    @returns()
    def iof_flow_control(self, source, channel, xoff, directives, cbfunc=None,
                         cbdata=None):
        return perform(lib.PMIx_server_IOF_flow_control, lambda args: (
            load_array(PROC, source and [source], args), channel, xoff,
            *args.infos(directives)), cbfunc, cbdata)

    @returns()
    def define_process_set(self, members, name):
        args = Arguments()
        return lib.PMIx_server_define_process_set(*args.procs(members),
                                                  args.needed(name))

    @returns()
    def delete_process_set(self, name):
        args = Arguments()
        return lib.PMIx_server_delete_process_set(args.needed(name))

    @returns(lambda: {"bytes": b"", "size": 0})
    def collect_job_info(self, peers):
        if not peers:
            raise ValueError("there is no process")
        args, found = Arguments(), ffi.new("pmix_byte_object_t *")
        buffer = ffi.gc(ffi.new("pmix_data_buffer_t *"),
                        lib.PMIx_Data_buffer_destruct)
        status = lib.PMIx_server_collect_job_info(*args.procs(peers), buffer)
        if status == c.PMIX_SUCCESS:
            status = lib.PMIx_Data_unload(buffer, found)
        try:
            return status, BYTES.unload(found)
        finally:
            lib.PMIx_Byte_object_destruct(found)

    @returns()
    def session_control(self, session, dicts, cbfunc=None, cbdata=None):
        if cbfunc is None:
            args = Arguments()
            return lib.PMIx_Session_control(session, *args.infos(dicts),
                                            ffi.NULL, ffi.NULL)
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Session_control, session, *op.infos(dicts),
                        on_infos)
