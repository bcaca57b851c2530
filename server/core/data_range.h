// The range of an event or of published data: the processes that may see it.
#ifndef CANOPY_SERVER_CORE_DATA_RANGE_H_
#define CANOPY_SERVER_CORE_DATA_RANGE_H_

#include <cstdint>

namespace canopy::core {

// pmix_data_range_t
enum class DataRange : uint8_t {
  kUndef = 0,
  kRm = 1,
  kLocal = 2,
  kNamespace = 3,
  kSession = 4,
  kGlobal = 5,
  kCustom = 6,
  kProcLocal = 7,
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DATA_RANGE_H_
