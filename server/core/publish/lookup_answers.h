// Persisted answers of calls that a successor could not execute again: lookups
// that consumed the publications they found, and publishes whose publication
// was consumed. A client that repeats such a call to a successor gets the same
// answer.
#ifndef CANOPY_SERVER_CORE_PUBLISH_LOOKUP_ANSWERS_H_
#define CANOPY_SERVER_CORE_PUBLISH_LOOKUP_ANSWERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/bytes.h"
#include "common/describe.h"
#include "common/ids.h"
#include "server/core/publish/publish_step.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// Maximum number of answers kept for each process; a new answer replaces the
// oldest.
inline constexpr uint32_t kMaxLookupAnswers = 16;

// The answer to one request.
struct LookupAnswer {
  uint64_t request = 0;  // numbered by the process
  int status = 0;
  Bytes payload;
};

template <typename V>
void Describe(V& v, wire::Is<LookupAnswer> auto& m) {
  v.Always(1, m.request);
  v.Field(2, m.status);
  v.Field(3, m.payload);
}

// Used by one thread.
class LookupAnswers {
 public:
  // While disabled, Store and Keep do nothing.
  void set_enabled(bool enabled) { enabled_ = enabled; }

  // Persists the answer for a successor.
  void Store(PublishStep& step, const ProcId& proc, LookupAnswer answer);
  // Persists the answer and keeps it in memory, for a request that a
  // predecessor received, because the client may repeat that request to this
  // agent.
  void Keep(PublishStep& step, const ProcId& proc, const LookupAnswer& answer);
  // Removes and returns the answer to a request that a predecessor received; no
  // value if there is none.
  std::optional<LookupAnswer> Take(const ProcId& proc, uint64_t request);
  // Erases the answers for the process. Called if the process will repeat none
  // of its earlier calls.
  void Clear(PublishStep& step, const ProcId& proc);
  void OnJobRemoved(const std::string& nspace);
  void Recover(const std::string& nspace, const PersistedRecord& record);

 private:
  struct Process {
    uint32_t stored = 0;  // answers stored so far
    std::map<uint64_t, LookupAnswer> recovered;
  };

  bool enabled_ = false;
  std::map<ProcId, Process> processes_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_LOOKUP_ANSWERS_H_
