// PMIX_QUERY_MEMORY_USAGE: how much memory processes use.
#ifndef CANOPY_SERVER_CORE_QUERY_PROCESS_MEMORY_H_
#define CANOPY_SERVER_CORE_QUERY_PROCESS_MEMORY_H_

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"

namespace canopy::core {

// Megabytes (of 2^20 bytes), as PMIX_DAEMON_MEMORY and its like are given.
Value Megabytes(uint64_t bytes);

class ProcessMemory {
 public:
  // No effect for a process whose memory was not measured.
  void Add(const Job& job, const ProcessFacts& process);

  // An array of infos. For each process a PMIX_PROC_INFO_ARRAY with its
  // PMIX_PROCID, PMIX_HOSTNAME and PMIX_PROC_RSS (float). With `minmax` only
  // for the process with the least and for that with the most, in this order;
  // with `average` PMIX_CLIENT_AVG_MEMORY (float), of all, and none of the
  // processes unless `minmax` asks for them. Empty when there is none.
  Value Report(bool average, bool minmax) const;

 private:
  struct One {
    ProcId proc;
    const JobNode* node = nullptr;
    uint64_t resident = 0;
  };

  static void Add(const One& one, InfoList* report);

  std::vector<One> processes_;
  uint64_t sum_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_PROCESS_MEMORY_H_
