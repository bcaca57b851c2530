// Stack traces of a job's ranks, for `canopy stack` and other commands.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_STACKS_H_
#define CANOPY_CLIENT_CLI_COMMANDS_STACKS_H_

#include <string>

#include "client/stacks/stack_tree.h"
#include "common/status.h"

namespace canopy::cli {

// Reads the stacks of the ranks of a job (its full name) with one gdb on each
// of the job's nodes, which stops the ranks for a moment. `context` is the name
// of the job's context. With `threads`, all threads are reported. `only`
// restricts the report to these ranks; empty means all. Returns
// kErrJobFailedToLaunch if the stacks could not be read.
Result<tools::StackReport> StacksOf(const std::string& context,
                                    const std::string& nspace, bool threads,
                                    const std::set<uint32_t>& only);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_STACKS_H_
