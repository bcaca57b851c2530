// Requests between processes: collectives, groups, events, aborts.
#ifndef CANOPY_SERVER_OPENPMIX_PROCESS_REQUESTS_H_
#define CANOPY_SERVER_OPENPMIX_PROCESS_REQUESTS_H_

#include "server/openpmix/reading.h"
#include "server/openpmix/request.h"

namespace canopy::openpmix {

// Readers of commands (reading.h); `kCommands` in requests.cc lists them.
Request ReadAbort(Reading& r);
Request ReadFence(Reading& r);
Request ReadConnect(Reading& r);
Request ReadDisconnect(Reading& r);
Request ReadGroupConstruct(Reading& r);
Request ReadGroupDestruct(Reading& r);
Request ReadGroupLeave(Reading& r);
Request ReadFinalize(Reading& r);
Request ReadNotify(Reading& r);
Request ReadEventsWanted(Reading& r);
Request ReadEventsUnwanted(Reading& r);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_PROCESS_REQUESTS_H_
