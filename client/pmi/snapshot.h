// All pairs of a key-value space, for those who walk through it.
#ifndef CANOPY_CLIENT_PMI_SNAPSHOT_H_
#define CANOPY_CLIENT_PMI_SNAPSHOT_H_

#include <string_view>

#include "client/pmi/key_values.h"
#include "client/pmi/process.h"

namespace canopy::pmi {

// What the members of the job have committed to the space as text and this
// process can see; one request for each rank of another node that no barrier
// has brought. Ranks without data have none in it.
KeyValues SnapshotOf(const Process& process, std::string_view space);

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_SNAPSHOT_H_
