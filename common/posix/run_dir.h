// The names of the directories that a `canopy run` makes when it starts its own
// agents: BASE/canopy-UID/run-PID, or run-PID-N if that name is taken.
#ifndef CANOPY_COMMON_POSIX_RUN_DIR_H_
#define CANOPY_COMMON_POSIX_RUN_DIR_H_

#include <sys/types.h>

#include <string>
#include <string_view>

namespace canopy {

// Returns "run-PID" for attempt 1, "run-PID-N" for attempt N.
std::string RunDirName(pid_t pid, int attempt);

// Returns true if RunDirName can return `name`.
bool IsRunDirName(std::string_view name);

// Returns true if `path` is a run directory of the effective user. Considers
// only the text of the path: its last component and the one before it.
bool IsRunDirPath(std::string_view path);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_RUN_DIR_H_
