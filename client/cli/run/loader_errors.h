// Recognises in a job's standard error that the dynamic loader could not put a
// program together.
#ifndef CANOPY_CLIENT_CLI_RUN_LOADER_ERRORS_H_
#define CANOPY_CLIENT_CLI_RUN_LOADER_ERRORS_H_

#include <string_view>

namespace canopy::cli {

// The words of glibc's loader, of musl's, and of languages that report what
// dlopen said. Loaders write a message at once, so a piece of output is looked
// at by itself.
bool HasLoaderError(std::string_view output);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_LOADER_ERRORS_H_
