// Prepares the texts of a scheduler for people.
#ifndef CANOPY_SERVER_SCHEDULER_CONTRACT_LINE_H_
#define CANOPY_SERVER_SCHEDULER_CONTRACT_LINE_H_

#include <cstddef>
#include <string>

namespace canopy::scheduler {

// Returns the text as one printable line, truncated to kMaxLine bytes. Such
// lines are stored, persisted and sent to launchers.
inline constexpr size_t kMaxLine = 1024;
std::string LineOf(const std::string& text);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_CONTRACT_LINE_H_
