// Adds a host's registration of a namespace to the contents of the job's
// segment.
#ifndef CANOPY_SERVER_LIBRARY_REGISTERED_CONTENTS_H_
#define CANOPY_SERVER_LIBRARY_REGISTERED_CONTENTS_H_

#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/shm/segment_writer.h"
#include "server/core/step/job_actions.h"
#include "server/registration/registration.h"

namespace canopy::library {

// Adds the registered data, which replaces data derived from the job's map.
void AddRegistered(const registration::Registration& told,
                   shm::SegmentContents* contents);

// Returns the registered keys of the processes, except keys with a field of
// their own in the segment. Readers find these keys among the process's
// committed data.
std::vector<core::PublishRank> KeysOfProcesses(
    const registration::Registration& told);

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_REGISTERED_CONTENTS_H_
