#include "client/include/pmix_tables.h"

#include <algorithm>
#include <tuple>

#include "client/include/pmix_tables_data.h"

namespace canopy {
namespace {

using tables_internal::kAttributes;
using tables_internal::kAttributesByKey;
using tables_internal::kConstants;
using tables_internal::kConstantsByValue;
using tables_internal::kFunctionAttributes;
using tables_internal::kFunctions;

template <typename Entry>
std::string_view NameOf(const Entry& entry) {
  return entry.name;
}
std::string_view FunctionOf(const FunctionAttribute& row) {
  return row.function;
}

template <typename Entry>
const Entry* FindByName(std::span<const Entry> entries, std::string_view name) {
  auto it = std::ranges::lower_bound(entries, name, {}, NameOf<Entry>);
  return it != entries.end() && it->name == name ? &*it : nullptr;
}

}  // namespace

const char* TableText::data() const { return tables_internal::kTexts + place_; }

std::span<const AttributeEntry> Attributes() { return kAttributes; }

std::span<const ConstantEntry> Constants() { return kConstants; }

std::span<const FunctionEntry> Functions() { return kFunctions; }

std::span<const FunctionAttribute> AttributesOf(std::string_view function) {
  auto first =
      std::ranges::lower_bound(kFunctionAttributes, function, {}, FunctionOf);
  auto last =
      std::ranges::upper_bound(kFunctionAttributes, function, {}, FunctionOf);
  return {first, last};
}

const AttributeEntry* FindAttributeByName(std::string_view name) {
  return FindByName(kAttributes, name);
}

const AttributeEntry* FindAttributeByKey(std::string_view key) {
  auto key_at = [](std::uint16_t i) { return kAttributes[i].key.view(); };
  auto it = std::ranges::lower_bound(kAttributesByKey, key, {}, key_at);
  if (it == kAttributesByKey.end() || key_at(*it) != key) return nullptr;
  return &kAttributes[*it];
}

const ConstantEntry* FindConstant(std::string_view name) {
  return FindByName(kConstants, name);
}

const ConstantEntry* FindConstant(std::string_view type, std::int64_t value) {
  auto at = [](std::uint16_t i) {
    return std::make_tuple(kConstants[i].type.view(), kConstants[i].value);
  };
  const auto wanted = std::make_tuple(type, value);
  auto it = std::ranges::lower_bound(kConstantsByValue, wanted, {}, at);
  if (it == kConstantsByValue.end() || at(*it) != wanted) return nullptr;
  return &kConstants[*it];
}

const char* ConstantText(std::string_view type, std::int64_t value,
                         const char* otherwise) {
  const ConstantEntry* entry = FindConstant(type, value);
  return entry == nullptr ? otherwise : entry->text.data();
}

}  // namespace canopy
