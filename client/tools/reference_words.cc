#include "client/tools/reference_words.h"

#include <signal.h>

#include <cstring>

#include "common/string_util.h"

namespace canopy::tools {
namespace {

constexpr uint32_t kUnits[] = {1, 60, 3600, 24 * 3600, 30 * 24 * 3600};

std::pair<std::string, std::string> SplitQualifier(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, equals)),
          std::string(text.substr(equals + 1))};
}

}  // namespace

std::optional<QueryWord> ReadQueryWord(std::string_view word) {
  QueryWord out;
  const size_t bracket = word.find('[');
  out.key = std::string(word.substr(0, bracket));
  if (out.key.empty()) return std::nullopt;
  if (bracket == std::string_view::npos) return out;
  if (!word.ends_with(']')) return std::nullopt;
  word = word.substr(bracket + 1, word.size() - bracket - 2);
  for (const std::string& part : Split(word, ';')) {
    out.qualifiers.push_back(SplitQualifier(part));
    if (out.qualifiers.back().first.empty()) return std::nullopt;
  }
  return out;
}

std::optional<uint32_t> ReadDuration(std::string_view text) {
  const std::vector<std::string> parts = Split(text, ':');
  if (parts.size() > std::size(kUnits)) return std::nullopt;
  uint64_t seconds = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto count = ParseNumber(parts[parts.size() - 1 - i]);
    if (!count) return std::nullopt;
    seconds += uint64_t{*count} * kUnits[i];
  }
  if (seconds == 0 || seconds > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(seconds);
}

std::optional<std::vector<Target>> ReadTargets(std::string_view text) {
  std::vector<Target> out;
  for (const std::string& one : Split(text, ',')) {
    const size_t colon = one.rfind(':');
    if (colon == std::string::npos || colon == 0) return std::nullopt;
    const std::string rank = one.substr(colon + 1);
    const auto number = rank == "*" ? UINT32_MAX : ParseNumber(rank, INT32_MAX);
    if (!number) return std::nullopt;
    out.emplace_back(one.substr(0, colon), *number);
  }
  return out;
}

std::optional<int> ReadSignal(std::string_view text) {
  if (text.starts_with("-")) text.remove_prefix(1);
  if (const auto number = ParseNumber(text, NSIG - 1)) {
    if (*number == 0) return std::nullopt;
    return static_cast<int>(*number);
  }
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* const name = sigabbrev_np(signal);
    if (name != nullptr && text == name) return signal;
  }
  return std::nullopt;
}

Status NoWords(const std::vector<std::string>& words) {
  return words.empty()
             ? Status()
             : Status(kErrBadParam, "'" + words[0] + "' is not expected here");
}

}  // namespace canopy::tools
