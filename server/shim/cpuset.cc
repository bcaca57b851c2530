#include "server/shim/cpuset.h"

#include <charconv>

namespace canopy::process {
namespace {

constexpr size_t kBits = 64;

bool ParseNumber(std::string_view* s, uint32_t* value) {
  const auto [end, error] =
      std::from_chars(s->data(), s->data() + s->size(), *value);
  if (error != std::errc() || *value > kMaxCpu) return false;
  s->remove_prefix(static_cast<size_t>(end - s->data()));
  return true;
}

void SetRange(uint32_t first, uint32_t last, CpuMask* mask) {
  if (mask->size() <= last / kBits) mask->resize(last / kBits + 1);
  for (uint32_t cpu = first; cpu <= last; ++cpu) {
    (*mask)[cpu / kBits] |= uint64_t{1} << (cpu % kBits);
  }
}

}  // namespace

std::optional<CpuMask> ParseCpuList(std::string_view list) {
  CpuMask mask;
  for (;;) {
    uint32_t first = 0;
    if (!ParseNumber(&list, &first)) return std::nullopt;
    uint32_t last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      if (!ParseNumber(&list, &last) || last < first) return std::nullopt;
    }
    SetRange(first, last, &mask);
    if (list.empty()) return mask;
    if (!list.starts_with(',')) return std::nullopt;
    list.remove_prefix(1);
  }
}

}  // namespace canopy::process
