// Requests that the host decides, spawns, and access to the output and input of
// other processes.
#ifndef CANOPY_SERVER_OPENPMIX_HOST_REQUESTS_H_
#define CANOPY_SERVER_OPENPMIX_HOST_REQUESTS_H_

#include "server/openpmix/reading.h"
#include "server/openpmix/request.h"

namespace canopy::openpmix {

// Readers of commands (reading.h); `kCommands` in requests.cc lists them.
Request ReadSpawn(Reading& r);
Request ReadGetCredential(Reading& r);
Request ReadValidateCredential(Reading& r);
Request ReadMonitor(Reading& r);
Request ReadJobControl(Reading& r);
Request ReadAllocate(Reading& r);
Request ReadSessionControl(Reading& r);
Request ReadResourceBlock(Reading& r);
Request ReadFabricRegister(Reading& r);
Request ReadFabricUpdate(Reading& r);
Request ReadPull(Reading& r);
Request ReadPush(Reading& r);
Request ReadStopPull(Reading& r);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_HOST_REQUESTS_H_
