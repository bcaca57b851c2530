#include "client/cli/options/option_setters.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/duration_text.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

std::string Alternatives(const std::vector<std::string_view>& words) {
  std::string list;
  for (const std::string_view word : words) {
    if (!list.empty()) list += word == words.back() ? " or " : ", ";
    list += word;
  }
  return list;
}

constexpr uint64_t kMaxBytes = uint64_t{1} << 50;

// The largest number of ranks of a job.
constexpr uint32_t kMaxRanks = 1 << 20;

bool AddRange(const std::string& text, std::vector<uint32_t>* ranks) {
  const size_t dash = text.find('-');
  const auto first = ParseNumber(text.substr(0, dash), kMaxRanks);
  const auto last = dash == std::string::npos
                        ? first
                        : ParseNumber(text.substr(dash + 1), kMaxRanks);
  if (!first || !last || *last < *first) return false;
  for (uint32_t rank = *first; rank <= *last; ++rank) ranks->push_back(rank);
  return ranks->size() <= kMaxRanks;
}

using std::chrono::milliseconds;
using std::chrono::seconds;

// Calls `store` with the duration that the first value describes.
template <typename Store>
Option::Apply WithDuration(seconds min, seconds max, Store store) {
  return [=](const TypedOption& typed) {
    const auto duration = ParseDuration(typed.values[0]);
    if (!duration || *duration < min || *duration > max) {
      return WrongValue(typed, "a time from " + std::to_string(min.count()) +
                                   " to " + std::to_string(max.count()) +
                                   " seconds, such as 90, 10m or 1:30");
    }
    store(*duration);
    return Status();
  };
}

}  // namespace

Status WrongValue(const TypedOption& typed, const std::string& wanted) {
  return Status(kErrBadParam, "option '" + typed.name + "' needs " + wanted +
                                  ", not '" + typed.values[0] + "'");
}

Option::Apply SetFlag(bool* to, bool value) {
  return [to, value](const TypedOption&) {
    *to = value;
    return Status();
  };
}

Option::Apply SetText(std::string* to) {
  return [to](const TypedOption& typed) {
    *to = typed.values[0];
    return Status();
  };
}

Option::Apply SetTo(std::string* to, std::string value) {
  return [to, value = std::move(value)](const TypedOption&) {
    *to = value;
    return Status();
  };
}

Option::Apply SetNumber(uint32_t* to, uint32_t min, uint32_t max,
                        uint32_t scale) {
  return [=](const TypedOption& typed) {
    const auto n = ParseNumber(typed.values[0], max);
    if (!n || *n < min) {
      return WrongValue(typed, "a number from " + std::to_string(min) + " to " +
                                   std::to_string(max));
    }
    *to = *n * scale;
    return Status();
  };
}

Option::Apply SetMilliseconds(uint32_t* to, uint32_t min, uint32_t max) {
  return WithDuration(seconds(min), seconds(max), [to](milliseconds duration) {
    *to = static_cast<uint32_t>(duration.count());
  });
}

Option::Apply SetSeconds(uint32_t* to, uint32_t min, uint32_t max) {
  return WithDuration(seconds(min), seconds(max), [to](milliseconds duration) {
    *to = static_cast<uint32_t>(std::chrono::ceil<seconds>(duration).count());
  });
}

Option::Apply SetBytes(uint64_t* to) {
  return [to](const TypedOption& typed) {
    constexpr std::string_view kUnits = "KMGT";
    std::string number = typed.values[0];
    size_t unit = kUnits.find('M');
    if (!number.empty() && kUnits.find(number.back()) != std::string::npos) {
      unit = kUnits.find(number.back());
      number.pop_back();
    }
    const auto value = ParseNumber(number, UINT32_MAX);
    const uint64_t bytes = uint64_t{value.value_or(0)} << (10 * (unit + 1));
    if (bytes == 0 || *value > kMaxBytes >> (10 * (unit + 1))) {
      return WrongValue(typed, "a size such as 512M or 4G, at most 1024T");
    }
    *to = bytes;
    return Status();
  };
}

Option::Apply SetOneOf(std::string* to, std::vector<std::string_view> words) {
  return [to, words = std::move(words)](const TypedOption& typed) {
    if (std::ranges::count(words, typed.values[0]) == 0) {
      return WrongValue(typed, Alternatives(words));
    }
    *to = typed.values[0];
    return Status();
  };
}

Option::Apply SetRanks(std::vector<uint32_t>* to) {
  return [to](const TypedOption& typed) {
    to->clear();
    for (const std::string& range : Split(typed.values[0], ',')) {
      if (AddRange(range, to)) continue;
      return WrongValue(typed, "ranks such as 0,2-5");
    }
    std::ranges::sort(*to);
    to->erase(std::unique(to->begin(), to->end()), to->end());
    return Status();
  };
}

Option::Apply SetFormat(bool* json) {
  return [json](const TypedOption& typed) {
    if (typed.values[0] != "json" && typed.values[0] != "text") {
      return WrongValue(typed, "json or text");
    }
    *json = typed.values[0] == "json";
    return Status();
  };
}

}  // namespace canopy::cli
