#include "server/registration/entry.h"

#include <charconv>
#include <cstring>

#include "common/codec/encoder.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/number.h"
#include "common/values/type_table.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_tables.h"

namespace canopy::registration {
namespace {

pmix_data_type_t TypeOfKey(std::string_view key) {
  const AttributeEntry* entry = FindAttributeByKey(key);
  return entry == nullptr ? PMIX_UNDEF : entry->data_type;
}

// Returns the number if the text consists only of digits; otherwise no value.
std::optional<uint64_t> ParseDigits(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || text.empty()) return std::nullopt;
  return number;
}

// Returns the same number as a value of `type`; no value if it is not a number
// or does not fit.
std::optional<Value> Converted(const pmix_value_t& value,
                               pmix_data_type_t type) {
  pmix_value_t from = value;
  if (const auto text = StringOf(value)) {
    const auto number = ParseDigits(*text);
    if (!number) return std::nullopt;
    from = {};
    from.type = PMIX_UINT64;
    from.data.uint64 = *number;
  }
  pmix_value_t to = {};
  to.type = type;
  if (StoreNumber(from, type, &to.data) != PMIX_SUCCESS) return std::nullopt;
  return Value::Adopt(&to);
}

// Returns the value of a flag, or of the numbers 0 and 1.
std::optional<bool> FlagOf(const pmix_value_t& value) {
  if (const auto flag = BoolOf(value)) return flag;
  const auto number = Uint64Of(value);
  if (!number || *number > 1) return std::nullopt;
  return *number == 1;
}

// Returns the value converted to `type`; no value if that is impossible.
std::optional<Value> As(pmix_data_type_t type, const pmix_value_t& value) {
  if (type == PMIX_BOOL) {
    const auto flag = FlagOf(value);
    if (!flag) return std::nullopt;
    return Value::Bool(*flag);
  }
  if (type == PMIX_STRING) {
    const auto number = Int64Of(value);
    if (!number) return std::nullopt;
    return Value::String(std::to_string(*number));
  }
  return Converted(value, type);
}

}  // namespace

std::string NameOf(std::string_view key) {
  const AttributeEntry* entry = FindAttributeByKey(key);
  return std::string(entry == nullptr ? key : entry->name.view());
}

bool IsAbsent(const pmix_info_t& info) {
  const pmix_value_t& value = info.value;
  switch (value.type) {
    case PMIX_UNDEF:
      return TypeOfKey(KeyOf(info)) != PMIX_BOOL;
    case PMIX_STRING:
      return value.data.string == nullptr;
    case PMIX_BYTE_OBJECT:
    case PMIX_COMPRESSED_STRING:
    case PMIX_COMPRESSED_BYTE_OBJECT:
    case PMIX_REGEX:
      return value.data.bo.bytes == nullptr;
    default: {
      const TypeInfo* type = FindType(value.type);
      return type != nullptr && type->indirect && value.data.ptr == nullptr;
    }
  }
}

const pmix_info_t* Level::Find(std::string_view key) const {
  for (size_t i = infos.size(); i-- > 0;) {
    if (KeyOf(*infos[i]) == key) return infos[i];
  }
  return nullptr;
}

std::optional<uint32_t> ReadNumber(const pmix_info_t* info, uint32_t max,
                                   Problem* problem) {
  if (info == nullptr) return std::nullopt;
  const std::optional<Value> number = Converted(info->value, PMIX_UINT64);
  const std::string name = NameOf(KeyOf(*info));
  if (!number) {
    problem->Say(kErrTypeMismatch, name + " is not a number");
    return std::nullopt;
  }
  const uint64_t n = number->raw().data.uint64;
  if (n > max) {
    problem->Say(kErrOutOfResource, name + " is " + std::to_string(n) +
                                        ", at most " + std::to_string(max) +
                                        " is supported");
    return std::nullopt;
  }
  return static_cast<uint32_t>(n);
}

std::optional<std::string_view> ReadText(const pmix_info_t* info,
                                         Problem* problem) {
  if (info == nullptr) return std::nullopt;
  const auto text = StringOf(info->value);
  if (!text) {
    problem->Say(kErrTypeMismatch, NameOf(KeyOf(*info)) + " is not a text");
  }
  return text;
}

std::optional<bool> ReadFlag(const pmix_info_t* info, Problem* problem) {
  if (info == nullptr) return std::nullopt;
  const auto flag = FlagOf(info->value);
  if (!flag) {
    problem->Say(kErrTypeMismatch, NameOf(KeyOf(*info)) + " is not a flag");
  }
  return flag;
}

std::string EncodeEntry(const pmix_info_t& info) {
  // An address is valid only in this process, so it is not sent.
  if (info.value.type == PMIX_POINTER) return "";
  const pmix_data_type_t type = TypeOfKey(KeyOf(info));
  if (type != PMIX_UNDEF && type != info.value.type) {
    if (const auto value = As(type, info.value)) {
      return EncodeValue(value->raw());
    }
  }
  return EncodeValue(info.value);
}

}  // namespace canopy::registration
