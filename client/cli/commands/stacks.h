// `canopy stack`, for other commands too.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_STACKS_H_
#define CANOPY_CLIENT_CLI_COMMANDS_STACKS_H_

#include <string>

#include "client/stacks/stack_tree.h"
#include "common/status.h"

namespace canopy::cli {

// Looks at the ranks of a job (its whole name) of a context by a gdb on each of
// its nodes, which stops them for a moment. `only`: report these ranks alone;
// empty: all.
Result<tools::StackReport> StacksOf(const std::string& context,
                                    const std::string& nspace, bool threads,
                                    const std::set<uint32_t>& only);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_STACKS_H_
