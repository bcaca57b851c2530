// The rules of publications: where a key is published, who finds it, what
// outlives what; and their form in a journal.
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

// pmix_persistence_t.
enum class Persistence : uint8_t {
  kIndefinite = 0,
  kFirstRead = 1,
  kProc = 2,
  kApp = 3,
  kSession = 4,
};

// PMIX_SUCCESS, or why data can not be published or looked up there:
// kErrNotSupported for the range of the resource manager, kErrBadParam for what
// is no range.
int CheckRange(uint8_t range);

// It is seen by processes of its publisher's node alone, and never leaves it.
bool StaysHere(const Publication& publication);
// It does not end with its publisher's job, or that job's agent.
bool OutlivesJob(const Publication& publication);
// Nor with the loss of its steward, which may be alive, cut off: what has one
// reader does.
bool OutlivesSteward(const Publication& publication);
// It ends when it is read, which one reader does.
bool EndsWhenRead(const Publication& publication);
// Of two who say that they are the steward of one, the first is: the home, or
// the one with the lower number.
bool IsRightSteward(const Publication& publication, NodeId other);
// Both are the same key on the same range: the ranges of namespaces, nodes,
// processes and lists of processes are different ones.
bool IsSamePlace(const Publication& a, const Publication& b);
// What it takes of a quota, in bytes.
size_t SizeOf(const Publication& publication);

enum class Visibility : uint8_t {
  kNone,    // for this searcher, it does not exist
  kBarred,  // in range, but not permitted
  kSeen,
};

// For a searcher of that node. The tests of the Standard in their order: the
// searcher's range includes the publisher, the publication's the searcher, the
// permissions.
Visibility VisibilityOf(const Publication& publication,
                        const Searcher& searcher, NodeId node);
// Of several that a searcher sees, the narrowest range comes first, then the
// older one.
bool ComesBefore(const Publication& a, const Publication& b);

// Handed out, or being handed out, to one reader.
inline bool IsTaken(const Publication& publication) {
  return !publication.reader.proc.nspace.empty();
}
// The same call.
inline bool IsSameReader(const PublicationReader& a,
                         const PublicationReader& b) {
  return a.proc == b.proc && a.request == b.request;
}

std::string EncodePublication(const Publication& publication);
// Nothing for what EncodePublication does not write.
std::optional<Publication> DecodePublication(const Bytes& bytes);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLICATION_H_
