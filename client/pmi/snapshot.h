// All pairs of a key-value space, for iteration.
#ifndef CANOPY_CLIENT_PMI_SNAPSHOT_H_
#define CANOPY_CLIENT_PMI_SNAPSHOT_H_

#include <string_view>

#include "client/pmi/key_values.h"
#include "client/pmi/process.h"

namespace canopy::pmi {

// Returns the text values that members of the job have committed to the space
// and this process can see. Needs one request for each rank of another node
// whose data this process has not received with a barrier. Ranks without data
// contribute nothing.
KeyValues SnapshotOf(const Process& process, std::string_view space);

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_SNAPSHOT_H_
