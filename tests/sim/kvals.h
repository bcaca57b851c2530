// Encodes committed data and infos as clients do.
#ifndef CANOPY_TESTS_SIM_KVALS_H_
#define CANOPY_TESTS_SIM_KVALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/bytes.h"

namespace canopy::sim {

// Returns a KVAL with a string value.
std::string Kval(const std::string& key, const std::string& value);
// Returns the string value of a key among KVALs; no value if the key is absent.
std::optional<std::string> ValueOf(std::string_view kvals,
                                   const std::string& key);

// Returns infos of PMIx_Publish; the value of the key is the key. The
// persistence is FIRST_READ with `once`, otherwise APP.
Bytes PublishInfo(const std::string& key, bool once);
// Returns infos of PMIx_Lookup. A timeout of 0 means no waiting.
Bytes LookupInfo(uint32_t timeout_seconds);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_KVALS_H_
