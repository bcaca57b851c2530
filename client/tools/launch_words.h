// Translates a tool's directives (PMIX_LAUNCH_DIRECTIVES) for the job of the
// launcher that the tool has started into options of `canopy run`.
#ifndef CANOPY_CLIENT_TOOLS_LAUNCH_WORDS_H_
#define CANOPY_CLIENT_TOOLS_LAUNCH_WORDS_H_

#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "pmix_types.h"

namespace canopy::tools {

// Returns the options. A directive that `canopy run` always follows gives no
// option. Returns kErrNotSupported if `canopy run` cannot follow a directive,
// or cannot follow it for the ranks that it names, and kErrBadParam for a value
// of another type. The message names the directive.
Result<std::vector<std::string>> LaunchWords(
    std::span<const pmix_info_t> directives);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_LAUNCH_WORDS_H_
