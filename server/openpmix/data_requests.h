// Requests about data: commit, get, publish, lookup, query and log.
#ifndef CANOPY_SERVER_OPENPMIX_DATA_REQUESTS_H_
#define CANOPY_SERVER_OPENPMIX_DATA_REQUESTS_H_

#include "server/openpmix/reading.h"
#include "server/openpmix/request.h"

namespace canopy::openpmix {

// Readers of commands (reading.h); `kCommands` in requests.cc lists them.
Request ReadJobInfo(Reading& r);
Request ReadCommit(Reading& r);
Request ReadGet(Reading& r);
Request ReadRefresh(Reading& r);
Request ReadPublish(Reading& r);
Request ReadLookup(Reading& r);
Request ReadUnpublish(Reading& r);
Request ReadQuery(Reading& r);
Request ReadLog(Reading& r);
Request ReadResolvePeers(Reading& r);
Request ReadResolveNodes(Reading& r);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_DATA_REQUESTS_H_
