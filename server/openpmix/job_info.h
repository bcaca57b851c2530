// Job info as a peer stores it: the answer to its first request, and the data
// of namespaces that it connects to.
#ifndef CANOPY_SERVER_OPENPMIX_JOB_INFO_H_
#define CANOPY_SERVER_OPENPMIX_JOB_INFO_H_

#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/shm/segment_reader.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

// KVAL calls: session, job, nodes, applications, ranks. The same for every
// peer of that form on this node. Ranks without what changes while they run,
// and without the name of their directory for a peer that asks for it.
std::string PackJobInfo(const shm::SegmentReader& job, const PeerTraits& peer);

// What comes after that for the rank that asks: a KVAL call with all of its own
// place where the job info has only a part of it, or nothing.
std::string PackOwnInfo(const shm::SegmentReader& job, const PeerTraits& peer,
                        Rank rank);

// The same: that this rank is to stop in PMIx_Init, or nothing.
std::string PackStop(const shm::SegmentReader& job, const PeerTraits& peer,
                     Rank rank);

// The job info of a tool, which is a namespace of its own with one process.
std::string PackToolInfo(const std::string& nspace, const std::string& host,
                         const PeerTraits& peer);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_JOB_INFO_H_
