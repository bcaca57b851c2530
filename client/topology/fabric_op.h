// Registered fabrics, and the data of this node about them.
// client/session/host_fabric.h decides whether the data comes from a host
// instead.
#ifndef CANOPY_CLIENT_TOPOLOGY_FABRIC_OP_H_
#define CANOPY_CLIENT_TOPOLOGY_FABRIC_OP_H_

#include <cstddef>

#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

// Sets all fields except the name, which belongs to the user. The library owns
// the data until the fabric is deregistered. Chooses the first fabric that
// matches `directives` (PMIX_FABRIC_PLANE, PMIX_FABRIC_IDENTIFIER,
// PMIX_FABRIC_VENDOR); without directives, the first of all. Returns a PMIx
// status: PMIX_ERR_NOT_FOUND if this node has no device of such a fabric,
// PMIX_ERR_BAD_PARAM for malformed directives and if the fabric is registered
// already, PMIX_ERR_NOT_SUPPORTED for an unknown directive that is required and
// if hwloc is absent.
int RegisterFabric(pmix_fabric_t* fabric, const pmix_info_t* directives,
                   size_t ndirs);

// Reads the machine again. Returns PMIX_ERR_BAD_PARAM if the fabric is not
// registered, PMIX_ERR_NOT_FOUND if its devices are gone, and
// PMIX_ERR_NOT_SUPPORTED if hwloc cannot read the machine. After an error the
// data of the fabric is unchanged.
int UpdateFabric(pmix_fabric_t* fabric);

// Returns PMIX_ERR_BAD_PARAM for null, and if the fabric is registered already.
int MayRegisterFabric(const pmix_fabric_t* fabric);

// Take the data of a fabric from a host: `told` becomes the fabric's infos, and
// PMIX_FABRIC_INDEX in `told` the fabric's index. If `told` has no index,
// RegisterHostsFabric sets 0, and UpdateHostsFabric keeps the previous index.
// Both return a PMIx status. RegisterHostsFabric returns PMIX_ERR_BAD_PARAM for
// null, and if the fabric is registered already. UpdateHostsFabric returns
// PMIX_ERR_BAD_PARAM if the fabric is not registered; `fabric` must not be
// null, and its old infos are freed.
int RegisterHostsFabric(pmix_fabric_t* fabric, InfoList told);
int UpdateHostsFabric(pmix_fabric_t* fabric, InfoList told);

// Returns the infos by which the host identifies the fabric: PMIX_FABRIC_INDEX,
// and the identifier, vendor and plane as far as the host has given them.
// Returns PMIX_ERR_BAD_PARAM if the fabric is not registered, and
// PMIX_ERR_NOT_SUPPORTED if its data comes from this node.
int NameHostsFabric(const pmix_fabric_t* fabric, InfoList* name);

// Returns PMIX_ERR_BAD_PARAM if the fabric is not registered.
int DeregisterFabric(pmix_fabric_t* fabric);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_FABRIC_OP_H_
