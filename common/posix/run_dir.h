// The names of the directories that a `canopy run` makes when it starts agents
// of its own: BASE/canopy-UID/run-PID, or run-PID-N when that name is taken.
#ifndef CANOPY_COMMON_POSIX_RUN_DIR_H_
#define CANOPY_COMMON_POSIX_RUN_DIR_H_

#include <sys/types.h>

#include <string>
#include <string_view>

namespace canopy {

// "run-PID" for `attempt` 1, "run-PID-N" for attempt N.
std::string RunDirName(pid_t pid, int attempt);

// Whether `name` is a name that RunDirName gives.
bool IsRunDirName(std::string_view name);

// Whether `path` is a run directory of the effective user. Reads the path
// alone: its last part and the one above it.
bool IsRunDirPath(std::string_view path);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_RUN_DIR_H_
