#include "server/openpmix/peer_scopes.h"

#include <string_view>
#include <unordered_set>
#include <utility>

#include "common/bytes.h"
#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/stored_key.h"
#include "common/values/value.h"

namespace canopy::openpmix {
namespace {

struct Kval {
  std::string_view key;
  std::string_view whole;
};
using Kvals = std::vector<Kval>;

// Appends the keys of one scope. Returns false if they are malformed.
bool Split(std::string_view bytes, Kvals* out) {
  Decoder in(bytes);
  KvalView kval;
  while (!in.AtEnd()) {
    const std::string_view rest = in.rest();
    if (!in.GetKval(&kval)) return false;
    out->push_back({kval.key, rest.substr(0, rest.size() - in.rest().size())});
  }
  return in.ok();
}

void AppendScopeName(std::string_view key, bool alone, std::string* out) {
  Encoder encoder;
  encoder.PutKval(ScopeNameOf(key), Value::Bool(alone).raw());
  out->append(encoder.Take());
}

// Returns the data that was put for one scope only, and adds its keys to
// `*keys`.
std::string Alone(const Kvals& kvals,
                  const std::unordered_set<std::string_view>& shared,
                  std::set<std::string>* keys) {
  std::string out;
  for (const Kval& kval : kvals) {
    if (shared.contains(kval.whole)) continue;
    out += kval.whole;
    keys->emplace(kval.key);
    AppendScopeName(kval.key, true, &out);
  }
  return out;
}

// For keys that are put for both scopes now, but were put for only one before,
// appends the names that record this.
void AppendShared(const Kvals& kvals,
                  const std::unordered_set<std::string_view>& shared,
                  std::set<std::string>* keys, std::string* out) {
  if (keys->empty()) return;
  for (const Kval& kval : kvals) {
    if (shared.contains(kval.whole) && keys->erase(std::string(kval.key)) > 0) {
      AppendScopeName(kval.key, false, out);
    }
  }
}

}  // namespace

void PeerScopes::Translate(std::vector<core::ScopedData>* data) {
  Kvals local;
  Kvals remote;
  std::string global;
  for (const core::ScopedData& one : *data) {
    if (one.scope == core::Scope::kGlobal) {
      global += one.kvals.view();
    } else if (!Split(one.kvals.view(),
                      one.scope == core::Scope::kLocal ? &local : &remote)) {
      return;
    }
  }
  std::unordered_set<std::string_view> here;
  for (const Kval& kval : local) here.insert(kval.whole);
  std::unordered_set<std::string_view> shared;
  for (const Kval& kval : remote) {
    if (!here.contains(kval.whole) || !shared.insert(kval.whole).second) {
      continue;
    }
    global += kval.whole;
  }
  std::string for_node = Alone(local, shared, &local_);
  std::string for_others = Alone(remote, shared, &remote_);
  AppendShared(remote, shared, &local_, &for_node);
  AppendShared(remote, shared, &remote_, &for_others);
  std::vector<core::ScopedData> translated;
  const auto add = [&](core::Scope scope, std::string kvals) {
    if (!kvals.empty()) translated.push_back({scope, Bytes(std::move(kvals))});
  };
  add(core::Scope::kGlobal, std::move(global));
  add(core::Scope::kLocal, std::move(for_node));
  add(core::Scope::kRemote, std::move(for_others));
  *data = std::move(translated);
}

}  // namespace canopy::openpmix
