// A registered namespace as infos again: what PMIx_server_collect_job_info
// packs for the server of another node.
#ifndef CANOPY_SERVER_REGISTRATION_JOB_INFO_H_
#define CANOPY_SERVER_REGISTRATION_JOB_INFO_H_

#include "common/values/info_list.h"
#include "server/registration/registration.h"

namespace canopy::registration {

// One PMIX_JOB_INFO_ARRAY, PMIX_NSPACE first, with the arrays of applications,
// nodes and processes in it: what a host may hand to
// PMIx_server_register_nspace elsewhere. What is of this node alone is in that
// node's array. Of a namespace without data, its name.
InfoList DescribeJob(const Registration& told);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_JOB_INFO_H_
