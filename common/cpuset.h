// A set of CPU numbers, as the operating system counts them.
#ifndef CANOPY_COMMON_CPUSET_H_
#define CANOPY_COMMON_CPUSET_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy {

// A plain value; not thread-safe while it is changed.
class CpuSet {
 public:
  // CPUs with higher numbers are refused.
  static constexpr uint32_t kMaxCpus = 1u << 16;

  CpuSet() = default;

  // The list format "0-3,8" that JobSpec uses and hwloc and the kernel print.
  // Empty text is the empty set. kErrBadParam when it is malformed.
  static Result<CpuSet> Parse(std::string_view list);
  // The CPUs that this process may use; empty when the system does not say.
  static CpuSet OfThisProcess();

  std::string ToString() const;

  // cpu < kMaxCpus.
  void Add(uint32_t cpu);
  // first <= last < kMaxCpus.
  void AddRange(uint32_t first, uint32_t last);
  bool Has(uint32_t cpu) const;
  bool empty() const { return words_.empty(); }
  uint32_t Count() const;
  // All, ascending.
  std::vector<uint32_t> ToVector() const;
  // Lowest; the set must not be empty.
  uint32_t First() const;

  bool Intersects(const CpuSet& other) const;
  bool Contains(const CpuSet& other) const;
  CpuSet& operator|=(const CpuSet& other);
  CpuSet& operator&=(const CpuSet& other);
  // Without the other's.
  CpuSet& operator-=(const CpuSet& other);
  friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator-(CpuSet a, const CpuSet& b) { return a -= b; }
  bool operator==(const CpuSet&) const = default;

 private:
  void Trim();

  std::vector<uint64_t> words_;  // the last one is not 0
};

}  // namespace canopy

#endif  // CANOPY_COMMON_CPUSET_H_
