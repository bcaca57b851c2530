#include "common/codec/seek_info.h"

#include <cstddef>
#include <cstdint>

namespace canopy {

bool SeekInfo(std::string_view key, Decoder* in) {
  size_t count = 0;
  if (!in->GetSize(&count)) return false;
  for (size_t i = 0; i < count; ++i) {
    std::string_view read;
    uint32_t flags = 0;
    if (!in->GetString(&read) || !in->GetUint32(&flags)) return false;
    if (read == key) return true;
    if (!in->SkipValue()) return false;
  }
  return false;
}

}  // namespace canopy
