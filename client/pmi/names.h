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

// Whether a service may have that name: not empty, no longer than a key, and
// not one of PMIx's own, which would be taken for a directive. False for null.
bool IsServiceName(const char* name);

// Services have such names in what follows.
pmix_status_t PublishName(const char* service, const char* port);
pmix_status_t UnpublishName(const char* service);
// Nothing when nobody has published it.
std::optional<std::string> LookUpName(const char* service);
// Whether the PMIx library and its server look names up at all.
bool HasNameService();

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_NAMES_H_
