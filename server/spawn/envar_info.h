// PMIX_SET_ENVAR and its like, as what they do to an environment.
#ifndef CANOPY_SERVER_SPAWN_ENVAR_INFO_H_
#define CANOPY_SERVER_SPAWN_ENVAR_INFO_H_

#include <optional>
#include <string_view>

#include "pmix_types.h"
#include "server/spawn/environment.h"

namespace canopy::spawn {

// Nothing for a key that is of no such attribute.
std::optional<EnvarEdit::Kind> EditKindOf(std::string_view key);

// Nothing when the value is of another type, or names no variable.
std::optional<EnvarEdit> ReadEdit(EnvarEdit::Kind kind,
                                  const pmix_value_t& value);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_ENVAR_INFO_H_
