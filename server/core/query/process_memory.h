// PMIX_QUERY_MEMORY_USAGE: the memory that processes use. Used by one thread.
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

// Returns the size in megabytes of 2^20 bytes, the unit of PMIX_DAEMON_MEMORY
// and similar keys.
Value Megabytes(uint64_t bytes);

class ProcessMemory {
 public:
  // Adds the memory of a process. Does nothing if the memory was not measured.
  void Add(const Job& job, const ProcessFacts& process);

  // Returns an array of infos; an empty value if no process was added. The
  // array contains a PMIX_PROC_INFO_ARRAY for each process, with PMIX_PROCID,
  // PMIX_HOSTNAME and PMIX_PROC_RSS (float). With `minmax`, it contains only
  // the processes with the least and the most memory, in this order. With
  // `average`, it also contains PMIX_CLIENT_AVG_MEMORY (float) over all
  // processes, and single processes only with `minmax`.
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
