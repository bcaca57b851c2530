// Answers to lookups that ended what they found, and to publishes of what has
// ended so: the call may be repeated to a successor of this agent, and gets
// them again.
#ifndef CANOPY_SERVER_CORE_PUBLISH_LOOKUP_ANSWERS_H_
#define CANOPY_SERVER_CORE_PUBLISH_LOOKUP_ANSWERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/publish/publish_step.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// Of one process; the oldest one makes room.
inline constexpr uint32_t kMaxLookupAnswers = 16;

struct LookupAnswer {
  uint64_t request = 0;  // the process's own number
  int status = 0;
  Bytes payload;
};

// Not synchronised.
class LookupAnswers {
 public:
  // Without it, nothing is stored.
  void set_enabled(bool enabled) { enabled_ = enabled; }

  void Store(PublishStep& step, const ProcId& proc, LookupAnswer answer);
  // To a request that a predecessor has taken: it may come to this agent again,
  // and is found as if it were a predecessor's.
  void Keep(PublishStep& step, const ProcId& proc, const LookupAnswer& answer);
  // A predecessor's; each is found once.
  std::optional<LookupAnswer> Take(const ProcId& proc, uint64_t request);
  // None of its calls is repeated from here on.
  void Clear(PublishStep& step, const ProcId& proc);
  void OnJobRemoved(const std::string& nspace);
  void Recover(const std::string& nspace, const PersistedRecord& record);

 private:
  struct Process {
    uint32_t stored = 0;  // in all
    std::map<uint64_t, LookupAnswer> recovered;
  };

  bool enabled_ = false;
  std::map<ProcId, Process> processes_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_LOOKUP_ANSWERS_H_
