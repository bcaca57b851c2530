// Services by name, in the datastore of published data of the job's session.
#ifndef CANOPY_CLIENT_PMI_NAMES_H_
#define CANOPY_CLIENT_PMI_NAMES_H_

#include <optional>
#include <string>

#include "pmix.h"

namespace canopy::pmi {

// MPI_MAX_PORT_NAME of the programs that have PMI: callers of PMI_Lookup_name
// have room for as much, and no way to say how much.
inline constexpr size_t kMaxPort = 256;

pmix_status_t PublishName(const char* service, const char* port);
pmix_status_t UnpublishName(const char* service);
// Nothing when nobody has published it.
std::optional<std::string> LookUpName(const char* service);

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_NAMES_H_
