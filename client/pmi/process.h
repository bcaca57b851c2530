// The calling process from the view of PMI-1 and PMI-2: a member of one job,
// through the PMIx library that the program has loaded.
#ifndef CANOPY_CLIENT_PMI_PROCESS_H_
#define CANOPY_CLIENT_PMI_PROCESS_H_

#include <optional>
#include <string>
#include <vector>

#include "pmix.h"

namespace canopy::pmi {

struct Process {
  pmix_proc_t self;
  uint32_t size = 1;    // processes of the job
  uint32_t appnum = 0;  // the process's application within the job
  bool spawned = false;
};

// Calls PMIx_Init and reads the job's information about the process. Further
// calls return at once. All functions here are thread-safe.
pmix_status_t StartProcess();
// Calls PMIx_Finalize if the process was started.
pmix_status_t EndProcess();
// Returns a copy of the data that StartProcess found. Returns no value before
// StartProcess and after EndProcess.
std::optional<Process> CurrentProcess();

// Returns the process identifier that stands for the whole job, in gets of its
// information and in collectives.
pmix_proc_t WholeJob(const Process& process);
pmix_proc_t MemberOf(const Process& process, uint32_t rank);

// Determines whether a get of a missing value fails or waits for the value.
enum class Missing { kFails, kIsAwaited };

// Return the value of a key as a number or as text. Return no value if the key
// has no value of that kind. `proc` may be the whole job, or have an undefined
// rank, which stands for any rank with the key.
std::optional<uint32_t> NumberOf(const pmix_proc_t& proc, const char* key);
std::optional<std::string> TextOf(const pmix_proc_t& proc, const char* key,
                                  Missing missing = Missing::kFails);
// Returns the text that `value` holds. Returns no value for another type.
std::optional<std::string> TextIn(const pmix_value_t& value);

// Returns the ranks of the job on this node, ascending; at least the process's
// own.
std::vector<uint32_t> LocalRanks(const Process& process);

// Makes a key known to all members that participate in the next barrier, or
// with PMIX_LOCAL to the members on this node. The key is visible after a
// commit.
pmix_status_t PutText(pmix_scope_t scope, const std::string& key,
                      const std::string& value);

// Waits for all members. Each member can then read the values that the others
// have committed.
pmix_status_t Barrier();

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_PROCESS_H_
