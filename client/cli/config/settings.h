// The settings, which users set once instead of typing options: the keys of
// canopy.toml and the corresponding environment variables.
#ifndef CANOPY_CLIENT_CLI_CONFIG_SETTINGS_H_
#define CANOPY_CLIENT_CLI_CONFIG_SETTINGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::cli {

// The largest values of the limits for one user.
inline constexpr uint32_t kMaxUserJobs = 1u << 20;
inline constexpr uint32_t kMaxUserProcs = 1u << 26;

enum class SettingKind {
  kText,
  kNumber,    // from `min` to `max`
  kDuration,  // from `min` to `max` seconds
  kWord,      // one of `words`
  kHosts,     // names and ranges of hosts
};

struct Setting {
  std::string_view key;
  std::string_view variable;
  SettingKind kind = SettingKind::kText;
  std::string_view fallback;  // the value if nothing is set; may be empty
  std::string_view meaning;
  std::string_view words = {};  // separated by blanks
  uint32_t min = 0;
  uint32_t max = 0;
};

// Returns all settings, in the order of `canopy config`.
std::span<const Setting> Settings();

// Returns null for an unknown key.
const Setting* FindSetting(std::string_view key);

// Checks a value as text. The error completes a sentence that begins with the
// name of the setting: "needs a number from 2 to 65536, not 'x'".
Status CheckSetting(const Setting& setting, const std::string& value);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONFIG_SETTINGS_H_
