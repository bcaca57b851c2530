// The log of a server in C, which has no standard error of its own.
#ifndef CANOPY_CLIENT_ABI_SERVER_LOG_H_
#define CANOPY_CLIENT_ABI_SERVER_LOG_H_

#include <string>

namespace canopy::client {

// Appends a line with this process's number to the file at `path`, which is
// made if it is not there, and opened as OpenToWrite does. A pipe without a
// reader is left alone. What cannot be written is lost. Any thread.
void AppendToServerLog(const std::string& path, const std::string& text);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_SERVER_LOG_H_
