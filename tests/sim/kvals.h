// Committed data in the codec's form.
#ifndef CANOPY_TESTS_SIM_KVALS_H_
#define CANOPY_TESTS_SIM_KVALS_H_

#include <optional>
#include <string>
#include <string_view>

namespace canopy::sim {

// A KVAL with a string value.
std::string Kval(const std::string& key, const std::string& value);
// The string value of a key among KVALs; nothing when absent.
std::optional<std::string> ValueOf(std::string_view kvals,
                                   const std::string& key);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_KVALS_H_
