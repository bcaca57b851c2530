"""Queries, logs and credentials."""
from .constants import PMIX_SUCCESS
from .errors import returns
from .library import ffi, lib
from .operation import Arguments, Operation, Results, on_credential, on_done, \
    on_infos, on_validation
from .structures import QUERY
from .types import BYTES


def _credential(arguments, credential):
    if not credential or not credential.get("bytes"):
        raise ValueError("the credential has no bytes")
    return arguments.one(BYTES, credential)


class Requests:
    @returns(list)
    def query(self, queries):
        args, results = Arguments(), Results()
        return results.take(lib.PMIx_Query_info(*args.array(QUERY, queries),
                                                *results.places()))

    @returns()
    def query_nb(self, queries, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Query_info_nb, *op.array(QUERY, queries),
                        on_infos)

    @returns()
    def log(self, data, directives):
        args = Arguments()
        return lib.PMIx_Log(*args.infos(data), *args.infos(directives))

    @returns()
    def log_nb(self, data, directives, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Log_nb, *op.infos(data),
                        *op.infos(directives), on_done)

    @returns(dict)
    def get_credential(self, dicts):
        args, found = Arguments(), ffi.new("pmix_byte_object_t *")
        status = lib.PMIx_Get_credential(*args.infos(dicts), found)
        try:
            return status, (BYTES.unload(found) if status == PMIX_SUCCESS
                            else {})
        finally:
            lib.PMIx_Byte_object_destruct(found)

    @returns()
    def get_credential_nb(self, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Get_credential_nb, *op.infos(dicts),
                        on_credential)

    @returns(list)
    def validate_credential(self, credential, dicts):
        args, results = Arguments(), Results()
        return results.take(lib.PMIx_Validate_credential(
            _credential(args, credential), *args.infos(dicts),
            *results.places()))

    @returns()
    def validate_credential_nb(self, credential, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Validate_credential_nb,
                        _credential(op, credential), *op.infos(dicts),
                        on_validation)
