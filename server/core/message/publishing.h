// Messages between agents about published data. They are plain values; see
// server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_PUBLISHING_H_
#define CANOPY_SERVER_CORE_MESSAGE_PUBLISHING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// Identifies a publication: a key and value that a call of PMIx_Publish has
// made visible to a range. The steward of a publication is the agent that
// decides when it ends.
struct PublicationId {
  ProcId publisher;
  uint64_t number = 0;  // numbered by the agent where it was published

  auto operator<=>(const PublicationId&) const = default;
};

// The call that receives a publication which ends when it is read. A repetition
// of the call counts as the same reader.
struct PublicationReader {
  ProcId proc;            // empty nspace: none
  uint64_t request = 0;   // numbered by the process
  NodeId node = kNoNode;  // the process's agent
};

struct Publication {
  PublicationId id;
  NodeId home = kNoNode;     // agent where it was published
  NodeId steward = kNoNode;  // the home, or the agent that has taken over
  uint64_t version = 0;      // a larger version is newer
  // The publisher's number of the call; 0: the call cannot be repeated any
  // more.
  uint64_t request = 0;
  std::string key;
  uint8_t range = 0;        // pmix_data_range_t
  uint8_t persistence = 0;  // pmix_persistence_t
  // with PMIX_RANGE_CUSTOM: the processes that may see the publication
  std::vector<ProcId> members;
  uint32_t uid = 0;  // user of the publisher
  uint32_t gid = 0;
  // Further users and groups that may read the publication. If both are empty,
  // only the publisher's user may.
  std::vector<uint32_t> uids;
  std::vector<uint32_t> gids;
  Bytes value;  // codec form: a VALUE
  PublicationReader reader;
};

// Requests that the receiver store a publication. A steward sends it to the
// owner of the key; an agent that has a copy also sends it to a steward that
// was restarted. The answer is DirectoryAnswer.
struct DirectoryStore {
  uint64_t request = 0;  // numbered by the requester
  Publication publication;
  // True for a new publication, which is rejected if the key exists on its
  // range.
  bool is_new = false;
};

// Requests that the owner remove the publication; sent by the publication's
// steward. The answer is DirectoryAnswer.
struct DirectoryRemove {
  uint64_t request = 0;
  PublicationId id;
};

// Requests that the receiver send a DirectoryStore for every publication of
// which it is the steward and whose key the sender owns. The answer,
// DirectoryAnswer, follows after all of them were stored.
struct DirectoryPull {
  uint64_t request = 0;
};

// A key of a lookup. In the answer, `status` is the reason why the key has no
// value.
struct LookupKey {
  std::string key;
  int status = 0;
};

// The process that makes a lookup.
struct Searcher {
  ProcId proc;
  uint64_t request = 0;  // numbered by the process
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint8_t range = 0;            // range to search: pmix_data_range_t
  std::vector<ProcId> members;  // with PMIX_RANGE_CUSTOM
};

// A call of PMIx_Lookup, sent by the caller's agent to the owner of the keys.
// It replaces an earlier lookup of the same number. The answer is
// DirectoryFound; it comes at once or, if the caller waits, as soon as a key
// exists.
struct DirectoryLookup {
  uint64_t request = 0;
  Searcher searcher;
  std::vector<LookupKey> keys;
  bool waits = false;
};

// Ends a lookup whose caller no longer waits. The answer is DirectoryAnswer.
struct DirectoryLookupEnd {
  uint64_t request = 0;
  uint64_t lookup = 0;  // DirectoryLookup::request
};

struct DirectoryFound {
  uint64_t request = 0;  // request of the DirectoryLookup
  std::vector<Publication> found;
  std::vector<LookupKey> missing;  // empty if the caller waits
};

enum class ClaimKind : uint8_t {
  kTake = 1,    // reserves the publication for this reader
  kFinish = 2,  // the reader has it: the publication is removed
  kReturn = 3,  // the reader no longer wants it
};

// Sent by the reader's agent to the steward of a publication that ends when it
// is read. The answer is DirectoryAnswer.
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
