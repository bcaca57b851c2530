"""Published data."""
from .constants import PMIX_ERR_PARTIAL_SUCCESS, PMIX_SUCCESS, PMIX_UNDEF
from .errors import returns
from .library import ffi, lib
from .memory import put_name
from .operation import Arguments, Operation, on_done, on_lookup
from .values import PUBLISHED


def _found(status, rows, count):
    """Returns the rows of a lookup that have a value."""
    if status not in (PMIX_SUCCESS, PMIX_ERR_PARTIAL_SUCCESS):
        return []
    return [PUBLISHED.unload(rows + i) for i in range(count)
            if rows[i].value.type != PMIX_UNDEF]


class Publishing:
    @returns()
    def publish(self, dicts):
        args = Arguments()
        return lib.PMIx_Publish(*args.infos(dicts))

    @returns()
    def publish_nb(self, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Publish_nb, *op.infos(dicts), on_done)

    @returns()
    def unpublish(self, keys, dicts):
        args = Arguments()
        return lib.PMIx_Unpublish(args.words(keys or None), *args.infos(dicts))

    @returns()
    def unpublish_nb(self, keys, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Unpublish_nb, op.words(keys or None),
                        *op.infos(dicts), on_done)

    @returns(list)
    def lookup(self, data, dicts):
        """Each dict of DATA has a 'key'."""
        data, args = data or [], Arguments()
        found = args.new("pmix_pdata_t[]", len(data))
        for i, row in enumerate(data):
            put_name(found[i].key, row["key"])
        status = lib.PMIx_Lookup(found, len(data), *args.infos(dicts))
        try:
            return status, _found(status, found, len(data))
        finally:
            for i in range(len(data)):
                lib.PMIx_Pdata_destruct(ffi.addressof(found, i))

    @returns()
    def lookup_nb(self, keys, dicts, cbfunc, cbdata=None):
        """KEYS are texts."""
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Lookup_nb, op.words(keys or []),
                        *op.infos(dicts), on_lookup)
