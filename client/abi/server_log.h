// The log file of a server in C. Such a server does not write to the host's
// standard error.
#ifndef CANOPY_CLIENT_ABI_SERVER_LOG_H_
#define CANOPY_CLIENT_ABI_SERVER_LOG_H_

#include <string>

namespace canopy::client {

// Appends a line with this process's pid to the file at `path`, which is
// created if needed and opened as OpenToWrite does. Writes nothing to a pipe
// without a reader. Ignores errors. Any thread.
void AppendToServerLog(const std::string& path, const std::string& text);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_SERVER_LOG_H_
