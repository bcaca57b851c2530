"""Provides the Python modules that protoc makes of host_module.proto.

They are made when this module is imported:

    from host_module_stubs import pb, rpc

Needs the Debian packages python3-grpcio, protobuf-compiler and
protobuf-compiler-grpc. The .proto file is beside this source tree's examples,
or in the directory that CANOPY_PROTOS names, such as
$PREFIX/share/canopy/protos.
"""
import importlib
import os
import subprocess
import sys
import tempfile

_PROTOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../protos")


def _make(protos):
    with tempfile.TemporaryDirectory(prefix="host-module-") as out:
        subprocess.run(
            ["protoc", "-I", protos, f"--python_out={out}", f"--grpc_out={out}",
             "--plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin",
             os.path.join(protos, "host_module.proto")], check=True)
        sys.path.insert(0, out)
        try:
            return [importlib.import_module(name)
                    for name in ("host_module_pb2", "host_module_pb2_grpc")]
        finally:
            sys.path.remove(out)


pb, rpc = _make(os.environ.get("CANOPY_PROTOS", _PROTOS))
