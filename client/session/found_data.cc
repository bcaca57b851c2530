#include "client/session/found_data.h"

#include <algorithm>
#include <cstring>

#include "common/codec/decoder.h"
#include "common/values/value_ops.h"

namespace canopy::client {

bool FoundData::Decode(std::string_view payload, size_t limit) {
  Clear();
  if (payload.empty()) return true;
  Decoder decoder(payload);
  size_t count = 0;
  if (!decoder.GetSize(&count) || count > limit) return false;
  for (size_t i = 0; i < count; ++i) {
    pmix_pdata_t one = {};
    if (!decoder.GetElement(PMIX_PDATA, &one)) break;
    data_.push_back(one);
  }
  if (!decoder.done()) Clear();
  return decoder.done();
}

const pmix_pdata_t* FoundData::Find(std::string_view key) const {
  const auto it = std::ranges::find(
      data_, key, [](const pmix_pdata_t& one) { return KeyOfData(one); });
  return it == data_.end() ? nullptr : &*it;
}

void FoundData::Clear() {
  for (pmix_pdata_t& one : data_) DestructValue(&one.value);
  data_.clear();
}

std::string_view KeyOfData(const pmix_pdata_t& data) {
  return {data.key, strnlen(data.key, sizeof(data.key))};
}

}  // namespace canopy::client
