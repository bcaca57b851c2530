// A set of CPU numbers, in the numbering of the operating system.
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
  // Bound of CPU numbers; Parse rejects higher ones.
  static constexpr uint32_t kMaxCpus = 1u << 16;

  CpuSet() = default;

  // Parses the list format "0-3,8", which JobSpec uses and hwloc and the kernel
  // print. Empty text is the empty set. Returns kErrBadParam for malformed
  // text.
  static Result<CpuSet> Parse(std::string_view list);
  // Returns the CPUs that this process may use. The set is empty if the system
  // does not report them.
  static CpuSet OfThisProcess();

  // Returns the text in the format that Parse reads.
  std::string ToString() const;

  // Requires cpu < kMaxCpus.
  void Add(uint32_t cpu);
  // Requires first <= last < kMaxCpus.
  void AddRange(uint32_t first, uint32_t last);
  // Returns true if the set contains this number, which may have any value.
  bool Has(uint32_t cpu) const;
  bool empty() const { return words_.empty(); }
  uint32_t Count() const;
  // Returns all numbers in ascending order.
  std::vector<uint32_t> ToVector() const;
  // Returns the lowest number. The set must not be empty.
  uint32_t First() const;

  // Returns true if both sets have a number in common.
  bool Intersects(const CpuSet& other) const;
  // Returns true if this set has all numbers of the other set.
  bool Contains(const CpuSet& other) const;
  CpuSet& operator|=(const CpuSet& other);
  CpuSet& operator&=(const CpuSet& other);
  // Removes the numbers of the other set.
  CpuSet& operator-=(const CpuSet& other);
  friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator-(CpuSet a, const CpuSet& b) { return a -= b; }
  bool operator==(const CpuSet&) const = default;

 private:
  void Trim();

  std::vector<uint64_t> words_;  // the last word is not 0
};

}  // namespace canopy

#endif  // CANOPY_COMMON_CPUSET_H_
