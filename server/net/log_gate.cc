#include "server/net/log_gate.h"

#include <algorithm>
#include <utility>

namespace canopy::net {
namespace {

constexpr int kWords = 4;
// The limit for the length of a kind. Kinds are remembered, and peers may send
// long words.
constexpr size_t kMaxKind = 256;
constexpr char kName = '#';

// Returns the text with one kName for each part in quotation marks.
std::string WithoutQuotations(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') quoted = !quoted;
    if (c == '\'' && quoted) out += kName;
    if (c != '\'' && !quoted) out += c;
  }
  return out;
}

bool IsName(std::string_view word) {
  return word.find_first_of("0123456789:#") != std::string_view::npos;
}

}  // namespace

std::string LogGate::KindOf(std::string_view text) {
  const std::string line = WithoutQuotations(text.substr(0, kMaxKind));
  std::string_view rest = line;
  std::string kind;
  for (int i = 0; i < kWords && !rest.empty(); ++i) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (word.ends_with(':')) word.remove_suffix(1);
    kind += IsName(word) ? std::string_view(&kName, 1) : word;
    kind += ' ';
  }
  return kind;
}

std::optional<std::string> LogGate::Admit(std::string text, int64_t now) {
  const std::string kind = KindOf(text);
  return limit_.Admit(kind, std::move(text), now);
}

}  // namespace canopy::net
