#include "common/values/regex.h"

#include <charconv>
#include <utility>

namespace canopy {
namespace {

constexpr std::string_view kNodesMark = "pmix[";
constexpr std::string_view kRawMark = "raw:";
// A number of at most this many digits fits 64 bits.
constexpr size_t kMaxDigits = 18;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string_view> Split(std::string_view text, char delimiter) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(delimiter);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<uint64_t> ParseNumber(std::string_view digits) {
  uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

// A node name split around its first number. A name without a number is all
// prefix.
struct Name {
  std::string_view prefix;
  std::string_view digits;
  std::string_view suffix;
};

Name Analyze(std::string_view text) {
  size_t first = 0;
  while (first < text.size() && !IsDigit(text[first])) ++first;
  size_t last = first;
  while (last < text.size() && IsDigit(text[last])) ++last;
  // Addresses and qualified host names are not split.
  if (first == last || last - first > kMaxDigits ||
      text.find('.') != std::string_view::npos) {
    return {text, {}, {}};
  }
  return {text.substr(0, first), text.substr(first, last - first),
          text.substr(last)};
}

// Numbers of equal width with the same text around them.
struct Group {
  Name name;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;

  bool Takes(const Name& other) const {
    return !other.digits.empty() && !name.digits.empty() &&
           name.prefix == other.prefix && name.suffix == other.suffix &&
           name.digits.size() == other.digits.size();
  }
  void Add(uint64_t number) {
    if (!ranges.empty() && ranges.back().second + 1 == number) {
      ranges.back().second = number;
    } else {
      ranges.emplace_back(number, number);
    }
  }
};

void AppendGroup(const Group& group, std::string* out) {
  out->append(group.name.prefix);
  if (group.name.digits.empty()) return;
  out->append("[").append(std::to_string(group.name.digits.size()));
  char before = ':';
  for (const auto& [first, last] : group.ranges) {
    out->push_back(before);
    out->append(std::to_string(first));
    if (last != first) out->append("-").append(std::to_string(last));
    before = ',';
  }
  out->append("]").append(group.name.suffix);
}

// Parses "1" or "1-3".
std::optional<std::pair<uint64_t, uint64_t>> ParseRange(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = ParseNumber(text.substr(0, dash));
  const auto last = dash == std::string_view::npos
                        ? first
                        : ParseNumber(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first >= kMaxRange) {
    return std::nullopt;
  }
  return std::pair(*first, *last);
}

// Expands one entry, such as "node[3:1-3,7]x", into names.
bool ExpandGroup(std::string_view entry, std::vector<std::string>* names) {
  const size_t open = entry.find('[');
  if (open == std::string_view::npos) {
    if (entry.find(']') != std::string_view::npos) return false;
    names->emplace_back(entry);
    return names->size() <= kMaxExpandedNames;
  }
  const size_t close = entry.find(']', open);
  const size_t colon = entry.find(':', open);
  if (close == std::string_view::npos || colon > close) return false;
  const auto width = ParseNumber(entry.substr(open + 1, colon - open - 1));
  if (!width || *width > kMaxDigits + 2) return false;
  for (const auto part :
       Split(entry.substr(colon + 1, close - colon - 1), ',')) {
    const auto range = ParseRange(part);
    if (!range) return false;
    const uint64_t more = range->second - range->first + 1;
    if (names->size() + more > kMaxExpandedNames) return false;
    for (uint64_t n = range->first; n <= range->second; ++n) {
      std::string digits = std::to_string(n);
      if (digits.size() < *width) digits.insert(0, *width - digits.size(), '0');
      names->push_back(std::string(entry.substr(0, open)) + digits +
                       std::string(entry.substr(close + 1)));
    }
  }
  return true;
}

// Returns the end of the first entry. Commas outside brackets separate entries.
size_t EntryEnd(std::string_view text) {
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.size();
}

std::optional<std::vector<std::string>> ExpandGroups(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t end = EntryEnd(text);
    if (!ExpandGroup(text.substr(0, end), &names)) return std::nullopt;
    text.remove_prefix(end < text.size() ? end + 1 : end);
  }
  return names;
}

std::optional<std::vector<std::string>> PlainNames(std::string_view text) {
  std::vector<std::string> names;
  for (const auto name : Split(text, ',')) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

}  // namespace

std::string CompressNodeList(std::string_view names) {
  // A name with brackets cannot be compressed, because the form uses brackets
  // itself.
  if (names.empty() || names.find_first_of("[]") != std::string_view::npos) {
    return std::string(kRawMark).append(names);
  }
  std::vector<Group> groups;
  for (const auto text : Split(names, ',')) {
    if (text.empty()) continue;
    const Name name = Analyze(text);
    if (groups.empty() || !groups.back().Takes(name)) {
      groups.push_back({name, {}});
    }
    if (!name.digits.empty()) groups.back().Add(*ParseNumber(name.digits));
  }
  std::string out(kNodesMark);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) out.push_back(',');
    AppendGroup(groups[i], &out);
  }
  return out + "]";
}

std::optional<std::vector<std::string>> ExpandNodeList(std::string_view regex) {
  if (regex.starts_with(kRawMark)) {
    return PlainNames(regex.substr(kRawMark.size()));
  }
  if (!regex.starts_with(kNodesMark)) return PlainNames(regex);
  if (!regex.ends_with(']')) return std::nullopt;
  regex.remove_prefix(kNodesMark.size());
  regex.remove_suffix(1);
  return ExpandGroups(regex);
}

std::string CompressRankMap(std::string_view map) {
  return std::string(kRawMark).append(map);
}

std::string JoinNames(std::span<const std::string> names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out.push_back(',');
    out += names[i];
  }
  return out;
}

}  // namespace canopy
