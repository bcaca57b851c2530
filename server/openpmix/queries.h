// PMIx_Query_info from what the agent knows of the jobs that it takes part in.
#ifndef CANOPY_SERVER_OPENPMIX_QUERIES_H_
#define CANOPY_SERVER_OPENPMIX_QUERIES_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/shm/segment_reader.h"
#include "common/values/info_list.h"
#include "server/openpmix/requests.h"

namespace canopy::openpmix {

struct LocalProcess {
  Rank rank = 0;
  int pid = 0;  // 0: not started yet
};

struct KnownJob {
  const JobSpec* spec = nullptr;
  const shm::SegmentReader* data = nullptr;  // null: none
  std::vector<LocalProcess> local;           // ascending ranks
};

// True when the node has that name or alias.
bool IsNamed(const JobNode& node, std::string_view name);

// The names of the nodes of these jobs, each once and where it comes first,
// joined by commas: PMIx_Resolve_nodes. Linear in the number of nodes.
std::string NodeNames(const std::vector<const JobSpec*>& jobs);

// One info in *results for each key that has an answer: the namespaces, the
// process tables, and every session- or job-level key of a namespace (the
// caller's, unless a qualifier names another). kSuccess: all keys have one;
// kErrPartialSuccess: some; kErrNotFound: none, or there was no key.
int AnswerQueries(const std::vector<OneQuery>& queries, const ProcId& caller,
                  const std::vector<KnownJob>& jobs, InfoList* results);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_QUERIES_H_
