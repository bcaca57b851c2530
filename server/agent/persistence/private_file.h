// Files of an agent for its successor, which nobody else may have touched.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_PRIVATE_FILE_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_PRIVATE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::agent {

// More than any such file grows to.
inline constexpr uint64_t kMaxPrivateFile = uint64_t{1} << 30;

// That `path` cannot be written, and why, as errno has it.
Status CannotWrite(const std::string& path);

// At the descriptor's position; false with errno as of write(2).
bool WriteAll(int fd, std::string_view text);

// The whole content, wherever the descriptor's position is. Nothing for what is
// no regular file of this user's alone, is too large, or cannot be read.
std::optional<std::string> ReadPrivate(int fd);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_PRIVATE_FILE_H_
