#include "server/net/log_gate.h"

#include <algorithm>
#include <utility>

#include "common/time_units.h"

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

// Returns the allowances of a user. A user without a line for so long that all
// allowances are full again need not be remembered.
LogGate::User& LogGate::UserOf(uint32_t uid, int64_t now) {
  if (!users_.contains(uid) && users_.size() >= kMaxUsers) {
    std::erase_if(users_, [now](const auto& entry) {
      return now - entry.second.last >= kBurstOfUser * kNsPerSecond;
    });
  }
  const bool room = users_.contains(uid) || users_.size() < kMaxUsers;
  return room ? users_[uid] : further_;
}

// The allowance of the kind comes first: lines that it suppresses do not use up
// the allowance of the user's other lines.
std::optional<std::string> LogGate::Admit(std::string text, int64_t now,
                                          std::optional<uint32_t> uid) {
  const std::string kind = KindOf(text);
  if (!uid) return limit_.Admit(kind, std::move(text), now);
  User& user = UserOf(*uid, now);
  user.last = now;
  auto line = user.kinds.Admit(kind, std::move(text), now);
  return line ? user.all.Admit("", *std::move(line), now) : std::nullopt;
}

}  // namespace canopy::net
