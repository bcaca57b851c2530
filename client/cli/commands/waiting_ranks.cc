#include "client/cli/commands/waiting_ranks.h"

#include <string_view>

#include "common/string_util.h"

namespace canopy::cli {

std::optional<WaitingRank> ReadWaitingRank(const std::string& job,
                                           const std::string& text) {
  constexpr std::string_view kRank = "rank ";
  constexpr std::string_view kOn = " on ";
  const size_t at = text.find(kRank);
  if (at == std::string::npos || (at > 0 && text[at - 1] != ' ')) return {};
  const std::string rest = text.substr(at + kRank.size());
  const size_t end = rest.find(kOn);
  const auto rank = ParseNumber(rest.substr(0, end), UINT32_MAX);
  if (!rank) return {};
  WaitingRank out;
  out.job = at == 0 ? job : text.substr(0, at - 1);
  out.rank = *rank;
  if (end != std::string::npos) out.node = rest.substr(end + kOn.size());
  return out;
}

}  // namespace canopy::cli
