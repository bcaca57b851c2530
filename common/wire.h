// A compact binary form of LEB128 integers and length-prefixed strings, for
// messages between parts of Canopy that libpmix also links. PMIx values are
// written by common/codec and appear here as opaque bytes.
#ifndef CANOPY_COMMON_WIRE_H_
#define CANOPY_COMMON_WIRE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"

namespace canopy {

class WireWriter {
 public:
  void Uint(uint64_t v) {
    while (v >= 0x80) {
      out_.push_back(static_cast<char>(v | 0x80));
      v >>= 7;
    }
    out_.push_back(static_cast<char>(v));
  }
  // Writes a signed number in zigzag form.
  void Int(int64_t v) {
    Uint((static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63));
  }
  void Bool(bool v) { out_.push_back(v ? 1 : 0); }
  void String(std::string_view s) {
    Uint(s.size());
    out_.append(s);
  }
  void Proc(const ProcId& p) {
    String(p.nspace);
    Uint(p.rank);
  }
  void Strings(const std::vector<std::string>& strings) {
    Uint(strings.size());
    for (const std::string& s : strings) String(s);
  }
  // Appends encoded bytes, or a part of a String whose length was written.
  void Raw(std::string_view bytes) { out_.append(bytes); }
  void Reserve(size_t bytes) { out_.reserve(bytes); }
  const std::string& str() const { return out_; }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads the output of WireWriter. After the first malformed or missing field
// ok() is false and every later read returns zero or empty, so a decoder checks
// once at its end. Views point into the input.
class WireReader {
 public:
  explicit WireReader(std::string_view in) : in_(in) {}

  uint64_t Uint() {
    if (in_.empty() || (in_.front() & 0x80) != 0) return LongUint();
    const auto value = static_cast<uint8_t>(in_.front());
    in_.remove_prefix(1);
    return value;
  }
  int64_t Int() {
    const uint64_t u = Uint();
    return static_cast<int64_t>(u >> 1) ^ -static_cast<int64_t>(u & 1);
  }
  // Reads a Uint that must fit 32 bits.
  uint32_t Uint32();
  bool Bool();
  std::string_view String();
  ProcId Proc();
  ProcView ProcInPlace();
  std::vector<std::string> Strings();
  // Reads a count of elements that take at least `min_bytes` each (>= 1). A
  // count that exceeds the bytes left is rejected before memory for it is
  // allocated.
  size_t Count(size_t min_bytes = 1);

  bool ok() const { return ok_; }
  // Returns true if everything was read without an error.
  bool done() const { return ok_ && in_.empty(); }
  std::string_view rest() const { return in_; }
  void Fail() {
    ok_ = false;
    in_ = {};
  }

 private:
  uint64_t LongUint();

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_WIRE_H_
