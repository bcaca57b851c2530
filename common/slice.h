// A part of shared bytes, found by a view into them: what readers give.
#ifndef CANOPY_COMMON_SLICE_H_
#define CANOPY_COMMON_SLICE_H_

#include <cstddef>
#include <string_view>

#include "common/bytes.h"

namespace canopy {

// The bytes of `whole` that `part` points to, sharing their owner. Nothing is
// shared, or pointed to, when `part` is empty.
inline Bytes SliceOf(const Bytes& whole, std::string_view part) {
  if (part.empty()) return Bytes();
  return whole.Slice(static_cast<size_t>(part.data() - whole.view().data()),
                     part.size());
}

}  // namespace canopy

#endif  // CANOPY_COMMON_SLICE_H_
