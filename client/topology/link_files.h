// The kernel's information about the link of a device, in files below /sys.
#ifndef CANOPY_CLIENT_TOPOLOGY_LINK_FILES_H_
#define CANOPY_CLIENT_TOPOLOGY_LINK_FILES_H_

#include <string>

#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

// Adds the PMIX_FABRIC_DEVICE_* that can be read for this device of this
// machine: driver, firmware, MTU in bytes, speed in bits per second, state,
// type. `root` is the directory of the files. If there are several ports, the
// first is used.
void AddLink(const std::string& root, pmix_device_type_t type,
             const std::string& name, InfoList* device);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_LINK_FILES_H_
