"""Provides the Python modules that protoc makes of device_plugin.proto: `pb` and
`rpc`."""
import importlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def _make():
    with tempfile.TemporaryDirectory(prefix="device-plugin-") as out:
        subprocess.run(
            ["protoc", "-I", HERE, f"--python_out={out}", f"--grpc_out={out}",
             "--plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin",
             os.path.join(HERE, "device_plugin.proto")], check=True)
        sys.path.insert(0, out)
        try:
            return [importlib.import_module(name)
                    for name in ("device_plugin_pb2", "device_plugin_pb2_grpc")]
        finally:
            sys.path.remove(out)


pb, rpc = _make()
