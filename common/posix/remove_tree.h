// Removes a scratch directory with everything that its users left in it.
#ifndef CANOPY_COMMON_POSIX_REMOVE_TREE_H_
#define CANOPY_COMMON_POSIX_REMOVE_TREE_H_

#include <cstdint>
#include <string>

#include "common/status.h"

namespace canopy {

// Removes the directory at `path` and everything below it. Symbolic links are
// removed, not followed. File systems mounted below it are left alone, and so
// is anything deeper than 64 levels. Stops after `max_entries` removals,
// because the caller may be an event loop. Succeeds if the directory does not
// exist. Returns kErrPartialSuccess with the reason if something is left.
Status RemoveTree(const std::string& path, uint64_t max_entries);

// Like RemoveTree, for the directory `name` in the open directory `parent`. A
// change of the path of `parent` cannot redirect the removal.
Status RemoveTreeAt(int parent, const std::string& name, uint64_t max_entries);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_REMOVE_TREE_H_
