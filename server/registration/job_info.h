// Converts a registered namespace to infos, which PMIx_server_collect_job_info
// packs for the server of another node.
#ifndef CANOPY_SERVER_REGISTRATION_JOB_INFO_H_
#define CANOPY_SERVER_REGISTRATION_JOB_INFO_H_

#include "common/values/info_list.h"
#include "server/registration/registration.h"

namespace canopy::registration {

// Returns one PMIX_JOB_INFO_ARRAY, PMIX_NSPACE first, with the arrays of
// applications, nodes and processes in it, which a host may pass to
// PMIx_server_register_nspace on another node. Data of this node only is in
// that node's array. For a namespace without data it contains only the name.
InfoList DescribeJob(const Registration& told);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_JOB_INFO_H_
