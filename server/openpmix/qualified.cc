#include "server/openpmix/qualified.h"

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/ids.h"
#include "pmix_common.h"

namespace canopy::openpmix {
namespace {

// No reserved key, because those are never waited for.
constexpr std::string_view kPrefix = "qualified value: ";

// Takes the head of an array of that type off; 0 when it is none.
size_t TakeArrayHead(Decoder* decoder, pmix_data_type_t type) {
  uint16_t value_type = 0;
  uint16_t element_type = 0;
  size_t count = 0;
  if (!decoder->GetUint16(&value_type) || value_type != PMIX_DATA_ARRAY ||
      !decoder->GetUint16(&element_type) || element_type != type ||
      !decoder->GetSize(&count)) {
    return 0;
  }
  return count;
}

}  // namespace

bool IsQualified(std::string_view key) { return key == PMIX_QUALIFIED_VALUE; }

std::string QualifiedKey(std::string_view key) {
  return std::string(kPrefix).append(
      key.substr(0, kMaxKeyLen - kPrefix.size()));
}

bool QualifiedValues::Add(std::string_view value) {
  Decoder decoder(value);
  std::string_view key;
  if (TakeArrayHead(&decoder, PMIX_INFO) == 0 || !decoder.GetString(&key) ||
      key.empty()) {
    return false;
  }
  by_key_[QualifiedKey(key)].emplace_back(value);
  return true;
}

void QualifiedValues::AppendTo(std::string* kvals) const {
  for (const auto& [key, values] : by_key_) {
    Encoder array;
    array.PutUint16(PMIX_DATA_ARRAY);
    array.PutUint16(PMIX_VALUE);
    array.PutSize(values.size());
    for (const std::string& value : values) array.PutRaw(value);
    Encoder kval;
    kval.PutKvalEncoded(key, array.Take());
    kvals->append(kval.Take());
  }
}

bool HoldsQualified(std::string_view key) { return key.starts_with(kPrefix); }

std::vector<std::string_view> QualifiedValuesIn(std::string_view value) {
  std::vector<std::string_view> out;
  Decoder decoder(value);
  const size_t count = TakeArrayHead(&decoder, PMIX_VALUE);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view before = decoder.rest();
    if (!decoder.SkipValue()) break;
    out.push_back(before.substr(0, before.size() - decoder.rest().size()));
  }
  return out;
}

}  // namespace canopy::openpmix
