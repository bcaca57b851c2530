// Converts a registered namespace to infos, which PMIx_server_collect_job_info
// packs for the server of another node.
#ifndef CANOPY_SERVER_REGISTRATION_JOB_INFO_H_
#define CANOPY_SERVER_REGISTRATION_JOB_INFO_H_

#include "common/values/info_list.h"
#include "server/registration/registration.h"

namespace canopy::registration {

// Returns one PMIX_JOB_INFO_ARRAY, which a host may pass to
// PMIx_server_register_nspace on another node. PMIX_NSPACE is its first entry;
// the arrays of applications, nodes and processes are in it. Data that only
// this node has is in this node's array. For a namespace without data the array
// contains only the name.
InfoList DescribeJob(const Registration& told);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_JOB_INFO_H_
