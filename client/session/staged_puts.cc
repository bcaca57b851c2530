#include "client/session/staged_puts.h"

#include <utility>

#include "common/codec/encoder.h"
#include "common/codec/stored_key.h"
#include "common/values/value.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

// The bytes of a scope and a length.
constexpr size_t kScopeOverhead = 16;

// The scopes that concern one side only.
constexpr pmix_scope_t kSides[] = {PMIX_LOCAL, PMIX_REMOTE};

size_t SizeOf(const StagedPuts::Kvals& kvals) {
  size_t size = 0;
  for (const auto& [key, encoded] : kvals) size += encoded.size();
  return size;
}

void Erase(std::string_view key, StagedPuts::Kvals* kvals) {
  const auto it = kvals->find(key);
  if (it != kvals->end()) kvals->erase(it);
}

}  // namespace

int StagedPuts::Stage(pmix_scope_t scope, std::string_view key,
                      const pmix_value_t& value) {
  Encoder encoder;
  encoder.PutKval(key, value);
  if (!encoder.ok()) return encoder.status().code();
  const MutexLock lock(mu_);
  NoteScope(scope, key);
  Put(scope, key, encoder.Take(), &scopes_);
  return PMIX_SUCCESS;
}

void StagedPuts::NoteScope(pmix_scope_t scope, std::string_view key) {
  if (scope != PMIX_GLOBAL) {
    if (alone_[scope].emplace(key).second) StageScopeName(scope, key, true);
    return;
  }
  for (auto& [side, keys] : alone_) {
    const auto it = keys.find(key);
    if (it == keys.end()) continue;
    keys.erase(it);
    StageScopeName(side, key, false);
  }
}

void StagedPuts::StageScopeName(pmix_scope_t side, std::string_view key,
                                bool alone) {
  const std::string name = ScopeNameOf(key);
  Encoder encoder;
  encoder.PutKval(name, Value::Bool(alone).raw());
  Put(side, name, encoder.Take(), &scopes_);
}

void StagedPuts::Put(pmix_scope_t scope, std::string_view key,
                     std::string encoded, Scopes* scopes) {
  if (scope == PMIX_GLOBAL) {
    for (const pmix_scope_t side : kSides) {
      const auto it = scopes->find(side);
      if (it != scopes->end()) Erase(key, &it->second);
    }
  }
  Kvals& kvals = (*scopes)[scope];
  const auto it = kvals.find(key);
  if (it != kvals.end()) {
    it->second = std::move(encoded);
  } else {
    kvals.emplace(key, std::move(encoded));
  }
}

std::string StagedPuts::TakeFrame() {
  const MutexLock lock(mu_);
  std::string frame = Encode(scopes_);
  for (auto& [scope, kvals] : scopes_) {
    for (auto& [key, encoded] : kvals) {
      Put(scope, key, std::move(encoded), &committed_);
    }
    kvals.clear();
  }
  return frame;
}

std::string StagedPuts::CommittedFrame() const {
  const MutexLock lock(mu_);
  return Encode(committed_);
}

std::string StagedPuts::Encode(const Scopes& scopes) {
  uint64_t filled = 0;
  size_t all = 0;
  for (const auto& [scope, kvals] : scopes) {
    if (kvals.empty()) continue;
    ++filled;
    all += kScopeOverhead + SizeOf(kvals);
  }
  if (filled == 0) return {};
  WireWriter out;
  out.Reserve(all + kScopeOverhead);
  out.Uint(filled);
  for (const auto& [scope, kvals] : scopes) {
    if (kvals.empty()) continue;
    out.Uint(scope);
    out.Uint(SizeOf(kvals));
    for (const auto& [key, encoded] : kvals) out.Raw(encoded);
  }
  return out.Take();
}

}  // namespace canopy::client
