#include "common/wire.h"

#include <algorithm>

namespace canopy {

bool WireReader::Bool() {
  if (in_.empty()) {
    Fail();
    return false;
  }
  const bool value = in_.front() != 0;
  in_.remove_prefix(1);
  return value;
}

uint64_t WireReader::LongUint() {
  constexpr size_t kMaxBytes = 10;
  const size_t most = std::min(in_.size(), kMaxBytes);
  uint64_t v = 0;
  for (size_t i = 0; i < most; ++i) {
    const auto byte = static_cast<uint8_t>(in_[i]);
    const uint64_t group = byte & 0x7f;
    if (i == kMaxBytes - 1 && group > 1) break;
    v |= group << (7 * i);
    if (byte == group) {
      in_.remove_prefix(i + 1);
      return v;
    }
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

ProcView WireReader::ProcInPlace() {
  const ProcView view{String(), Uint32()};
  if (view.nspace.size() > kMaxNspaceLen) Fail();
  return view;
}

ProcId WireReader::Proc() {
  const ProcView view = ProcInPlace();
  return {std::string(view.nspace), view.rank};
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
