// Conversion of numeric values between C number types.
#ifndef CANOPY_COMMON_VALUES_NUMBER_H_
#define CANOPY_COMMON_VALUES_NUMBER_H_

#include "pmix_types.h"

namespace canopy {

// Stores the number that `value` holds as a number of type `type` at `dest`.
// Returns a PMIX status: PMIX_ERR_BAD_PARAM when the value or the type is not
// numeric, PMIX_ERR_CHANGE_SIGN when a negative number would lose its sign,
// PMIX_ERR_LOST_PRECISION when the number would change otherwise; then
// nothing is stored.
int StoreNumber(const pmix_value_t& value, pmix_data_type_t type, void* dest);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_NUMBER_H_
