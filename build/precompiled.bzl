"""Headers of the system that are compiled once and included first by sources."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# The file that is compiled. Options include the wanted headers before it,
# because warnings in headers of the system are ignored, whereas warnings in
# this file are not.
_SOURCE = "/usr/include/stdc-predef.h"

def _precompiled_headers_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    lines = ["#include <%s>\n" % one for one in ctx.attr.headers]
    ctx.actions.write(header, "".join(lines))

    # GCC and Clang look for the compiled form at this path.
    form = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    options = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts
    for one in ctx.attr.headers:
        options = options + ["-include", one]
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = _SOURCE,
        output_file = form.path,
        user_compile_flags = options + ["-xc++-header"],
        use_pic = True,
    )
    ctx.actions.run(
        mnemonic = "CppPrecompile",
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = toolchain.all_files,
        outputs = [form],
    )
    files = depset([header, form])
    return [
        DefaultInfo(files = files),
        CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = files,
        )),
    ]

# Compiles `headers` as one header NAME.h. Targets that depend on the rule
# include it by the option -include $(BINDIR)/PACKAGE/NAME.h. The compilers read
# the compiled form if it was made with the same options, and the headers
# otherwise.
precompiled_headers = rule(
    implementation = _precompiled_headers_impl,
    attrs = {
        "copts": attr.string_list(
            doc = "options, after those of .bazelrc for all files",
        ),
        "headers": attr.string_list(mandatory = True),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
