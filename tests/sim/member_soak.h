// Soak test of members that come and go while one job fences without end. The
// nodes of that job stay; all other members are added, drained, removed, lost
// and started again, some of them with processes of other jobs.
#ifndef CANOPY_TESTS_SIM_MEMBER_SOAK_H_
#define CANOPY_TESTS_SIM_MEMBER_SOAK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/seed_table.h"

namespace canopy::sim {

enum class MemberChange : uint8_t {
  kJoins,
  kJoinsAgain,  // under the name of a member that was removed
  kLeavesIdle,  // no job has ranks there
  kLeavesBusy,  // a job has ranks there
  kLost,
  kReturns,      // after a loss
  kRemovedLost,  // is removed after a loss
  kDrained,
  kResumed,
};
inline constexpr size_t kNumMemberChanges = 9;

// Returns the table of changes, and of the place of the member in the tree.
SeedTable MemberTable();

struct MemberSoakOptions {
  uint32_t radix = 0;      // 0: the seed chooses
  uint32_t changes = 100;  // changes of the membership in a run
  // If true, the job loses a process in the middle of the run, to test that a
  // fence that fails is found.
  bool sabotage = false;
  bool verbose = false;
  bool trace = false;  // writes every step to standard error
};

struct MemberSoakResult {
  uint64_t steps = 0;
  uint64_t fences = 0;  // fences of the job that stays
  uint64_t guests = 0;  // other jobs that ended without a failure
  uint32_t nodes = 0;
  std::vector<std::string> faults;  // the changes, in order
  std::vector<std::string> errors;  // empty: no rule was violated
  SeedCells cells;
};

// Runs one seed; the result depends only on the arguments.
MemberSoakResult RunMemberSoak(uint64_t seed, const MemberSoakOptions& options);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_MEMBER_SOAK_H_
