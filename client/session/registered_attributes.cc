#include "client/session/registered_attributes.h"

#include <utility>

#include "client/include/pmix_tables.h"
#include "pmix.h"

namespace canopy::client {
namespace {

support::Attribute Describe(const std::string& text) {
  const AttributeEntry* entry = FindAttributeByName(text);
  if (entry == nullptr) entry = FindAttributeByKey(text);
  if (entry == nullptr) return {text, text, PMIX_UNDEF, {}};
  return {std::string(entry->name),
          std::string(entry->key),
          entry->data_type,
          {std::string(entry->type)}};
}

}  // namespace

int RegisteredAttributes::Register(std::string_view function,
                                   const std::vector<std::string>& attributes) {
  if (function.empty()) return PMIX_ERR_BAD_PARAM;
  std::vector<support::Attribute> described;
  for (const std::string& text : attributes) {
    described.push_back(Describe(text));
  }
  const MutexLock lock(mu_);
  const auto [it, added] =
      functions_.try_emplace(std::string(function), std::move(described));
  return added ? PMIX_SUCCESS : PMIX_ERR_REPEAT_ATTR_REGISTRATION;
}

std::vector<support::Attribute> RegisteredAttributes::Of(
    std::string_view function) const {
  const MutexLock lock(mu_);
  const auto it = functions_.find(function);
  return it == functions_.end() ? std::vector<support::Attribute>()
                                : it->second;
}

}  // namespace canopy::client
