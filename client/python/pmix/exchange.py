"""Data of processes: put, commit, fence, get, and the nodes of processes."""
from .constants import PMIX_SUCCESS
from .errors import returns
from .library import ffi, lib
from .memory import decoded, put_name
from .operation import Arguments, Operation, on_done, on_value
from .values import VALUE, procs_of


def _nspace(arguments, name):
    """Returns a namespace for a call; an empty name means all namespaces."""
    made = arguments.new("pmix_nspace_t *")
    put_name(made[0], name or "")
    return made[0]


class Exchange:
    @returns()
    def store_internal(self, proc, key, value):
        args = Arguments()
        return lib.PMIx_Store_internal(self._proc(args, proc),
                                       args.needed(key),
                                       args.one(VALUE, value))

    @returns()
    def put(self, scope, key, value):
        args = Arguments()
        return lib.PMIx_Put(scope, args.needed(key), args.one(VALUE, value))

    def commit(self):
        return lib.PMIx_Commit()

    @returns()
    def fence(self, peers, dicts):
        args = Arguments()
        return lib.PMIx_Fence(*self._members(args, peers), *args.infos(dicts))

    @returns()
    def fence_nb(self, peers, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Fence_nb, *self._members(op, peers),
                        *op.infos(dicts), on_done)

    @returns(None)
    def get(self, proc, key, dicts):
        args, found = Arguments(), ffi.new("pmix_value_t **")
        status = lib.PMIx_Get(self._proc(args, proc), args.text(key),
                              *args.infos(dicts), found)
        if status != PMIX_SUCCESS or found[0] == ffi.NULL:
            return status, None
        try:
            return status, VALUE.unload(found[0])
        finally:
            lib.PMIx_Value_free(found[0], 1)

    @returns()
    def get_nb(self, proc, key, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Get_nb, self._proc(op, proc), op.text(key),
                        *op.infos(dicts), on_value)

    @returns(list)
    def resolve_peers(self, node, nspace):
        args = Arguments()
        procs, count = ffi.new("pmix_proc_t **"), ffi.new("size_t *")
        status = lib.PMIx_Resolve_peers(args.text(node),
                                        _nspace(args, nspace), procs, count)
        if status != PMIX_SUCCESS or procs[0] == ffi.NULL:
            return status, []
        try:
            return status, procs_of(procs[0], count[0])
        finally:
            lib.PMIx_Proc_free(procs[0], count[0])

    @returns(None)
    def resolve_nodes(self, nspace):
        args, nodes = Arguments(), ffi.new("char **")
        status = lib.PMIx_Resolve_nodes(_nspace(args, nspace), nodes)
        if status != PMIX_SUCCESS or nodes[0] == ffi.NULL:
            return status, None
        try:
            return status, decoded(nodes[0])
        finally:
            lib.free(nodes[0])
