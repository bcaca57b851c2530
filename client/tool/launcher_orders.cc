#include "client/tool/launcher_orders.h"

#include <cstddef>
#include <optional>

#include "common/codec/infos.h"
#include "common/hex.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

// The kernel limits one variable to 128 KiB.
constexpr size_t kMaxText = size_t{64} << 10;

Status Malformed() {
  return Status(kErrBadParam, "malformed orders for a launcher");
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
  const auto bytes = text.size() <= kMaxText ? FromHex(text) : std::nullopt;
  if (!bytes) return Malformed();
  WireReader in(*bytes);
  LauncherOrders orders;
  orders.name = in.Proc();
  const std::string_view infos = in.String();
  const bool named = !orders.name.nspace.empty() &&
                     orders.name.nspace.size() <= kMaxNspaceLen &&
                     orders.name.rank <= kRankValid;
  if (!in.ok() || !in.done() || !named ||
      !DecodeInfos(infos, &orders.job_data)) {
    return Malformed();
  }
  return orders;
}

}  // namespace canopy::client
