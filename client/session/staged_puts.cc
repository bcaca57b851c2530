#include "client/session/staged_puts.h"

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
  for (auto& [other, kvals] : scopes_) {
    const auto it = kvals.find(key);
    if (other != scope && it != kvals.end()) kvals.erase(it);
  }
  scopes_[scope][std::string(key)] = encoder.Take();
  return PMIX_SUCCESS;
}

std::string StagedPuts::TakeFrame() {
  std::map<pmix_scope_t, Kvals> scopes;
  {
    std::lock_guard<std::mutex> lock(mu_);
    scopes.swap(scopes_);
  }
  std::erase_if(scopes, [](const auto& scope) { return scope.second.empty(); });
  if (scopes.empty()) return {};
  WireWriter out;
  out.Uint(scopes.size());
  for (const auto& [scope, kvals] : scopes) {
    std::string data;
    for (const auto& [key, encoded] : kvals) data += encoded;
    out.Uint(scope);
    out.String(data);
  }
  return out.Take();
}

}  // namespace canopy::client
