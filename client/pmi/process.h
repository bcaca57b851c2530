// The calling process as PMI-1 and PMI-2 know it: a member of one job, through
// whatever PMIx library the program has loaded.
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
  uint32_t appnum = 0;  // its application within the job
  bool spawned = false;
};

// PMIx_Init, and what the job's information has of the process. Further calls
// return at once. Any thread; so do the others.
pmix_status_t StartProcess();
// PMIx_Finalize, if the process was started.
pmix_status_t EndProcess();
// A copy of what StartProcess found; nothing before it and after EndProcess.
std::optional<Process> CurrentProcess();

// All of the process's job: for its information, and for collectives.
pmix_proc_t WholeJob(const Process& process);
pmix_proc_t MemberOf(const Process& process, uint32_t rank);

// Whether a value may still be on its way.
enum class Missing { kFails, kIsAwaited };

// The value of a key as a number or as text; nothing where there is none of
// that kind. `proc` may be the whole job, or of undefined rank: whoever has the
// key.
std::optional<uint32_t> NumberOf(const pmix_proc_t& proc, const char* key);
std::optional<std::string> TextOf(const pmix_proc_t& proc, const char* key,
                                  Missing missing = Missing::kFails);
// The same, of the value alone.
std::optional<std::string> TextIn(const pmix_value_t& value);

// Ranks of the job on this node, ascending; at least the process's own.
std::vector<uint32_t> LocalRanks(const Process& process);

// Makes a key known to all members that come to the next barrier, or with
// PMIX_LOCAL to those on this node. It is visible after a commit.
pmix_status_t PutText(pmix_scope_t scope, const std::string& key,
                      const std::string& value);

// Waits for all members; each has then what the others have committed.
pmix_status_t Barrier();

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_PROCESS_H_
