// Assigns each process of a registration to an application.
#ifndef CANOPY_SERVER_REGISTRATION_APPLICATIONS_H_
#define CANOPY_SERVER_REGISTRATION_APPLICATIONS_H_

#include <cstdint>
#include <vector>

#include "server/registration/draft.h"
#include "server/registration/problem.h"

namespace canopy::registration {

struct Applications {
  uint32_t count = 0;
  std::vector<uint32_t> app_of;  // index: rank
};

// Sets the application of each rank. It is determined by PMIX_APPNUM of the
// process, by the application's own PMIX_PROC_MAP, or by PMIX_APPLDR with
// PMIX_APP_SIZE; without these, applications follow each other by their sizes.
// A job of one application needs none of these. Returns false and sets *problem
// if they contradict each other or do not fit the job.
bool Assign(const Draft& draft, uint32_t num_ranks, Applications* applications,
            Problem* problem);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_APPLICATIONS_H_
