"""C++ from .proto files, with the distribution's protoc and gRPC plug-in."""

def canopy_proto_library(name, src, deps = [], grpc = False, visibility = None):
    """A cc_library of the messages of one .proto file.

    With grpc also NAME_grpc, of its services.

    Args:
      name: target name.
      src: the .proto file, in this package.
      deps: canopy_proto_library targets whose files src imports.
      grpc: also generate the services.
      visibility: as everywhere.
    """
    stem = src[:-len(".proto")]
    outs = [stem + ".pb.h", stem + ".pb.cc"]
    services = [stem + ".grpc.pb.h", stem + ".grpc.pb.cc"]
    cmd = "protoc -I. --cpp_out=$(GENDIR)"
    if grpc:
        cmd += " --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin --grpc_out=$(GENDIR)"
    native.filegroup(
        name = name + "_proto",
        srcs = [src] + [d + "_proto" for d in deps],
        visibility = visibility,
    )
    native.genrule(
        name = name + "_gen",
        srcs = [src] + [d + "_proto" for d in deps],
        outs = outs + (services if grpc else []),
        cmd = cmd + " $(location " + src + ")",
    )
    native.cc_library(
        name = name,
        srcs = [stem + ".pb.cc"],
        hdrs = [stem + ".pb.h"],
        copts = ["-w"],
        visibility = visibility,
        deps = deps + ["@system//:protobuf"],
    )
    if grpc:
        native.cc_library(
            name = name + "_grpc",
            srcs = [stem + ".grpc.pb.cc"],
            hdrs = [stem + ".grpc.pb.h"],
            copts = ["-w"],
            visibility = visibility,
            deps = [":" + name, "@system//:grpc++"],
        )
