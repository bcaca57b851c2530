#include "common/string_util.h"

#include <algorithm>
#include <charconv>

namespace canopy {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";

// Returns the optimal string alignment distance.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1,
                                     std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0);
      d[i][j] = std::min({replaced, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

// Takes one word off the front of *line, which must not begin with white space.
bool TakeWord(std::string_view* line, std::string* word) {
  char quote = 0;
  size_t i = 0;
  for (; i < line->size(); ++i) {
    const char c = (*line)[i];
    if (c == '\\' && quote != '\'' && i + 1 < line->size()) {
      *word += (*line)[++i];
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        *word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (kSpace.find(c) != std::string_view::npos) {
      break;
    } else {
      *word += c;
    }
  }
  line->remove_prefix(i);
  return quote == 0;
}

}  // namespace

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string Join(std::span<const std::string> parts,
                 std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

void ReplaceAll(std::string* text, std::string_view what, std::string_view by) {
  for (size_t at = text->find(what); at != std::string::npos;
       at = text->find(what, at + by.size())) {
    text->replace(at, what.size(), by);
  }
}

std::vector<std::string_view> WordsOf(std::string_view text,
                                      std::string_view separators) {
  std::vector<std::string_view> words;
  size_t at = text.find_first_not_of(separators);
  while (at != std::string_view::npos) {
    const size_t end = text.find_first_of(separators, at);
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(separators, end);
  }
  return words;
}

std::string_view Trim(std::string_view text) {
  const size_t start = text.find_first_not_of(kSpace);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kSpace) - start + 1);
}

std::optional<uint32_t> ParseNumber(std::string_view text, uint32_t max) {
  uint32_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || stop != end || n > max) return std::nullopt;
  return n;
}

std::string_view Nearest(std::string_view word,
                         std::span<const std::string_view> known) {
  constexpr size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    // One-letter names are near to every short word.
    if (candidate.size() < 2) continue;
    const size_t distance = Distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string ShellQuoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "_-+=./:,@%^";
  if (!text.empty() &&
      text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::optional<std::vector<std::string>> SplitCommand(std::string_view line) {
  std::vector<std::string> words;
  for (;;) {
    const size_t start = line.find_first_not_of(kSpace);
    if (start == std::string_view::npos) return words;
    line.remove_prefix(start);
    std::string word;
    if (!TakeWord(&line, &word)) return std::nullopt;
    words.push_back(std::move(word));
  }
}

}  // namespace canopy
