#include "server/library/outside_keys.h"

#include "common/codec/decoder.h"
#include "common/codec/stored_key.h"

namespace canopy::library {

void OutsideKeys::Add(const ProcId& proc,
                      const std::vector<core::ScopedData>& data) {
  for (const core::ScopedData& part : data) {
    Decoder in(part.kvals.view());
    KvalView kval;
    while (!in.done() && in.GetKval(&kval)) {
      if (IsStoredName(kval.key)) continue;
      if (part.scope == core::Scope::kLocal) {
        keys_[proc].emplace(kval.key);
      } else if (const auto known = keys_.find(proc); known != keys_.end()) {
        known->second.erase(std::string(kval.key));
      }
    }
  }
}

std::vector<std::string> OutsideKeys::Of(const ProcId& proc) const {
  const auto known = keys_.find(proc);
  if (known == keys_.end()) return {};
  return {known->second.begin(), known->second.end()};
}

void OutsideKeys::DropJob(const std::string& nspace) {
  keys_.erase(keys_.lower_bound({nspace, 0}),
              keys_.upper_bound({nspace, kRankWildcard}));
}

}  // namespace canopy::library
