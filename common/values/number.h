// Conversion of numeric values between C number types.
#ifndef CANOPY_COMMON_VALUES_NUMBER_H_
#define CANOPY_COMMON_VALUES_NUMBER_H_

#include "pmix_types.h"

namespace canopy {

// Stores the number in `value` as a number of type `type` at `dest`. Returns a
// PMIx status. After an error `dest` is unchanged: PMIX_ERR_BAD_PARAM if the
// value or the type is not numeric, PMIX_ERR_CHANGE_SIGN if a negative number
// would lose its sign, PMIX_ERR_LOST_PRECISION if the number would change in
// another way.
int StoreNumber(const pmix_value_t& value, pmix_data_type_t type, void* dest);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_NUMBER_H_
