// Removing a scratch directory with what its users left in it.
#ifndef CANOPY_COMMON_POSIX_REMOVE_TREE_H_
#define CANOPY_COMMON_POSIX_REMOVE_TREE_H_

#include <cstdint>
#include <string>

#include "common/status.h"

namespace canopy {

// Removes the directory at `path` and everything below it. Symbolic links are
// removed, never followed; another file system mounted below is left alone, and
// so is what lies deeper than 64 levels. Stops after `max_entries` removals:
// the caller may be a loop that others wait for. An absent directory is
// success; kErrPartialSuccess when something is left, with the reason.
Status RemoveTree(const std::string& path, uint64_t max_entries);

// The same for the directory `name` of the open directory `parent`, which stays
// what it is when its path is made to lead elsewhere.
Status RemoveTreeAt(int parent, const std::string& name, uint64_t max_entries);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_REMOVE_TREE_H_
