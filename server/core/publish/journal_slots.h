// Publications as records in their publishers' journals.
#ifndef CANOPY_SERVER_CORE_PUBLISH_JOURNAL_SLOTS_H_
#define CANOPY_SERVER_CORE_PUBLISH_JOURNAL_SLOTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "server/core/messages.h"
#include "server/core/publish/publish_step.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// A journal keeps the last value of each key for as long as the job lives, so
// keys are numbered places that are used again: as many as there were
// publications at a time. Not synchronised.
class JournalSlots {
 public:
  // Without it, nothing is stored.
  void set_enabled(bool enabled) { enabled_ = enabled; }

  // Stores it, in its place.
  void Store(PublishStep& step, const Publication& publication);
  // Its place is free. No effect when it has none.
  void Clear(PublishStep& step, const PublicationId& id);
  // The job's journal is gone, or about to be.
  void OnJobRemoved(const std::string& nspace) { jobs_.erase(nspace); }

  // What a record holds; nothing for a free place and for other records.
  std::optional<Publication> Recover(const std::string& nspace,
                                     const PersistedRecord& record);

 private:
  struct Job {
    std::map<PublicationId, uint32_t> slots;
    std::set<uint32_t> free;
    uint32_t next = 0;
  };

  static uint32_t Claim(Job* job);

  bool enabled_ = false;
  std::map<std::string, Job> jobs_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_JOURNAL_SLOTS_H_
