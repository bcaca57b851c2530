"""The layers: which packages each package may depend on, and which headers it
may use.

A package is named as a folder, or as FOLDER/... with all folders below it; the
longest name that fits a package counts. A package depends only on the packages
of its layer's entry, and a package without a layer fails the test.
"""

VALUES = ["client/include", "common", "common/codec", "common/values"]
ENDPOINT = [*VALUES, "common/posix", "common/shm", "server/core/step",
            "server/ports"]
CLIENT = [*VALUES, "common/local", "common/posix", "common/shm", "common/support"]

# Package: the packages, and targets of @system, that it may depend on. Adapters
# do not depend on each other, except on packages that serve several adapters;
# server/agent connects the adapters.
LAYERS = {
    # These are loaded into users' programs and may link only the C++ library
    # and libc. The functions of hwloc and zlib are found by dlopen;
    # hwloc_headers are types.
    "client/include": [],
    "common": ["@hwloc_headers"],
    "common/allocation": ["common"],
    "common/cluster": ["common", "common/allocation", "common/posix",
                       "common/toml", "@tomlplusplus"],
    "common/codec": VALUES,
    "common/loader": ["common", "common/posix"],
    "common/local": ["common"],
    "common/posix": ["common"],
    "common/preload": ["common", "common/posix"],
    "common/request": ["common"],
    "common/shm": ["common", "common/posix"],
    "common/support": VALUES,
    "common/toml": ["common", "@tomlplusplus"],
    "common/values": [*VALUES, "@hwloc_headers"],
    "common/wording": [],
    "client/abi": [*CLIENT, "client/events", "client/session", "client/tool",
                   "client/topology", "server/core/step", "server/library",
                   "server/registration", "server/setup", "server/spawn"],
    "client/channel": CLIENT,
    "client/events": CLIENT,
    # client/pmi uses only the exported functions of libpmix. From common it
    # uses headers that link nothing.
    "client/pmi": ["client/abi", "client/include", "common"],
    "client/session": [*CLIENT, "client/channel", "client/events",
                       "client/topology"],
    "client/tool": [*CLIENT, "client/channel", "client/events",
                    "client/session"],
    "client/topology": [*CLIENT, "@hwloc_headers"],
    "client/stacks": ["client/stacks", "common"],
    "client/tools": ["client/abi", "client/cli/base", "client/cli/options",
                      "client/cli/run", "client/include", "client/stacks",
                      "client/tools", "common", "@nlohmann_json"],
    # The command `canopy`.
    "client/cli/...": ["client/cli/...", "client/include", "client/stacks",
                       "common", "common/allocation", "common/cluster",
                       "common/posix", "common/preload", "common/request",
                       "common/wording", "protos",
                       "server/net", "server/openpmix", "server/relay",
                       "server/scheduler/contract", "server/security",
                       "@grpc++", "@nlohmann_json", "@protobuf"],
    "client/cli/config": ["common", "common/cluster", "common/toml",
                          "@tomlplusplus"],
    "client/cli/history": ["client/cli/base", "common", "common/posix",
                           "@sqlite3"],
    "protos": ["@grpc++", "@protobuf"],
    # The agent, from the pure core outwards.
    "server/core/...": ["common", "common/codec", "server/core/..."],
    # This package has the table of the statistics that agents measure.
    "server/core/step": ["client/include", "common", "common/codec",
                         "server/core/..."],
    # This package reads queries and writes results, which are PMIx values.
    "server/core/query": [*VALUES, "common/support", "server/core/..."],
    "server/ports": ["common", "common/posix", "server/core/..."],
    "server/runtime": ["common", "server/core/...", "server/ports"],
    "server/cleanup": ENDPOINT,
    "server/facts": ENDPOINT,
    "server/host": ENDPOINT,
    # The packages that decide host calls, one for each kind.
    "server/log": [*ENDPOINT, "server/host", "server/net"],
    "server/monitor": [*ENDPOINT, "server/host"],
    "server/credential": [*ENDPOINT, "server/host", "server/security"],
    "server/datastore": [*ENDPOINT, "common/preload"],
    # Connections whose peers have not identified themselves, and limits of log
    # lines.
    "server/net": ["common", "common/posix"],
    "server/endpoint": [*ENDPOINT, "server/net"],
    "server/local": [*ENDPOINT, "common/local", "server/endpoint",
                     "server/net"],
    "server/openpmix": [*ENDPOINT, "common/support", "server/core/...",
                        "server/endpoint", "server/log", "server/net"],
    "server/pmi": [*ENDPOINT, "server/endpoint"],
    "server/hwinfo": ["common", "@hwloc_headers"],
    "server/shim": ["common", "common/loader", "common/posix",
                    "common/preload", "common/request"],
    "server/process": ["common", "common/loader", "common/posix",
                       "common/preload", "server/core/...", "server/ports",
                       "server/shim"],
    "server/relay": ["common", "common/posix", "protos", "@grpc++"],
    "server/rpc": ["common", "common/posix", "server/net", "@absl", "@grpc++"],
    "server/security": ["common", "@grpc++", "@openssl"],
    "server/overlay/...": ["common", "common/posix", "common/wording", "protos",
                           "server/core/...",
                           "server/overlay/...", "server/ports",
                           "server/rpc", "server/security", "@absl",
                           "@grpc++"],
    # The code that the agent and the check of a scheduler share.
    "server/scheduler/contract": ["client/include", "common",
                                  "common/wording", "protos", "@protobuf"],
    "server/scheduler": [*ENDPOINT, "hostmodule", "protos",
                         "server/scheduler/contract", "server/security",
                         "@grpc++", "@protobuf"],
    # The client of the API server, with its JSON.
    "server/kubernetes/api": ["common", "common/posix", "@curl_headers",
                              "@nlohmann_json"],
    "server/registration": VALUES,
    "server/setup": [*VALUES, "common/support", "server/spawn"],
    # The server in libpmix. It connects the adapters as an agent does.
    "server/library": [*ENDPOINT, "common/loader", "server/cleanup",
                       "server/core/...",
                       "server/datastore",
                       "server/endpoint", "server/facts", "server/local",
                       "server/openpmix", "server/registration", "server/runtime"],
    "server/spawn": VALUES,
    "server/control": ["common", "common/posix", "common/preload", "protos",
                       "server/core/...", "server/ports", "server/rpc",
                       "server/security", "server/spawn", "@absl", "@grpc++",
                       "@grpc++_reflection"],
    # The pods of Kubernetes on their way to their jobs. The shim's protocol is
    # that of canopy-exec, which is a job's shim in a pod.
    "server/kubernetes/gangs": ["common", "server/kubernetes/api",
                                "server/ports", "@nlohmann_json"],
    "server/kubernetes/gateway": ["common", "common/posix", "server/endpoint",
                                  "server/kubernetes/api",
                                  "server/kubernetes/gangs", "server/shim",
                                  "@nlohmann_json"],
    "server/kubernetes/join": ["common", "protos", "server/kubernetes/gangs",
                               "server/rpc", "@absl", "@grpc++"],
    "server/shim/pod": ["common", "common/loader", "common/local",
                        "common/posix", "server/shim"],
    # The node of Kubernetes on which an agent runs.
    "server/kubernetes/device_plugin": ["common", "common/posix", "protos",
                                        "server/net", "server/rpc", "@grpc++"],
    "server/kubernetes/identity": ["common", "common/posix"],
    "hostmodule": ["common", "common/request"],
    "server/agent/...": [*ENDPOINT, "common/cluster", "hostmodule", "protos", "server/...",
                         "@protobuf", "@spdlog"],
    # Packages beside the product.
    "benchmarks/...": ["common/...", "server/...", "@benchmark",
                       "@benchmark_main"],
    "examples/...": ["client/include"],
    "examples/host_module": ["protos", "@grpc++", "@grpc++_reflection"],
    "tests/...": ["client/...", "common/...", "server/...", "@gtest_main"],
    # Packages without C++ programs.
    "build/...": [],
    "deploy/...": [],
    "docs/...": [],
    "third_party/...": [],
}

