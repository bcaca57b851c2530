// Converts PMIX_SET_ENVAR and similar attributes to edits of an environment.
#ifndef CANOPY_SERVER_SPAWN_ENVAR_INFO_H_
#define CANOPY_SERVER_SPAWN_ENVAR_INFO_H_

#include <optional>
#include <string_view>

#include "pmix_types.h"
#include "server/spawn/environment.h"

namespace canopy::spawn {

// Returns the kind of edit that an attribute requests (PMIX_SET_ENVAR,
// PMIX_UNSET_ENVAR and others); no value for any other key.
std::optional<EnvarEdit::Kind> EditKindOf(std::string_view key);

// Returns the edit that an attribute of this kind requests. Returns no value if
// the value has another type or names no variable.
std::optional<EnvarEdit> ReadEdit(EnvarEdit::Kind kind,
                                  const pmix_value_t& value);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_ENVAR_INFO_H_
