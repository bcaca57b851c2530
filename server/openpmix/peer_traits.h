// What differs between the peers that speak OpenPMIx's protocol, as data. It
// follows from the version and the codec that a peer names when it connects;
// nothing else in this folder looks at versions.
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
  // Largest payload that the peer accepts; it drops larger ones unread.
  size_t max_reply_bytes = SIZE_MAX;
  bool iof_pull_has_handle = true;       // from 4.1 on
  bool group_destruct_has_procs = true;  // from 4.2.4 on
  // What follows the status in the answer to the construction of a group.
  enum class GroupReply : uint8_t {
    kContextId,   // the context id, if there is one (up to 4.2.3)
    kMembers,     // the members first
    kFlagged,     // the members, whether there is a context id, and it (6.0)
    kWithShared,  // then what members share (from 6.1 on)
  };
  GroupReply group_reply = GroupReply::kWithShared;
  // Asks for what job info does not say of a rank's place (from 4.2 on); older
  // ones take it for absent.
  bool asks_for_places = true;
  // Looks for the session's keys in the session, and only there. Older ones
  // look in the job, unless a program names the session (the same versions as
  // those that ask for places).
  bool finds_session_keys() const { return asks_for_places; }
  // Can read the statistics types (PMIX_PROC_STATS to PMIX_NODE_STATS).
  bool reads_statistics = true;
};

// Nothing for a codec that is not served. `version` is free text that starts
// with major.minor.release ("4.2.2rc2"); what is missing counts as 0.
// `described`: the peer's payloads name their types.
std::optional<PeerTraits> TraitsOf(std::string_view version,
                                   std::string_view codec, bool described);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_PEER_TRAITS_H_
