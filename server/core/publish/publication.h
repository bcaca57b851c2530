// The rules of publications: where a key is published, which processes find it,
// and how long it lives; and the form of a publication in a journal.
#ifndef CANOPY_SERVER_CORE_PUBLISH_PUBLICATION_H_
#define CANOPY_SERVER_CORE_PUBLISH_PUBLICATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "server/core/data_range.h"
#include "server/core/messages.h"

namespace canopy::core {

// Values of pmix_persistence_t.
enum class Persistence : uint8_t {
  kIndefinite = 0,
  kFirstRead = 1,
  kProc = 2,
  kApp = 3,
  kSession = 4,
};

// Returns PMIX_SUCCESS if data can be published or looked up on this range,
// kErrNotSupported for the range of the resource manager, and kErrBadParam for
// an undefined value.
int CheckRange(uint8_t range);

// Returns true if only processes of the publisher's node see the publication;
// it never leaves that node.
bool StaysHere(const Publication& publication);
// Returns true if the publication outlives its publisher's job.
bool OutlivesJob(const Publication& publication);
// Returns true if the publication also outlives the loss of its steward. A
// publication for one reader does not, because the steward may be cut off but
// alive, and could hand it to a second reader.
bool OutlivesSteward(const Publication& publication);
// Returns true for PMIX_PERSIST_FIRST_READ: one reader gets the publication,
// which ends it.
bool EndsWhenRead(const Publication& publication);
// Decides between two agents that both act as steward: returns true if the
// publication's present steward prevails over `other`. The publisher's agent
// prevails; if neither is that agent, the lower number does.
bool IsRightSteward(const Publication& publication, NodeId other);
// Returns true if both have the same key on the same range. Ranges of different
// namespaces, nodes, processes or process lists differ.
bool IsSamePlace(const Publication& a, const Publication& b);
// Returns the number of bytes that the publication counts against a quota.
size_t SizeOf(const Publication& publication);

enum class Visibility : uint8_t {
  kNone,    // out of range: as if it did not exist
  kBarred,  // in range, but not permitted
  kSeen,
};

// Determines the visibility for a searcher on `node`. The checks are made in
// the order of the Standard: the searcher's range must include the publisher,
// the publication's range must include the searcher, and the permissions must
// allow the read.
Visibility VisibilityOf(const Publication& publication,
                        const Searcher& searcher, NodeId node);
// Orders the publications that a searcher sees: the narrowest range comes
// first, then the oldest publication.
bool ComesBefore(const Publication& a, const Publication& b);

// Returns true if the publication was given, or is about to be given, to one
// reader.
inline bool IsTaken(const Publication& publication) {
  return !publication.reader.proc.nspace.empty();
}
// Returns true if both are the same call of the same process.
inline bool IsSameReader(const PublicationReader& a,
                         const PublicationReader& b) {
  return a.proc == b.proc && a.request == b.request;
}

std::string EncodePublication(const Publication& publication);
// Decodes a publication. Returns no value if the bytes are not a complete
// publication.
std::optional<Publication> DecodePublication(const Bytes& bytes);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLICATION_H_
