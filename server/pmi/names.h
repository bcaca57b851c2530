// Names that PMI clients publish, as published data of PMIx.
#ifndef CANOPY_SERVER_PMI_NAMES_H_
#define CANOPY_SERVER_PMI_NAMES_H_

#include <optional>
#include <string>
#include <string_view>

namespace canopy::pmi {

// For PMIx_Publish: codec form, SIZE n, n INFO. A service stays known after the
// end of the process that published it, as with the process managers that PMI
// was made for, and as client/pmi/names.cc publishes it.
std::string InfosOfName(const std::string& service, const std::string& port);

// The port in what was looked up: codec form, SIZE n, n PDATA. Nothing when
// there is none, or one that no PMI client can be told.
std::optional<std::string> PortIn(std::string_view found);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_NAMES_H_
