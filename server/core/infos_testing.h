// Makes the infos that processes pass with a request, for tests of the code
// that reads them.
#ifndef CANOPY_SERVER_CORE_INFOS_TESTING_H_
#define CANOPY_SERVER_CORE_INFOS_TESTING_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/values/value.h"

namespace canopy::core {

// Encodes infos: a SIZE n, then n INFO.
class Infos {
 public:
  Infos& Text(const std::string& key, const std::string& value) {
    return Add(key, Value::String(value));
  }
  Infos& Flag(const std::string& key, bool value = true, uint32_t flags = 0) {
    return Add(key, Value::Bool(value), flags);
  }
  Infos& Number(const std::string& key, pmix_data_type_t type, uint64_t v) {
    return Add(key, Value::Integer(type, v));
  }
  Infos& Range(uint8_t range) {
    return Number("pmix.range", PMIX_DATA_RANGE, range);
  }
  Infos& Add(const std::string& key, const Value& value, uint32_t flags = 0) {
    rest_.PutString(key);
    rest_.PutUint32(flags);
    rest_.PutValue(value.raw());
    ++count_;
    return *this;
  }
  Bytes Take() {
    Encoder out;
    out.PutSize(count_);
    out.PutRaw(rest_.Take());
    return Bytes(out.Take());
  }

 private:
  size_t count_ = 0;
  Encoder rest_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_INFOS_TESTING_H_
