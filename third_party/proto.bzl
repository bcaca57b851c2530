"""C++ from .proto files, with the distribution's protoc and gRPC plug-in."""

# Makes a header with the bytes of a FileDescriptorSet.
_DESCRIPTORS_CMD = """
protoc -I. --descriptor_set_out=$@.set $(SRCS)
{{
  echo '#pragma once'
  echo 'namespace canopy::protos {{'
  echo 'inline constexpr unsigned char k{name}Descriptors[] = {{'
  od -An -v -tu1 $@.set | sed 's/[0-9][0-9]*/&,/g'
  echo '}};'
  echo '}}'
}} > $@
rm $@.set
"""

def canopy_proto_library(
        name,
        src,
        deps = [],
        grpc = False,
        descriptors = False,
        visibility = None):
    """A cc_library of the messages of one .proto file.

    With grpc also NAME_grpc, of its services. With descriptors also
    NAME_descriptors: src as a FileDescriptorSet, kNameDescriptors in the header
    SRC_descriptors.h. Servers with reflection need it for messages of the lite
    runtime, which has no descriptors.

    Args:
      name: target name.
      src: the .proto file, in this package.
      deps: canopy_proto_library targets whose files src imports.
      grpc: also generate the services.
      descriptors: also generate the descriptors. src has no imports.
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
    if descriptors:
        native.genrule(
            name = name + "_descriptors_gen",
            srcs = [src],
            outs = [stem + "_descriptors.h"],
            cmd = _DESCRIPTORS_CMD.format(name = name.capitalize()),
        )
        native.cc_library(
            name = name + "_descriptors",
            hdrs = [stem + "_descriptors.h"],
            visibility = visibility,
        )
