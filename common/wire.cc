#include "common/wire.h"

namespace canopy {

uint8_t WireReader::Byte() {
  if (in_.empty()) {
    Fail();
    return 0;
  }
  const auto b = static_cast<uint8_t>(in_.front());
  in_.remove_prefix(1);
  return b;
}

uint64_t WireReader::Uint() {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t b = Byte();
    if (!ok_) return 0;
    const uint64_t group = b & 0x7f;
    if (shift == 63 && group > 1) break;
    v |= group << shift;
    if ((b & 0x80) == 0) return v;
  }
  Fail();
  return 0;
}

uint32_t WireReader::Uint32() {
  const uint64_t v = Uint();
  if (v > UINT32_MAX) {
    Fail();
    return 0;
  }
  return static_cast<uint32_t>(v);
}

std::string_view WireReader::String() {
  const uint64_t n = Uint();
  if (!ok_ || n > in_.size()) {
    Fail();
    return {};
  }
  const std::string_view s = in_.substr(0, n);
  in_.remove_prefix(n);
  return s;
}

ProcId WireReader::Proc() {
  ProcId p;
  p.nspace = String();
  p.rank = Uint32();
  if (p.nspace.size() > kMaxNspaceLen) Fail();
  return p;
}

std::vector<std::string> WireReader::Strings() {
  std::vector<std::string> out(Count());
  for (std::string& s : out) s = String();
  return out;
}

size_t WireReader::Count(size_t min_bytes) {
  const uint64_t n = Uint();
  if (n > in_.size() / min_bytes) {
    Fail();
    return 0;
  }
  return n;
}

}  // namespace canopy
