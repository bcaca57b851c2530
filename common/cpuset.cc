#include "common/cpuset.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <memory>

namespace canopy {
namespace {

bool ParseCpu(std::string_view text, uint32_t* cpu) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *cpu);
  return error == std::errc() && stop == end && *cpu < CpuSet::kMaxCpus;
}

}  // namespace

Result<CpuSet> CpuSet::Parse(std::string_view list) {
  CpuSet set;
  for (std::string_view left = list; !left.empty();) {
    const size_t comma = left.find(',');
    const std::string_view part = left.substr(0, comma);
    left.remove_prefix(comma == left.npos ? left.size() : comma + 1);
    const size_t dash = part.find('-');
    uint32_t first = 0;
    uint32_t last = 0;
    const bool range = dash != part.npos;
    if (!ParseCpu(part.substr(0, dash), &first) ||
        (range && !ParseCpu(part.substr(dash + 1), &last)) ||
        (range && last < first)) {
      return Status(kErrBadParam,
                    "malformed CPU list '" + std::string(list) + "'");
    }
    set.AddRange(first, range ? last : first);
  }
  return set;
}

CpuSet CpuSet::OfThisProcess() {
  CpuSet set;
  // The kernel rejects a buffer smaller than its own mask.
  for (size_t cpus = 1024; cpus <= kMaxCpus; cpus *= 2) {
    const auto mask =
        std::make_unique<unsigned long[]>(cpus / 8 / sizeof(long));
    auto* raw = reinterpret_cast<cpu_set_t*>(mask.get());
    if (sched_getaffinity(0, cpus / 8, raw) != 0) continue;
    for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
      if (CPU_ISSET_S(cpu, cpus / 8, raw)) set.Add(cpu);
    }
    break;
  }
  return set;
}

std::string CpuSet::ToString() const {
  std::string out;
  const std::vector<uint32_t> cpus = ToVector();
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    if (!out.empty()) out += ',';
    out += std::to_string(cpus[i]);
    if (end - i > 1) out += '-' + std::to_string(cpus[end - 1]);
    i = end;
  }
  return out;
}

void CpuSet::Add(uint32_t cpu) {
  if (words_.size() <= cpu / 64) words_.resize(cpu / 64 + 1);
  words_[cpu / 64] |= uint64_t{1} << (cpu % 64);
}

void CpuSet::AddRange(uint32_t first, uint32_t last) {
  for (uint32_t cpu = first; cpu <= last; ++cpu) Add(cpu);
}

bool CpuSet::Has(uint32_t cpu) const {
  return cpu / 64 < words_.size() && (words_[cpu / 64] >> (cpu % 64) & 1) != 0;
}

uint32_t CpuSet::Count() const {
  uint32_t n = 0;
  for (const uint64_t word : words_) {
    n += static_cast<uint32_t>(std::popcount(word));
  }
  return n;
}

std::vector<uint32_t> CpuSet::ToVector() const {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < words_.size(); ++i) {
    for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
      out.push_back(i * 64 + static_cast<uint32_t>(std::countr_zero(word)));
    }
  }
  return out;
}

uint32_t CpuSet::First() const {
  uint32_t i = 0;
  while (words_[i] == 0) ++i;
  return i * 64 + static_cast<uint32_t>(std::countr_zero(words_[i]));
}

bool CpuSet::Intersects(const CpuSet& other) const {
  const size_t n = std::min(words_.size(), other.words_.size());
  for (size_t i = 0; i < n; ++i) {
    if ((words_[i] & other.words_[i]) != 0) return true;
  }
  return false;
}

bool CpuSet::Contains(const CpuSet& other) const {
  if (other.words_.size() > words_.size()) return false;
  for (size_t i = 0; i < other.words_.size(); ++i) {
    if ((other.words_[i] & ~words_[i]) != 0) return false;
  }
  return true;
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
  if (words_.size() > other.words_.size()) words_.resize(other.words_.size());
  for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  Trim();
  return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) {
  const size_t n = std::min(words_.size(), other.words_.size());
  for (size_t i = 0; i < n; ++i) words_[i] &= ~other.words_[i];
  Trim();
  return *this;
}

void CpuSet::Trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace canopy
