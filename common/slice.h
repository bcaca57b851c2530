// Readers return views of shared bytes. SliceOf converts such a view to Bytes
// that keep their owner alive.
#ifndef CANOPY_COMMON_SLICE_H_
#define CANOPY_COMMON_SLICE_H_

#include <cstddef>
#include <string_view>

#include "common/bytes.h"

namespace canopy {

// Returns the bytes of `whole` that `part` points to, with the same owner. If
// `part` is empty, the result is empty and has no owner.
inline Bytes SliceOf(const Bytes& whole, std::string_view part) {
  if (part.empty()) return Bytes();
  return whole.Slice(static_cast<size_t>(part.data() - whole.view().data()),
                     part.size());
}

}  // namespace canopy

#endif  // CANOPY_COMMON_SLICE_H_
