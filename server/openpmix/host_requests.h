// Requests that the host decides on, spawns, and output and input of others.
#ifndef CANOPY_SERVER_OPENPMIX_HOST_REQUESTS_H_
#define CANOPY_SERVER_OPENPMIX_HOST_REQUESTS_H_

#include "server/openpmix/reading.h"
#include "server/openpmix/request.h"

namespace canopy::openpmix {

// Readers of commands (reading.h), which `kCommands` in requests.cc names.
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
