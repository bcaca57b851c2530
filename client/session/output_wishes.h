// What a tool has said, when it spawned a job, of the output of that job:
// PMIX_IOF_* in PMIx_Spawn (PMIx Standard, chapter "Tools and Debuggers",
// "Direct launch"). The library of the tool formats output, so these directives
// hold for the tool's pulls of it.
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

// Jobs whose directives are kept; those of the oldest are forgotten.
inline constexpr size_t kMaxWishes = 256;

// Whether a pull honours the directive of a spawn by itself, so that the host
// has not to: PMIX_IOF_BUFFERING_SIZE and PMIX_IOF_BUFFERING_TIME.
bool IsForPullsAlone(std::string_view key);

// Thread-safe.
class OutputWishes {
 public:
  // The directives among `infos` that are about output; the rest is left out.
  static InfoList In(const InfoArray& infos);

  // The job has been spawned with these.
  void Note(const std::string& nspace, InfoList wishes);
  // Those of the job; empty: none, or it is not known.
  InfoList Of(std::string_view nspace) const;

 private:
  mutable Mutex mu_;
  std::deque<std::pair<std::string, InfoList>> jobs_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_OUTPUT_WISHES_H_
