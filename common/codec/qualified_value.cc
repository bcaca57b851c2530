#include "common/codec/qualified_value.h"

#include <span>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/stored_key.h"
#include "common/values/info_list.h"

namespace canopy {

std::optional<std::string> StoredNameOf(const pmix_value_t& value) {
  const auto infos = InfosOf(value);
  if (!infos || infos->empty() || KeyOf(infos->front()).empty()) {
    return std::nullopt;
  }
  return QualifiedNameOf(KeyOf(infos->front()), infos->subspan(1));
}

std::optional<std::string_view> MeantValueIn(std::string_view encoded) {
  Decoder in(encoded);
  uint16_t type = 0;
  uint16_t element = 0;
  size_t count = 0;
  std::string_view key;
  uint32_t flags = 0;
  if (!in.GetUint16(&type) || type != PMIX_DATA_ARRAY ||
      !in.GetUint16(&element) || element != PMIX_INFO || !in.GetSize(&count) ||
      count == 0 || !in.GetString(&key) || !in.GetUint32(&flags)) {
    return std::nullopt;
  }
  const std::string_view begin = in.rest();
  if (!in.SkipValue()) return std::nullopt;
  return begin.substr(0, begin.size() - in.rest().size());
}

std::string EncodeQualified(std::string_view key, std::string_view value,
                            std::string_view qualifier,
                            std::string_view qualifier_value) {
  Encoder out;
  out.PutUint16(PMIX_DATA_ARRAY);
  out.PutUint16(PMIX_INFO);
  out.PutSize(2);
  out.PutString(key);
  out.PutUint32(0);
  out.PutRaw(value);
  out.PutString(qualifier);
  out.PutUint32(PMIX_INFO_QUALIFIER);
  out.PutRaw(qualifier_value);
  return out.Take();
}

}  // namespace canopy
