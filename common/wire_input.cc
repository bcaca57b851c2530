#include "common/wire_input.h"

namespace canopy::wire {

uint64_t Input::LongVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && ok_ && pos_ < data_.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(data_[pos_++]);
    if (shift == 63 && byte > 1) break;
    value |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  ok_ = false;
  return 0;
}

std::string_view Input::Chunk() {
  const uint64_t n = Varint();
  if (!ok_ || n > data_.size() - pos_) {
    ok_ = false;
    return {};
  }
  const std::string_view chunk = data_.substr(pos_, n);
  pos_ += n;
  return chunk;
}

void Input::Skip(uint32_t type) {
  if (!ok_) return;
  if (type == kVarint) {
    Varint();
  } else if (type == kLength) {
    Chunk();
  } else if (type == kFixed32 || type == kFixed64) {
    const size_t n = type == kFixed32 ? 4 : 8;
    if (n > data_.size() - pos_) return Fail();
    pos_ += n;
  } else {
    Fail();
  }
}

}  // namespace canopy::wire
