#include "common/name_ranges.h"

#include <cstdint>

#include "common/string_util.h"

namespace canopy {
namespace {

std::string Padded(uint32_t n, size_t width) {
  std::string text = std::to_string(n);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

// Expands "1-3" or "7" and appends the numbers as text.
bool ExpandRange(std::string_view range, std::vector<std::string>* out) {
  const size_t dash = range.find('-');
  const std::string_view low_text = range.substr(0, dash);
  const auto low = ParseNumber(low_text);
  const auto high = dash == std::string_view::npos
                        ? low
                        : ParseNumber(range.substr(dash + 1));
  if (!low || !high || *high < *low) return false;
  const size_t more = *high - *low;
  if (more >= kMaxListedNames || out->size() + more >= kMaxListedNames) {
    return false;
  }
  for (size_t i = 0; i <= more; ++i) {
    out->push_back(Padded(*low + static_cast<uint32_t>(i), low_text.size()));
  }
  return true;
}

bool ExpandRanges(std::string_view ranges, std::vector<std::string>* out) {
  for (const std::string& range : Split(ranges, ',')) {
    if (!ExpandRange(range, out)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string_view> SplitOutsideBrackets(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']') {
      --depth;
    }
  }
  return parts;
}

bool ExpandNames(std::string_view part, std::vector<std::string>* names) {
  // The beginnings of the names so far. Each further range multiplies them.
  std::vector<std::string> heads = {""};
  while (true) {
    const size_t open = part.find('[');
    const std::string_view text = part.substr(0, open);
    if (text.find(']') != std::string_view::npos) return false;
    for (std::string& head : heads) head += text;
    if (open == std::string_view::npos) break;
    const size_t close = part.find(']', open);
    if (close == std::string_view::npos) return false;
    std::vector<std::string> numbers;
    if (!ExpandRanges(part.substr(open + 1, close - open - 1), &numbers) ||
        heads.size() * numbers.size() > kMaxListedNames) {
      return false;
    }
    std::vector<std::string> longer;
    for (const std::string& head : heads) {
      for (const std::string& number : numbers) {
        longer.push_back(head + number);
      }
    }
    heads = std::move(longer);
    part.remove_prefix(close + 1);
  }
  if (heads[0].empty() || names->size() + heads.size() > kMaxListedNames) {
    return false;
  }
  names->insert(names->end(), heads.begin(), heads.end());
  return true;
}

}  // namespace canopy
