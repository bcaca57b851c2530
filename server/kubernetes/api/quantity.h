// Quantities of resources in the notation of Kubernetes.
#ifndef CANOPY_SERVER_KUBERNETES_API_QUANTITY_H_
#define CANOPY_SERVER_KUBERNETES_API_QUANTITY_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace canopy::kubernetes {

// Parses a quantity that is a whole number, such as "8", "1k", "2Ki", "8e3" or
// "4000m". Returns no value for other text, for fractions and signs, and for a
// number beyond INT64_MAX. The API server writes whole numbers without a
// decimal point, so a number with one is not parsed.
std::optional<int64_t> WholeQuantity(std::string_view text);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_QUANTITY_H_
