// The directives of a tool for the job of the launcher that it has started
// (PMIX_LAUNCH_DIRECTIVES), as options of `canopy run`.
#ifndef CANOPY_CLIENT_TOOLS_LAUNCH_WORDS_H_
#define CANOPY_CLIENT_TOOLS_LAUNCH_WORDS_H_

#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "pmix_types.h"

namespace canopy::tools {

// What `canopy run` does in any case has no option. kErrNotSupported: it can
// not do it, or not for these ranks; kErrBadParam: a value of another type. The
// message names the directive.
Result<std::vector<std::string>> LaunchWords(
    std::span<const pmix_info_t> directives);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_LAUNCH_WORDS_H_
