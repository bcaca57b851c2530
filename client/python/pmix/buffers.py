"""Packed data. A buffer is a dict with 'bytes', 'bytes_used' and
'bytes_unpacked', which calls change; None is a new buffer."""
from .constants import PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_AVAILABLE, \
    PMIX_INFO, PMIX_SUCCESS, PMIX_VALUE
from .errors import Mismatch, returns
from .library import ffi, lib
from .memory import encoded
from .operation import Arguments
from .texts import type_of
from .types import BYTES, PROC
from .values import INFO, VALUE, converter_of


class Buffer:
    """A buffer of the library with the contents of a dict."""

    def __init__(self, contents):
        self.dict = {} if contents is None else contents
        data = self.dict.get("bytes") or b""
        data = encoded(data) if isinstance(data, str) else bytes(data)
        unpacked = self.dict.get("bytes_unpacked") or 0
        if unpacked > len(data):
            raise Mismatch(PMIX_ERR_BAD_PARAM,
                           "more was unpacked than the buffer has")
        self.c = ffi.gc(ffi.new("pmix_data_buffer_t *"),
                        lib.PMIx_Data_buffer_destruct)
        if data:
            self._fill(data, unpacked)

    def _fill(self, data, unpacked):
        start = ffi.cast("char *", lib.malloc(len(data)))
        ffi.memmove(start, data, len(data))
        self.c.base_ptr, self.c.pack_ptr = start, start + len(data)
        self.c.unpack_ptr = start + unpacked
        self.c.bytes_allocated = self.c.bytes_used = len(data)

    def store(self):
        """Copies the contents to the dict and returns it."""
        start, used = self.c.base_ptr, self.c.bytes_used
        data = bytes(ffi.buffer(start, used)) if start != ffi.NULL else b""
        unpacked = 0
        if start != ffi.NULL and self.c.unpack_ptr != ffi.NULL:
            unpacked = self.c.unpack_ptr - start
        self.dict.update(bytes=data, bytes_used=len(data),
                         bytes_unpacked=unpacked)
        return self.dict


def _required(buffer):
    if not isinstance(buffer, dict):
        raise TypeError(f"a buffer is expected, not {buffer!r}")


def _target(args, target):
    return ffi.NULL if target is None else args.one(PROC, target)


# Objects of the library by type: how they are made and destroyed.
_NEW = {PMIX_VALUE: ("pmix_value_t *", VALUE, lib.PMIx_Value_destruct),
        PMIX_INFO: ("pmix_info_t *", INFO, lib.PMIx_Info_destruct)}


class Buffers:
    @returns(None)
    def data_pack(self, buffer, value, data_type=None, target=None):
        data_type = type_of(value, data_type)
        args, packed = Arguments(), Buffer(buffer)
        status = lib.PMIx_Data_pack(
            _target(args, target), packed.c,
            args.one(converter_of(data_type), value), 1, data_type)
        return status, packed.store()

    @returns(None)
    def data_unpack(self, buffer, data_type=None, target=None):
        data_type = type_of({}, data_type)
        _required(buffer)
        ctype, converter, destroy = _NEW[data_type]
        args, packed, found = Arguments(), Buffer(buffer), ffi.new(ctype)
        status = lib.PMIx_Data_unpack(_target(args, target), packed.c, found,
                                      ffi.new("int32_t *", 1), data_type)
        packed.store()
        try:
            return status, (converter.unload(found)
                            if status == PMIX_SUCCESS else None)
        finally:
            destroy(found)

    @returns(None)
    def data_copy(self, value, data_type=None):
        data_type = type_of(value, data_type)
        ctype, converter, destroy = _NEW[data_type]
        args, made = Arguments(), ffi.new("void **")
        status = lib.PMIx_Data_copy(made, args.one(converter, value),
                                    data_type)
        if status != PMIX_SUCCESS:
            return status, None
        copy = ffi.cast(ctype, made[0])
        try:
            return status, converter.unload(copy)
        finally:
            destroy(copy)
            lib.free(copy)

    @returns(None)
    def data_copy_payload(self, target, source):
        to = Buffer(target)
        return lib.PMIx_Data_copy_payload(to.c, Buffer(source).c), to.store()

    @returns(None)
    def data_load(self, buffer, payload):
        to, args = Buffer(buffer), Arguments()
        made = ffi.new("pmix_byte_object_t *")
        source = args.one(BYTES, payload)
        if source.size:  # the buffer takes it over
            made.bytes = ffi.cast("char *", lib.malloc(source.size))
            made.size = source.size
            ffi.memmove(made.bytes, source.bytes, source.size)
        status = lib.PMIx_Data_load(to.c, made)
        if status != PMIX_SUCCESS:
            lib.PMIx_Byte_object_destruct(made)
        return status, to.store()

    @returns(None)
    def data_embed(self, buffer, payload):
        to, args = Buffer(buffer), Arguments()
        status = lib.PMIx_Data_embed(to.c, args.one(BYTES, payload))
        return status, to.store()

    @returns(None)
    def data_unload(self, buffer):
        _required(buffer)
        source, found = Buffer(buffer), ffi.new("pmix_byte_object_t *")
        status = lib.PMIx_Data_unload(source.c, found)
        source.store()
        try:
            return status, (BYTES.unload(found) if status == PMIX_SUCCESS
                            else None)
        finally:
            lib.PMIx_Byte_object_destruct(found)

    @returns(None)
    def data_compress(self, data):
        return _transformed(lib.PMIx_Data_compress, data)

    @returns(None)
    def data_decompress(self, data):
        return _transformed(lib.PMIx_Data_decompress, data)


def _transformed(transform, data):
    data = encoded(data)
    if not data:
        raise Mismatch(PMIX_ERR_BAD_PARAM, "there is no data")
    made, size = ffi.new("uint8_t **"), ffi.new("size_t *")
    if not transform(data, len(data), made, size):
        return PMIX_ERR_NOT_AVAILABLE, None
    try:
        return PMIX_SUCCESS, bytes(ffi.buffer(made[0], size[0]))
    finally:
        lib.free(made[0])
