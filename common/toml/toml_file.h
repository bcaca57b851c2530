// Reads TOML files, with errors that name the file and the line.
#ifndef CANOPY_COMMON_TOML_TOML_FILE_H_
#define CANOPY_COMMON_TOML_TOML_FILE_H_

#include <toml++/toml.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy {

// Parses a file. Returns kErrNotFound if it cannot be opened, and kErrBadParam
// if it is malformed.
Result<toml::table> ReadToml(const std::string& path);

// Returns "FILE:LINE", where the source region begins.
std::string TomlPlace(const std::string& path,
                      const toml::source_region& source);

// Returns the refusal of a key that is not one of `known`, which suggests the
// most similar one.
Status UnknownTomlKey(const std::string& place, std::string_view key,
                      std::span<const std::string_view> known);

// Returns a text, or a list of texts joined by commas. Returns no value for
// other types.
std::optional<std::string> TomlTexts(const toml::node& node);

}  // namespace canopy

#endif  // CANOPY_COMMON_TOML_TOML_FILE_H_
