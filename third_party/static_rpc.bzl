"""gRPC, protobuf and Abseil inside a program instead of beside it.

They are some fifty shared libraries, and linking these at run time would take
most of the time that a program needs to start. Debian's archives are compiled
for programs, not for shared libraries. OpenSSL, hwloc and the log library stay
shared. The linker meets the shared libraries that targets name later, and finds
that no symbol of them is needed.
"""

_ABSL = [
    "bad_optional_access",
    "bad_variant_access",
    "base",
    "city",
    "civil_time",
    "cord",
    "cord_internal",
    "cordz_functions",
    "cordz_handle",
    "cordz_info",
    "debugging_internal",
    "demangle_internal",
    "exponential_biased",
    "graphcycles_internal",
    "hash",
    "hashtablez_sampler",
    "int128",
    "log_severity",
    "low_level_hash",
    "malloc_internal",
    "random_distributions",
    "random_internal_platform",
    "random_internal_pool_urbg",
    "random_internal_randen",
    "random_internal_randen_hwaes",
    "random_internal_randen_hwaes_impl",
    "random_internal_randen_slow",
    "random_internal_seed_material",
    "random_seed_gen_exception",
    "random_seed_sequences",
    "raw_hash_set",
    "raw_logging_internal",
    "spinlock_wait",
    "stacktrace",
    "status",
    "statusor",
    "str_format_internal",
    "strerror",
    "strings",
    "strings_internal",
    "symbolize",
    "synchronization",
    "throw_delegate",
    "time",
    "time_zone",
]

# Link options of a program that uses gRPC.
STATIC_RPC_LINKOPTS = [
    "-Wl,--as-needed",
    "-Wl,-Bstatic",
    "-Wl,--start-group",
    "-lgrpc++_reflection",
    "-lgrpc++",
    "-lgrpc",
    "-lgpr",
    "-laddress_sorting",
    "-lupb",
    "-lprotobuf",
    "-lre2",
    "-lcares",
    "-lz",
] + ["-labsl_" + name for name in _ABSL] + [
    "-Wl,--end-group",
    "-Wl,-Bdynamic",
    "-lssl",
    "-lcrypto",
]

# Link options of a program that uses messages of protobuf's lite runtime, and
# no gRPC. The whole library would parse its own descriptors at each start.
STATIC_PROTOBUF_LITE_LINKOPTS = [
    "-Wl,--as-needed",
    "-Wl,-Bstatic",
    "-lprotobuf-lite",
    "-Wl,-Bdynamic",
]

# Link options that put SQLite into a program: loading a shared library would
# not pay for a millisecond of use.
STATIC_SQLITE_LINKOPTS = [
    "-Wl,--as-needed",
    "-Wl,-Bstatic",
    "-lsqlite3",
    "-Wl,-Bdynamic",
    "-lm",
]
