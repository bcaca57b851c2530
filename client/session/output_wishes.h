// A tool's directives for the output of a job that it has spawned: PMIX_IOF_*
// in PMIx_Spawn (PMIx Standard, chapter "Tools and Debuggers", "Direct
// launch"). The tool's library formats output, so these directives apply to its
// pulls of that output.
#ifndef CANOPY_CLIENT_SESSION_OUTPUT_WISHES_H_
#define CANOPY_CLIENT_SESSION_OUTPUT_WISHES_H_

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "client/session/directives.h"
#include "common/mutex.h"
#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

// The number of jobs whose directives are kept; the oldest are dropped.
inline constexpr size_t kMaxWishes = 256;

// Returns true if the pulls of a job's output honour this directive of its
// spawn, so that the host need not honour it: PMIX_IOF_BUFFERING_SIZE and
// PMIX_IOF_BUFFERING_TIME.
bool IsForPullsAlone(std::string_view key);

// Thread-safe.
class OutputWishes {
 public:
  // Returns the directives among `infos` that concern output.
  static InfoList In(const InfoArray& infos);

  // Records the directives with which a job was spawned.
  void Note(const std::string& nspace, InfoList wishes);
  // Returns the directives of a job; empty for an unknown job.
  InfoList Of(std::string_view nspace) const;

 private:
  mutable Mutex mu_;
  std::deque<std::pair<std::string, InfoList>> jobs_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_OUTPUT_WISHES_H_
