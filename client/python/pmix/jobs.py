"""Jobs: spawn, connect, abort, control of processes, and allocations."""
from .constants import PMIX_ERR_BAD_PARAM, PMIX_SUCCESS
from .errors import Mismatch, returns
from .library import ffi, lib
from .memory import decoded
from .operation import Arguments, Operation, Results, on_done, on_infos, \
    on_spawn
from .structures import APPLICATION
from .values import INFO, UNIT


def _applications(arguments, apps):
    if not apps:
        raise Mismatch(PMIX_ERR_BAD_PARAM, "there is no application")
    return arguments.array(APPLICATION, apps)


def _monitor(arguments, infos):
    """The function takes one info, in a list as in OpenPMIx."""
    if not infos:
        raise Mismatch(PMIX_ERR_BAD_PARAM, "there is nothing to monitor")
    return arguments.one(INFO, infos[0])


class Jobs:
    @returns(None)
    def spawn(self, job_info, apps):
        args, nspace = Arguments(), ffi.new("pmix_nspace_t *")
        status = lib.PMIx_Spawn(*args.infos(job_info),
                                *_applications(args, apps), nspace[0])
        return status, decoded(nspace[0]) if status == PMIX_SUCCESS else None

    @returns()
    def spawn_nb(self, job_info, apps, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Spawn_nb, *op.infos(job_info),
                        *_applications(op, apps), on_spawn)

    @returns()
    def connect(self, peers, dicts):
        args = Arguments()
        return lib.PMIx_Connect(*self._members(args, peers),
                                *args.infos(dicts))

    @returns()
    def connect_nb(self, peers, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Connect_nb, *self._members(op, peers),
                        *op.infos(dicts), on_done)

    @returns()
    def disconnect(self, peers, dicts):
        args = Arguments()
        return lib.PMIx_Disconnect(*self._members(args, peers),
                                   *args.infos(dicts))

    @returns()
    def disconnect_nb(self, peers, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Disconnect_nb, *self._members(op, peers),
                        *op.infos(dicts), on_done)

    @returns()
    def abort(self, status, msg, peers):
        args = Arguments()
        return lib.PMIx_Abort(status, args.text(msg),
                              *self._members(args, peers))

    @returns(list)
    def job_control(self, targets, directives):
        args, results = Arguments(), Results()
        return results.take(lib.PMIx_Job_control(
            *self._members(args, targets), *args.infos(directives),
            *results.places()))

    @returns()
    def job_control_nb(self, targets, directives, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Job_control_nb, *self._members(op, targets),
                        *op.infos(directives), on_infos)

    @returns(list)
    def monitor(self, monitor_info, code, directives):
        args, results = Arguments(), Results()
        return results.take(lib.PMIx_Process_monitor(
            _monitor(args, monitor_info), code, *args.infos(directives),
            *results.places()))

    @returns()
    def monitor_nb(self, monitor_info, code, directives, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Process_monitor_nb,
                        _monitor(op, monitor_info), code,
                        *op.infos(directives), on_infos)

    def heartbeat(self, _=None):
        lib.PMIx_Heartbeat()
        return PMIX_SUCCESS

    @returns(list)
    def allocation_request(self, directive, dicts):
        args, results = Arguments(), Results()
        return results.take(lib.PMIx_Allocation_request(
            directive, *args.infos(dicts), *results.places()))

    @returns()
    def allocation_request_nb(self, directive, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Allocation_request_nb, directive,
                        *op.infos(dicts), on_infos)

    @returns()
    def resource_block(self, directive, block, units, dicts):
        args = Arguments()
        return lib.PMIx_Resource_block(directive, args.needed(block),
                                       *args.array(UNIT, units),
                                       *args.infos(dicts))

    @returns()
    def resource_block_nb(self, directive, block, units, dicts, cbfunc,
                          cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Resource_block_nb, directive, op.needed(block),
                        *op.array(UNIT, units), *op.infos(dicts), on_done)
