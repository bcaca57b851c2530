// Committed data in the codec's form.
#ifndef CANOPY_TESTS_SIM_KVALS_H_
#define CANOPY_TESTS_SIM_KVALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/bytes.h"

namespace canopy::sim {

// A KVAL with a string value.
std::string Kval(const std::string& key, const std::string& value);
// The string value of a key among KVALs; nothing when absent.
std::optional<std::string> ValueOf(std::string_view kvals,
                                   const std::string& key);

// Infos of PMIx_Publish: the key has itself as value. FIRST_READ with `once`,
// else APP.
Bytes PublishInfo(const std::string& key, bool once);
// Infos of PMIx_Lookup; a timeout of 0: without waiting.
Bytes LookupInfo(uint32_t timeout_seconds);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_KVALS_H_
