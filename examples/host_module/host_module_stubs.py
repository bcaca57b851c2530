"""Provides the Python modules that protoc makes of the scheduler's contract,
and the functions that every scheduler needs to use them.

The modules are made when this module is imported:

    from host_module_stubs import errors, pb, rpc

Needs the Debian packages python3-grpcio, protobuf-compiler,
protobuf-compiler-grpc and libprotobuf-dev. The .proto files are beside this
source tree's examples, or in the directory that CANOPY_PROTOS names, such as
$PREFIX/share/canopy/protos.
"""
import asyncio
import contextlib
import importlib
import os
import subprocess
import sys
import tempfile

import grpc

_PROTOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../protos")
_FOLDER = "canopy/hostmodule/v1"


def _make(protos):
    with tempfile.TemporaryDirectory(prefix="host-module-") as out:
        subprocess.run(
            ["protoc", "-I", protos, f"--python_out={out}", f"--grpc_out={out}",
             "--plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin",
             *(os.path.join(protos, _FOLDER, name)
               for name in ("error_details.proto", "host_module.proto"))], check=True)
        sys.path.insert(0, out)
        try:
            return [importlib.import_module(f"canopy.hostmodule.v1.{name}")
                    for name in ("error_details_pb2", "host_module_pb2",
                                 "host_module_pb2_grpc")]
        finally:
            sys.path.remove(out)


errors, pb, rpc = _make(os.environ.get("CANOPY_PROTOS", _PROTOS))


async def refuse(context, code, reason, text):
    """Ends a call with an error that has the name of a PMIx status, `reason`."""
    info = errors.ErrorInfo(reason=reason, domain="pmix.org")
    status = errors.Status(code=code.value[0], message=text)
    status.details.add(type_url="type.googleapis.com/google.rpc.ErrorInfo",
                       value=info.SerializeToString())
    await context.abort(code, text, (
        ("grpc-status-details-bin", status.SerializeToString()),))


def moment(timestamp):
    return timestamp.seconds + timestamp.nanos / 1e9


@contextlib.contextmanager
def reading(overlay, out, reader):
    """Runs `reader` during the block; it reads the stream whose queue is `out`.
    After the block the overlay has no stream, unless another stream has
    replaced it."""
    task = asyncio.ensure_future(reader)
    try:
        yield
    finally:
        task.cancel()
        if overlay.out is out:
            overlay.out = None


def health():
    """Returns a handler of grpc.health.v1.Health/Check. It answers SERVING: field
    1 of the response is 1."""
    async def serving(request, context):
        return b"\x08\x01"
    return grpc.method_handlers_generic_handler("grpc.health.v1.Health", {
        "Check": grpc.unary_unary_rpc_method_handler(serving)})
