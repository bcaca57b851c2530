// Parses words of the command lines of the reference tools.
#ifndef CANOPY_CLIENT_TOOLS_REFERENCE_WORDS_H_
#define CANOPY_CLIENT_TOOLS_REFERENCE_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.h"

namespace canopy::tools {

// A word of pquery: "KEY[QUALIFIER=VALUE;QUALIFIER]". A value may be empty.
struct QueryWord {
  std::string key;
  std::vector<std::pair<std::string, std::string>> qualifiers;
};
// Returns no value if the word is malformed or a name is empty.
std::optional<QueryWord> ReadQueryWord(std::string_view word);

// Parses "months:days:hours:minutes:seconds", or the last parts of that, into
// seconds; a month has 30 days. Returns no value if the text is malformed or
// empty, or the number too large.
std::optional<uint32_t> ReadDuration(std::string_view text);

// A process, or all ranks of a job (UINT32_MAX). ReadTargets parses
// "NSPACE:RANK,...", where the rank "*" means all, and returns no value if the
// text is malformed.
using Target = std::pair<std::string, uint32_t>;
std::optional<std::vector<Target>> ReadTargets(std::string_view text);

// Returns the number of a signal: "SIGTERM", "TERM", "15" or "-15". Returns no
// value for an unknown signal.
std::optional<int> ReadSignal(std::string_view text);

// Returns kErrBadParam, with a text for users, if there are words.
Status NoWords(const std::vector<std::string>& words);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_REFERENCE_WORDS_H_
