// Fabrics that are registered, and what this node shows of them. Whose data are
// a host's is decided by client/session/host_fabric.h.
#ifndef CANOPY_CLIENT_TOPOLOGY_FABRIC_OP_H_
#define CANOPY_CLIENT_TOPOLOGY_FABRIC_OP_H_

#include <cstddef>

#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

// Fills in all but the name, which is the user's. The data belong to the
// library until the fabric is deregistered. The first fabric that has what
// `directives` ask for (PMIX_FABRIC_PLANE, PMIX_FABRIC_IDENTIFIER,
// PMIX_FABRIC_VENDOR); without any, the first of all. Returns a PMIX status:
// PMIX_ERR_NOT_FOUND when this node has no device of such a fabric,
// PMIX_ERR_BAD_PARAM also for what is registered already,
// PMIX_ERR_NOT_SUPPORTED without hwloc.
int RegisterFabric(pmix_fabric_t* fabric, const pmix_info_t* directives,
                   size_t ndirs);

// Looks at the machine anew. PMIX_ERR_BAD_PARAM for what is not registered;
// PMIX_ERR_NOT_FOUND when the fabric's devices are gone: its data stay then.
int UpdateFabric(pmix_fabric_t* fabric);

// PMIX_ERR_BAD_PARAM for none, and for what is registered already.
int MayRegisterFabric(const pmix_fabric_t* fabric);

// The same of a fabric whose data a host has told, `told`, with its
// PMIX_FABRIC_INDEX if there is one: as RegisterFabric and UpdateFabric.
int RegisterHostsFabric(pmix_fabric_t* fabric, InfoList told);
int UpdateHostsFabric(pmix_fabric_t* fabric, InfoList told);

// By what the host knows it: PMIX_FABRIC_INDEX, and of the identifier, the
// vendor and the plane what it has told. PMIX_ERR_BAD_PARAM for what is not
// registered; PMIX_ERR_NOT_SUPPORTED when this node has shown it.
int NameHostsFabric(const pmix_fabric_t* fabric, InfoList* name);

// PMIX_ERR_BAD_PARAM for what is not registered.
int DeregisterFabric(pmix_fabric_t* fabric);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_FABRIC_OP_H_
