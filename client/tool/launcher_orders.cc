#include "client/tool/launcher_orders.h"

#include <charconv>
#include <cstddef>
#include <cstdint>

#include "common/codec/infos.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

// The kernel takes 128 KiB for one variable.
constexpr size_t kMaxText = size_t{64} << 10;

std::string ToHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

// Empty: it is no such text.
std::string FromHex(std::string_view text) {
  std::string bytes;
  if (text.size() % 2 != 0 || text.size() > kMaxText) return bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t byte = 0;
    const char* const start = text.data() + i;
    const auto parsed = std::from_chars(start, start + 2, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != start + 2) return "";
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace

Result<std::string> WriteOrders(const LauncherOrders& orders) {
  std::string infos;
  const int status =
      EncodeInfos(orders.job_data.data(), orders.job_data.size(), &infos);
  if (status != kSuccess) return Status(kErrBadParam, "values without a form");
  WireWriter out;
  out.Proc(orders.name);
  out.String(infos);
  std::string text = ToHex(out.str());
  if (text.size() > kMaxText) return Status(kErrOutOfResource, "too long");
  return text;
}

Result<LauncherOrders> ReadOrders(std::string_view text) {
  const std::string bytes = FromHex(text);
  WireReader in(bytes);
  LauncherOrders orders;
  orders.name = in.Proc();
  const std::string_view infos = in.String();
  const bool named = !orders.name.nspace.empty() &&
                     orders.name.nspace.size() <= kMaxNspaceLen &&
                     orders.name.rank <= kRankValid;
  if (!in.ok() || !in.done() || !named ||
      !DecodeInfos(infos, &orders.job_data)) {
    return Status(kErrBadParam, "malformed orders for a launcher");
  }
  return orders;
}

}  // namespace canopy::client
