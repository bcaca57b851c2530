// Words of the command lines of the reference tools.
#ifndef CANOPY_CLIENT_TOOLS_REFERENCE_WORDS_H_
#define CANOPY_CLIENT_TOOLS_REFERENCE_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy::tools {

// "KEY[QUALIFIER=VALUE;QUALIFIER]" of pquery; a value may be empty.
struct QueryWord {
  std::string key;
  std::vector<std::pair<std::string, std::string>> qualifiers;
};
std::optional<QueryWord> ReadQueryWord(std::string_view word);

// "months:days:hours:minutes:seconds" or the end of that, in seconds; a month
// has 30 days. No value: malformed, nothing, or too much.
std::optional<uint32_t> ReadDuration(std::string_view text);

// "NSPACE:RANK,..."; the rank "*" is all, UINT32_MAX. No value: malformed.
using Target = std::pair<std::string, uint32_t>;
std::optional<std::vector<Target>> ReadTargets(std::string_view text);

// The number of a signal: "SIGTERM", "TERM", "15" or "-15".
std::optional<int> ReadSignal(std::string_view text);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_REFERENCE_WORDS_H_
