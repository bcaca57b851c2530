// Recognizes in a job's standard error that the dynamic loader could not load a
// program.
#ifndef CANOPY_CLIENT_CLI_RUN_LOADER_ERRORS_H_
#define CANOPY_CLIENT_CLI_RUN_LOADER_ERRORS_H_

#include <string_view>

namespace canopy::cli {

// Searches for the messages of the loaders of glibc and musl, and of languages
// that report errors of dlopen. A loader writes each message at once, so each
// piece of output is searched by itself.
bool HasLoaderError(std::string_view output);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_LOADER_ERRORS_H_
