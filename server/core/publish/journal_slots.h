// Stores publications as records in the journals of their publishers' jobs.
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

// A journal keeps the last value of each key for as long as the job lives. To
// bound it, the keys are numbered slots that are reused: a job needs as many
// slots as it has publications at one time. Not synchronised.
class JournalSlots {
 public:
  // While disabled, Store writes nothing.
  void set_enabled(bool enabled) { enabled_ = enabled; }

  // Persists the publication in its slot; allocates a slot if it has none.
  void Store(PublishStep& step, const Publication& publication);
  // Erases the record and frees the slot; does nothing if the publication has
  // none.
  void Clear(PublishStep& step, const PublicationId& id);
  // Called when the job's journal is gone or about to be deleted. Forgets its
  // slots.
  void OnJobRemoved(const std::string& nspace) { jobs_.erase(nspace); }

  // Decodes a predecessor's record and takes over its slot. Returns no value
  // for a free slot and for records of other types.
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
