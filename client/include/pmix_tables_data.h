#ifndef CANOPY_CLIENT_INCLUDE_PMIX_TABLES_DATA_H_
#define CANOPY_CLIENT_INCLUDE_PMIX_TABLES_DATA_H_

#include <cstdint>
#include <span>

#include "client/include/pmix_tables.h"

namespace canopy::tables_internal {

// All texts, each with its terminator.
extern const char kTexts[];
// The generated arrays. The indices give the positions of the entries in
// another order; an entry that another entry shadows has no index.
extern const std::span<const AttributeEntry> kAttributes;  // by name
extern const std::span<const std::uint16_t> kAttributesByKey;
extern const std::span<const ConstantEntry> kConstants;         // by name
extern const std::span<const std::uint16_t> kConstantsByValue;  // type, value
extern const std::span<const FunctionEntry> kFunctions;         // by name
extern const std::span<const FunctionAttribute>
    kFunctionAttributes;  // by function, then attribute

}  // namespace canopy::tables_internal

#endif  // CANOPY_CLIENT_INCLUDE_PMIX_TABLES_DATA_H_
