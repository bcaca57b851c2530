// Prints values for people, in the layout that PMIx tools print.
#ifndef CANOPY_COMMON_VALUES_PRINT_H_
#define CANOPY_COMMON_VALUES_PRINT_H_

#include <string>
#include <string_view>

#include "common/values/type_table.h"

namespace canopy {

// Prints one element. Lines are separated by '\n' and begin with `prefix`.
// Content that is nested too deeply is left out.
std::string PrintElement(pmix_data_type_t type, const void* element,
                         std::string_view prefix, int depth = 0);

// Prints one value, such as "PMIX_VALUE:  Data type: PMIX_UINT32\tValue: 5".
std::string PrintValue(const pmix_value_t& value, std::string_view prefix,
                       int depth = 0);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_PRINT_H_
