// Files that an agent stores for its successor, and to which other users must
// have no access.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_PRIVATE_FILE_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_PRIVATE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::agent {

// The largest private file that is read, in bytes.
inline constexpr uint64_t kMaxPrivateFile = uint64_t{1} << 30;

// Returns kErrJobSysOpFailed for a failure to write `path`, with the reason
// from errno.
Status CannotWrite(const std::string& path);

// Writes at the descriptor's position. Returns false and sets errno like
// write(2) on failure.
bool WriteAll(int fd, std::string_view text);

// Returns the whole content, independently of the descriptor's position.
// Returns no value if the file is not a regular file of this user, is
// accessible to others, is too large, or cannot be read.
std::optional<std::string> ReadPrivate(int fd);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_PRIVATE_FILE_H_
