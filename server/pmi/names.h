// Names that PMI clients publish, as published data of PMIx.
#ifndef CANOPY_SERVER_PMI_NAMES_H_
#define CANOPY_SERVER_PMI_NAMES_H_

#include <optional>
#include <string>
#include <string_view>

namespace canopy::pmi {

// Returns the infos for PMIx_Publish in codec form: SIZE n, n INFO. A service
// remains known after the end of the process that published it. PMI's own
// process managers and client/pmi/names.cc do the same.
std::string InfosOfName(const std::string& service, const std::string& port);

// Returns the port in the result of a lookup (codec form: SIZE n, n PDATA).
// Returns no value if there is none, or if a PMI client cannot receive it.
std::optional<std::string> PortIn(std::string_view found);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_NAMES_H_
