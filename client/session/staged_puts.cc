#include "client/session/staged_puts.h"

#include <algorithm>
#include <utility>

#include "common/codec/encoder.h"
#include "common/wire.h"

namespace canopy::client {

int StagedPuts::Stage(pmix_scope_t scope, std::string_view key,
                      const pmix_value_t& value) {
  Encoder encoder;
  encoder.PutKval(key, value);
  if (!encoder.ok()) return encoder.status().code();
  std::lock_guard<std::mutex> lock(mu_);
  Put(scope, key, encoder.Take(), &scopes_);
  return PMIX_SUCCESS;
}

void StagedPuts::Put(pmix_scope_t scope, std::string_view key,
                     std::string encoded, Scopes* scopes) {
  for (auto& [other, kvals] : *scopes) {
    const auto it = kvals.find(key);
    if (other != scope && it != kvals.end()) kvals.erase(it);
  }
  (*scopes)[scope][std::string(key)] = std::move(encoded);
}

std::string StagedPuts::TakeFrame() {
  Scopes scopes;
  {
    std::lock_guard<std::mutex> lock(mu_);
    scopes.swap(scopes_);
    for (const auto& [scope, kvals] : scopes) {
      for (const auto& [key, encoded] : kvals) {
        Put(scope, key, encoded, &committed_);
      }
    }
  }
  return Encode(scopes);
}

std::string StagedPuts::CommittedFrame() const {
  std::lock_guard<std::mutex> lock(mu_);
  return Encode(committed_);
}

std::string StagedPuts::Encode(const Scopes& scopes) {
  const auto filled =
      std::count_if(scopes.begin(), scopes.end(),
                    [](const auto& scope) { return !scope.second.empty(); });
  if (filled == 0) return {};
  WireWriter out;
  out.Uint(static_cast<uint64_t>(filled));
  for (const auto& [scope, kvals] : scopes) {
    if (kvals.empty()) continue;
    std::string data;
    for (const auto& [key, encoded] : kvals) data += encoded;
    out.Uint(scope);
    out.String(data);
  }
  return out.Take();
}

}  // namespace canopy::client
