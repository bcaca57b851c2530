// Reads and writes small files as a whole.
#ifndef CANOPY_CLIENT_CLI_BASE_FILE_UTIL_H_
#define CANOPY_CLIENT_CLI_BASE_FILE_UTIL_H_

#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::cli {

// Returns the file's bytes. Returns kErrNotFound if there is no such file,
// kErrBadParam if it has more than `limit` bytes, and kErrNoPermissions if it
// cannot be read. The text of the error is "PATH: REASON".
Result<std::string> ReadFile(const std::string& path, size_t limit);

// Creates `path` (mode 0600) atomically: readers see the complete file or none.
// Returns kErrExists if the path exists, and kErrNoPermissions for any other
// failure; the text is "PATH: REASON".
Status MakeFile(const std::string& path, std::string_view content);

// Writes all data to `fd`. Returns false if a write fails. Retries writes that
// a signal interrupts.
bool WriteAll(int fd, std::string_view data);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_FILE_UTIL_H_
