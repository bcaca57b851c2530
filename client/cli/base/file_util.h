// Small files, whole.
#ifndef CANOPY_CLIENT_CLI_BASE_FILE_UTIL_H_
#define CANOPY_CLIENT_CLI_BASE_FILE_UTIL_H_

#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::cli {

// The file's bytes. The status reads "PATH: REASON"; a file above `limit`
// bytes is refused.
Result<std::string> ReadFile(const std::string& path, size_t limit);

// Makes `path` (mode 0600) in one step: readers see the whole file or none.
// kErrExists: it is there already.
Status MakeFile(const std::string& path, std::string_view content);

// True when everything went out. Retries what signals interrupt.
bool WriteAll(int fd, std::string_view data);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_FILE_UTIL_H_
