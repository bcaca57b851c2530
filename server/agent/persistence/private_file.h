// Files that an agent leaves for its successor, to which other users must have
// no access.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_PRIVATE_FILE_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_PRIVATE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::agent {

// A bound on the size of such a file.
inline constexpr uint64_t kMaxPrivateFile = uint64_t{1} << 30;

// Returns a status that `path` cannot be written, with the reason from errno.
Status CannotWrite(const std::string& path);

// Writes at the descriptor's position. Returns false with errno as of write(2).
bool WriteAll(int fd, std::string_view text);

// Returns the whole content, independently of the descriptor's position.
// Returns nothing if the file is not a regular file of this user, is accessible
// to others, is too large, or cannot be read.
std::optional<std::string> ReadPrivate(int fd);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_PRIVATE_FILE_H_
