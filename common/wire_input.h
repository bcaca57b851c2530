// The numbers of the protobuf wire format, and the reader of encoded fields.
// It accepts bytes from anywhere: every length is bounded by the bytes that are
// there.
#ifndef CANOPY_COMMON_WIRE_INPUT_H_
#define CANOPY_COMMON_WIRE_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace canopy::wire {

// Wire types: the lower three bits of a tag.
inline constexpr uint32_t kVarint = 0;
inline constexpr uint32_t kFixed64 = 1;
inline constexpr uint32_t kLength = 2;
inline constexpr uint32_t kFixed32 = 5;

// Returns the number of bytes of `v` as a varint.
inline size_t VarintSize(uint64_t v) {
  size_t n = 1;
  while (v >= 0x80) {
    v >>= 7;
    ++n;
  }
  return n;
}

// Writes `v` to `out`, which has room for it, and returns the byte after it.
inline char* PutVarint(uint64_t v, char* out) {
  for (; v >= 0x80; v >>= 7) *out++ = static_cast<char>(v | 0x80);
  *out++ = static_cast<char>(v);
  return out;
}

inline uint64_t Tag(uint32_t field, uint32_t type) {
  return (uint64_t{field} << 3) | type;
}

// Convert signed numbers, which are varints in zigzag form.
inline uint64_t ZigZag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
inline int64_t UnZigZag(uint64_t v) {
  return static_cast<int64_t>((v >> 1) ^ (~(v & 1) + 1));
}

// Reads encoded fields. After a failure all further results are 0.
class Input {
 public:
  explicit Input(std::string_view data) : data_(data) {}
  bool ok() const { return ok_; }
  bool done() const { return pos_ == data_.size() || !ok_; }
  void Fail() { ok_ = false; }
  size_t position() const { return pos_; }
  uint64_t Varint() {
    // Most varints have one byte.
    if (ok_ && pos_ < data_.size() && (data_[pos_] & 0x80) == 0) {
      return static_cast<uint8_t>(data_[pos_++]);
    }
    return LongVarint();
  }
  uint32_t Tag() {  // field number (never 0) and wire type
    const uint64_t tag = Varint();
    if (tag > UINT32_MAX || (tag >> 3) == 0) ok_ = false;
    return ok_ ? static_cast<uint32_t>(tag) : 0;
  }
  std::string_view Chunk();  // length, then that many bytes
  void Skip(uint32_t type);

 private:
  uint64_t LongVarint();

  std::string_view data_;
  size_t pos_ = 0;
  bool ok_ = true;
};

}  // namespace canopy::wire

#endif  // CANOPY_COMMON_WIRE_INPUT_H_
