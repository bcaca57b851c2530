// Services by name, which are published data of the PMIx session.
#ifndef CANOPY_CLIENT_PMI_NAMES_H_
#define CANOPY_CLIENT_PMI_NAMES_H_

#include <optional>
#include <string>

#include "pmix.h"

namespace canopy::pmi {

// MPI_MAX_PORT_NAME of the programs that use PMI. Callers of PMI_Lookup_name
// provide this size and cannot specify another.
inline constexpr size_t kMaxPort = 256;

// Returns true if a service may have this name: it is not empty, not longer
// than a key, and not a key of PMIx itself, which would be a directive. Returns
// false for null.
bool IsServiceName(const char* name);

// The service names of the functions below must satisfy IsServiceName.
pmix_status_t PublishName(const char* service, const char* port);
pmix_status_t UnpublishName(const char* service);
// Returns no value if the name is not published.
std::optional<std::string> LookUpName(const char* service);
// Returns true if the PMIx library and its server support lookups.
bool HasNameService();

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_NAMES_H_
