#include "client/tool/launcher_orders.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "common/codec/infos.h"
#include "common/describe_procs.h"
#include "common/hex.h"

namespace canopy::client {
namespace {

// Below the kernel's limit of one variable, 128 KiB.
constexpr size_t kMaxText = size_t{64} << 10;

// The orders as bytes.
struct EncodedOrders {
  ProcId name;
  std::string_view job_data;  // codec form
};

template <typename V>
void Describe(V& v, wire::Is<EncodedOrders> auto& m) {
  v.Field(1, m.name);
  v.Field(2, m.job_data);
}

Status Malformed() {
  return Status(kErrBadParam, "malformed orders for a launcher");
}

}  // namespace

Result<std::string> WriteOrders(const LauncherOrders& orders) {
  std::string infos;
  const int status =
      EncodeInfos(orders.job_data.data(), orders.job_data.size(), &infos);
  if (status != kSuccess) return Status(kErrBadParam, "values without a form");
  std::string text = ToHex(wire::Encode(EncodedOrders{orders.name, infos}));
  if (text.size() > kMaxText) return Status(kErrOutOfResource, "too long");
  return text;
}

Result<LauncherOrders> ReadOrders(std::string_view text) {
  const auto bytes = text.size() <= kMaxText ? FromHex(text) : std::nullopt;
  if (!bytes) return Malformed();
  EncodedOrders encoded;
  LauncherOrders orders;
  if (!wire::Decode(*bytes, &encoded) || encoded.name.nspace.empty() ||
      encoded.name.rank > kRankValid || encoded.job_data.empty() ||
      !DecodeInfos(encoded.job_data, &orders.job_data)) {
    return Malformed();
  }
  orders.name = std::move(encoded.name);
  return orders;
}

}  // namespace canopy::client
