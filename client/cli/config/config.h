// The values of the settings (settings.h) for one command. Values come, from
// the lowest precedence to the highest, from /etc/canopy/canopy.toml, from
// ${XDG_CONFIG_HOME or ~/.config}/canopy/canopy.toml, and from the environment;
// options of the command line have precedence over all of them.
#ifndef CANOPY_CLIENT_CLI_CONFIG_CONFIG_H_
#define CANOPY_CLIENT_CLI_CONFIG_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy::cli {

struct ConfigValue {
  std::string text;
  std::string source;  // "FILE:LINE", the name of a variable, or "default"
};

class Config {
 public:
  // Returns the value of a variable of the environment, or null.
  using Environment = std::function<const char*(const char* name)>;

  // Reads the files that exist, in this order, and the environment. Returns
  // kErrBadParam for an unknown key or an invalid value; the message names the
  // file and the line, or the variable.
  static Result<Config> Load(const std::vector<std::string>& files,
                             const Environment& environment);
  // Reads the files and the environment of this process.
  static Result<Config> Load();
  // Returns the paths of the files, the file with the lowest precedence first.
  // The second path is missing if the environment has no home directory.
  static std::vector<std::string> Files(const Environment& environment);

  // Returns the value of a key. The key must be known.
  const ConfigValue& at(std::string_view key) const;
  // Returns true if a file or a variable sets the key.
  bool is_set(std::string_view key) const;
  // Returns the text of a key that is set, or else an empty text.
  std::string Text(std::string_view key) const;
  // Returns the value of a key that is set, or else `otherwise`.
  uint32_t Number(std::string_view key, uint32_t otherwise) const;
  std::chrono::milliseconds Duration(std::string_view key,
                                     std::chrono::milliseconds otherwise) const;

 private:
  Status ReadFile(const std::string& path);
  Status Set(std::string_view key, std::string text, std::string source);

  std::map<std::string, ConfigValue, std::less<>> values_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONFIG_CONFIG_H_
