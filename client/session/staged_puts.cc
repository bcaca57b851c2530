#include "client/session/staged_puts.h"

#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/codec/stored_key.h"
#include "common/describe.h"
#include "common/local/data.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// The scopes that concern one side only.
constexpr pmix_scope_t kSides[] = {PMIX_LOCAL, PMIX_REMOTE};

std::string Join(const StagedPuts::Kvals& kvals) {
  size_t size = 0;
  for (const auto& [key, encoded] : kvals) size += encoded.size();
  std::string all;
  all.reserve(size);
  for (const auto& [key, encoded] : kvals) all += encoded;
  return all;
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
  std::vector<std::string> joined;  // for each scope with several keys
  joined.reserve(scopes.size());
  local::Commit commit;
  for (const auto& [scope, kvals] : scopes) {
    if (kvals.empty()) continue;
    const std::string& all = kvals.size() == 1
                                 ? kvals.begin()->second
                                 : joined.emplace_back(Join(kvals));
    commit.scopes.push_back({scope, all});
  }
  return wire::Encode(commit);
}

}  // namespace canopy::client
