// The value of PMIX_QUALIFIED_VALUE: an array of INFO. Its first element holds
// the key and the value of the caller; elements that are marked with
// PMIX_INFO_QUALIFIER are the qualifiers by which PMIx_Get finds that value
// (PMIx Standard, chapter "Process-Related Non-Reserved Keys").
#ifndef CANOPY_COMMON_CODEC_QUALIFIED_VALUE_H_
#define CANOPY_COMMON_CODEC_QUALIFIED_VALUE_H_

#include <optional>
#include <string>
#include <string_view>

#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy {

// Returns the name under which the value of PMIX_QUALIFIED_VALUE is stored
// (stored_key.h). The name is the caller's key if no element is marked as a
// qualifier. Returns no value if `value` is not an array of INFO or the key in
// it is empty.
std::optional<std::string> StoredNameOf(const pmix_value_t& value);

// Returns the caller's VALUE in the encoded array, as a view of `encoded`.
// Returns no value if the array is malformed.
std::optional<std::string_view> MeantValueIn(std::string_view encoded);

// Returns the encoded array for `key` with the VALUE `value` and one qualifier
// with the VALUE `qualifier_value`.
std::string EncodeQualified(std::string_view key, std::string_view value,
                            std::string_view qualifier,
                            std::string_view qualifier_value);

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_QUALIFIED_VALUE_H_
