// The differences between OpenPMIx clients, as data. They follow from the
// version and the codec in a client's greeting; no other code in this directory
// examines versions.
#ifndef CANOPY_SERVER_OPENPMIX_PEER_TRAITS_H_
#define CANOPY_SERVER_OPENPMIX_PEER_TRAITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/codec/form.h"

namespace canopy::openpmix {

struct PeerTraits {
  CodecForm form;
  // The largest payload that the client accepts, in bytes; the client drops
  // larger ones unread.
  size_t max_reply_bytes = SIZE_MAX;
  bool iof_pull_has_handle = true;       // since 4.1
  bool group_destruct_has_procs = true;  // since 4.2.4
  // The content of the answer to the construction of a group, after the status.
  enum class GroupReply : uint8_t {
    kContextId,   // the context id, if there is one (up to 4.2.3)
    kMembers,     // the members first
    kFlagged,     // the members, a flag for the context id, and the id (6.0)
    kWithShared,  // also the data that members share (since 6.1)
  };
  GroupReply group_reply = GroupReply::kWithShared;
  // True if the client requests those keys of a rank that job info omits (since
  // 4.2). Older clients treat these keys as absent.
  bool asks_for_places = true;
  // Returns true if the client looks for the session's keys only in the
  // session. Older clients look in the job, unless a program names the session
  // (these are the same versions as for asks_for_places).
  bool finds_session_keys() const { return asks_for_places; }
  // True if the client can read the statistics types (PMIX_PROC_STATS to
  // PMIX_NODE_STATS).
  bool reads_statistics = true;
};

// Returns the traits of a client; no value for a codec that is not served.
// `version` is free text that starts with major.minor.release ("4.2.2rc2");
// missing numbers count as 0. `described` is true if the client's payloads
// contain their types.
std::optional<PeerTraits> TraitsOf(std::string_view version,
                                   std::string_view codec, bool described);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_PEER_TRAITS_H_