# Headers that a package may not use although its layer has the folder that they
# are in. The core gets the time as an argument, and has one thread.
EXCEPT = {
    "server/core/...": ["common/event_loop.h", "common/mutex.h"],
}

# Folders in which files include each other both ways: the declarations of one
# header are defined in several sources, each with a header for the others.
BOTH_WAYS = ["client/cli/options", "client/include", "common/values",
             "server/registration", "server/spawn"]

# Packages that a whole program may not link, even indirectly. libpmix finds
# hwloc at run time; the small command starts in milliseconds because it has no
# gRPC; the shim outlives agents and is small.
PROGRAMS = {
    "//client/abi:libpmix.so.2": ["@system//:", "//protos:", "//hostmodule:",
                                  "//server/agent", "//server/control",
                                  "//server/overlay", "//server/pmi:",
                                  "//server/process:", "//server/rpc:",
                                  "//server/scheduler:", "//server/security:",
                                  "//server/shim:"],
    "//client/pmi:libpmi.so.0": ["@system//:", "//common", "//client/session:"],
    "//client/pmi:libpmi2.so.0": ["@system//:", "//common",
                                  "//client/session:"],
    "//client/cli:canopy": ["@system//:grpc", "//protos:control_grpc",
                            "//server/"],
    "//server/shim:canopy-shim": ["@system//:", "//client/", "//protos:"],
}
LINKS_NOTHING = {"@system//:hwloc_headers", "@system//:nlohmann_json",
                 "@system//:tomlplusplus",
                 "//common:mutex", "//common:thread_annotations"}

# The targets that the macros of build/ add to others: compiled headers of the
# system.
OF_EVERY_TARGET = {"//build:gtest_precompiled"}

# Headers of system packages, by the beginning of their names, with the target
# that provides them.
FOREIGN = {
    "absl/": "absl",
    "benchmark/": "benchmark",
    "curl/": "curl_headers",
    "gmock/": "gtest",
    "google/protobuf/": "protobuf",
    "grpc/": "grpc++",
    "grpcpp/": "grpc++",
    "gtest/": "gtest",
    "hwloc": "hwloc_headers",
    "nlohmann/": "nlohmann_json",
    "openssl/": "openssl",
    "spdlog/": "spdlog",
    "sqlite3": "sqlite3",
    "toml++/": "tomlplusplus",
}

# Further packages that a target of @system provides.
BRINGS = {
    "benchmark_main": ["benchmark"],
    "grpc++": ["absl", "protobuf"],
    "grpc++_reflection": ["grpc++"],
    "gtest_main": ["gtest"],
}

# Folders and names of headers of libc, Linux and the compiler.
LIBC_FOLDERS = ("arpa/", "linux/", "net/", "netinet/", "sys/")
LIBC = frozenset("""
    dirent dlfcn elf errno fcntl grp ifaddrs inttypes limits link locale malloc math
    netdb poll pthread pwd sched signal spawn stdarg stddef stdint stdio stdlib
    string strings syslog termios time unistd
    """.split())

# The C++ headers that do more than compute. The core may use none of them, and
# of libc's headers only those that name constants.
IMPURE = frozenset("""
    atomic barrier chrono condition_variable cstdio ctime filesystem fstream
    future iostream latch mutex random semaphore shared_mutex stop_token thread
    """.split())
PURE_LIBC = frozenset(["sys/wait.h"])
PURE = "server/core/"
