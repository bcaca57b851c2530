// Job info in the form that OpenPMIx clients store. A client gets job info as
// the answer to its first request, and for namespaces to which it connects.
#ifndef CANOPY_SERVER_OPENPMIX_JOB_INFO_H_
#define CANOPY_SERVER_OPENPMIX_JOB_INFO_H_

#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/shm/segment_reader.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

// Returns pack calls of KVALs, in this order: session, job, nodes,
// applications, ranks. The result is the same for all clients of this form on
// this node. Data of ranks that changes while they run is omitted, and so is
// the name of their directory for a client that requests it separately.
std::string PackJobInfo(const shm::SegmentReader& job, const PeerTraits& peer);

// Returns a KVAL call with all keys of the requesting rank that kPlaceKeys
// lists, if the job info contains only a part of them. Otherwise returns an
// empty string. The call follows the job info.
std::string PackOwnInfo(const shm::SegmentReader& job, const PeerTraits& peer,
                        Rank rank);

// Returns the KVAL call that makes this rank stop in PMIx_Init; an empty string
// if it does not stop.
std::string PackStop(const shm::SegmentReader& job, const PeerTraits& peer,
                     Rank rank);

// Returns the job info of a tool, which is a namespace with one process.
std::string PackToolInfo(const std::string& nspace, const std::string& host,
                         const PeerTraits& peer);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_JOB_INFO_H_
