"""The library and the types of its headers."""
import logging
import os

from ._declarations import ffi

log = logging.getLogger("pmix")


def _path():
    """Returns the library of the same installation, which is at
    PREFIX/lib/canopy if this file is at PREFIX/lib/python3/dist-packages/pmix.
    """
    directory = os.environ.get("CANOPY_LIBRARY_DIR") or os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "canopy")
    return os.path.normpath(os.path.join(directory, "libpmix.so.2"))


lib = ffi.dlopen(_path())
