// Messages between agents about published data. Plain values, see
// server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_PUBLISHING_H_
#define CANOPY_SERVER_CORE_MESSAGE_PUBLISHING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// Data of PMIx_Publish: a key on a range. Number and publisher identify it; the
// steward, an agent, decides how long it lives.
struct PublicationId {
  ProcId publisher;
  uint64_t number = 0;  // of the agent where it was published

  auto operator<=>(const PublicationId&) const = default;
};

// The call that a publication is handed out to, where that ends it. A
// repetition of the call is the same reader.
struct PublicationReader {
  ProcId proc;            // empty nspace: none
  uint64_t request = 0;   // the process's own number
  NodeId node = kNoNode;  // its agent
};

struct Publication {
  PublicationId id;
  NodeId home = kNoNode;     // where it was published
  NodeId steward = kNoNode;  // the home, or who has taken over
  uint64_t version = 0;      // more is newer
  // The publisher's number of the call; 0: it can not be repeated any more.
  uint64_t request = 0;
  std::string key;
  uint8_t range = 0;            // pmix_data_range_t
  uint8_t persistence = 0;      // pmix_persistence_t
  std::vector<ProcId> members;  // with PMIX_RANGE_CUSTOM: who may see it
  uint32_t uid = 0;             // the publisher's
  uint32_t gid = 0;
  // Who else may read it; with neither: the publisher's user.
  std::vector<uint32_t> uids;
  std::vector<uint32_t> gids;
  Bytes value;  // codec form: a VALUE
  PublicationReader reader;
};

// Keep this publication, from its steward; or, to its steward, which was
// restarted: this is what the sender has of it. Answered by DirectoryAnswer.
struct DirectoryStore {
  uint64_t request = 0;  // the requester's own number
  Publication publication;
  // It is refused when the key is taken on its range.
  bool is_new = false;
};

// From the steward. Answered by DirectoryAnswer.
struct DirectoryRemove {
  uint64_t request = 0;
  PublicationId id;
};

// Store what the sender is the owner of. Answered by DirectoryAnswer, once that
// is done.
struct DirectoryPull {
  uint64_t request = 0;
};

// A key of a lookup; in the answer, why it has no value.
struct LookupKey {
  std::string key;
  int status = 0;
};

// Who looks something up.
struct Searcher {
  ProcId proc;
  uint64_t request = 0;  // the process's own number
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint8_t range = 0;            // where: pmix_data_range_t
  std::vector<ProcId> members;  // with PMIX_RANGE_CUSTOM
};

// PMIx_Lookup, from the caller's agent to the owner of the keys; replaces an
// earlier one of that number. Answered by DirectoryFound: at once, or as soon
// as a key is there when the caller waits.
struct DirectoryLookup {
  uint64_t request = 0;
  Searcher searcher;
  std::vector<LookupKey> keys;
  bool waits = false;
};

// The caller waits no longer. Answered by DirectoryAnswer.
struct DirectoryLookupEnd {
  uint64_t request = 0;
  uint64_t lookup = 0;  // DirectoryLookup::request
};

struct DirectoryFound {
  uint64_t request = 0;  // of the DirectoryLookup
  std::vector<Publication> found;
  std::vector<LookupKey> missing;  // never of a caller that waits
};

enum class ClaimKind : uint8_t {
  kTake = 1,    // for this reader alone
  kFinish = 2,  // it has it: remove the publication
  kReturn = 3,  // it does not want it any more
};

// About a publication that ends when it is read, from the reader's agent to the
// steward. Answered by DirectoryAnswer.
struct DirectoryClaim {
  uint64_t request = 0;
  PublicationId id;
  PublicationReader reader;
  ClaimKind kind = ClaimKind::kTake;
};

struct DirectoryAnswer {
  uint64_t request = 0;
  int status = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_PUBLISHING_H_
