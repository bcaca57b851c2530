"""C++ from .proto files, with the distribution's protoc and gRPC plug-in."""

def canopy_proto_library(name, src, deps = [], grpc = False, visibility = None):
    """A cc_library of the messages (and services, with grpc) of one .proto file.

    Args:
      name: target name.
      src: the .proto file, in this package.
      deps: canopy_proto_library targets whose files src imports.
      grpc: also generate the service stubs.
      visibility: as everywhere.
    """
    stem = src[:-len(".proto")]
    outs_h = [stem + ".pb.h"]
    outs_cc = [stem + ".pb.cc"]
    cmd = "protoc -I. --cpp_out=$(GENDIR)"
    if grpc:
        outs_h.append(stem + ".grpc.pb.h")
        outs_cc.append(stem + ".grpc.pb.cc")
        cmd += " --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin --grpc_out=$(GENDIR)"
    native.filegroup(
        name = name + "_proto",
        srcs = [src] + [d + "_proto" for d in deps],
        visibility = visibility,
    )
    native.genrule(
        name = name + "_gen",
        srcs = [src] + [d + "_proto" for d in deps],
        outs = outs_h + outs_cc,
        cmd = cmd + " $(location " + src + ")",
    )
    native.cc_library(
        name = name,
        srcs = outs_cc,
        hdrs = outs_h,
        copts = ["-w"],
        visibility = visibility,
        deps = deps + (["@system//:grpc++"] if grpc else ["@system//:protobuf"]),
    )
