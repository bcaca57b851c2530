"""Memory that a call passes to the library."""
from .constants import PMIX_ERR_BAD_PARAM
from .errors import Mismatch
from .library import ffi


def encoded(text):
    """Returns text as bytes. Bytes are accepted, too."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    if isinstance(text, (bytes, bytearray)):
        return bytes(text)
    raise TypeError(f"text is expected, not {text!r}")


def decoded(pointer):
    """Returns a text of C, or None for NULL."""
    if pointer == ffi.NULL:
        return None
    return ffi.string(pointer).decode("utf-8", "surrogateescape")


def words(pointer):
    """Returns the texts of an array that ends with NULL."""
    found = []
    while pointer != ffi.NULL and pointer[len(found)] != ffi.NULL:
        found.append(decoded(pointer[len(found)]))
    return found


def put_name(array, text):
    """Copies a namespace or a key into its array of characters."""
    data = encoded(text)
    if len(data) >= len(array):
        raise Mismatch(PMIX_ERR_BAD_PARAM,
                       f"a name of {len(data)} bytes is too long: {text!r}")
    if b"\0" in data:
        raise Mismatch(PMIX_ERR_BAD_PARAM, f"a zero byte in {text!r}")
    ffi.memmove(array, data + b"\0", len(data) + 1)


class Memory:
    """Objects of C, which exist as long as this one. All begin as zeros."""

    def __init__(self):
        self._kept = []

    def new(self, ctype, initial=None):
        made = ffi.new(ctype, initial)
        self._kept.append(made)
        return made

    def owned(self, pointer, destroy):
        """Destroys, together with this object, the object that the library has
        stored at POINTER."""
        self._kept.append(ffi.gc(pointer, destroy))
        return pointer

    def text(self, text):
        """Returns a copy of a text, or NULL for None."""
        if text is None:
            return ffi.NULL
        data = encoded(text)
        if b"\0" in data:
            raise Mismatch(PMIX_ERR_BAD_PARAM, f"a zero byte in {text!r}")
        return self.new("char[]", data)

    def needed(self, text):
        """Returns a copy of a text that must not be None."""
        return self.text(encoded(text))

    def data(self, data):
        """Returns a copy of bytes; NULL if there are none."""
        return self.new("char[]", bytes(data)) if data else ffi.NULL

    def words(self, texts):
        """Returns an array of texts that ends with NULL; NULL for None."""
        if texts is None:
            return ffi.NULL
        return self.new("char *[]",
                        [self.text(text) for text in texts] + [ffi.NULL])
