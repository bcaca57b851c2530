// The inventory of this node for PMIx_server_collect_inventory.
#ifndef CANOPY_CLIENT_TOPOLOGY_INVENTORY_H_
#define CANOPY_CLIENT_TOPOLOGY_INVENTORY_H_

#include "common/values/info_list.h"

namespace canopy::client {

// Returns one PMIX_NODE_INFO_ARRAY: PMIX_HOSTNAME first, then
// PMIX_AVAIL_PHYS_MEMORY in bytes, PMIX_TOPOLOGY_SIGNATURE, PMIX_TOPOLOGY_XML
// as hwloc exports it, and PMIX_FABRIC_DEVICES if there are any. Reads the
// machine again, which takes some milliseconds. Overwrites *inventory. Returns
// PMIX_SUCCESS, or PMIX_ERR_NOT_SUPPORTED if hwloc is absent.
int CollectInventory(InfoList* inventory);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_INVENTORY_H_
