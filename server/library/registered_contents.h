// What a host has told of a namespace, in the job's segment.
#ifndef CANOPY_SERVER_LIBRARY_REGISTERED_CONTENTS_H_
#define CANOPY_SERVER_LIBRARY_REGISTERED_CONTENTS_H_

#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/shm/segment_writer.h"
#include "server/core/step/job_actions.h"
#include "server/registration/registration.h"

namespace canopy::library {

// Puts it in the place of what follows from the job's map, or beside that.
void AddRegistered(const registration::Registration& told,
                   shm::SegmentContents* contents);

// Keys of processes for which a segment has no place of their own: they are
// found where what a process commits is.
std::vector<core::PublishRank> KeysOfProcesses(
    const registration::Registration& told);

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_REGISTERED_CONTENTS_H_
