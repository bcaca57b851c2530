// Names under which the stores of agents keep data that has no key of its own
// in PMIx_Put: the scope with which a process has put a key, and values that
// qualifiers tell apart. Such a name begins with a byte that begins no key of a
// process, and has at most kMaxKeyLen bytes. Agents and libraries of different
// releases exchange these names, so they do not change.
#ifndef CANOPY_COMMON_CODEC_STORED_KEY_H_
#define CANOPY_COMMON_CODEC_STORED_KEY_H_

#include <span>
#include <string>
#include <string_view>

#include "pmix_common.h"

namespace canopy {

// Returns true for the names of this file. A process may not put such a key.
inline bool IsStoredName(std::string_view key) {
  return !key.empty() && key.front() == '\x01';
}

// Returns the name that records a scope other than PMIX_GLOBAL for `key`. A
// process has put `key` with PMIX_LOCAL if the BOOL true is stored under this
// name among the data for the processes of its node, and with PMIX_REMOTE if it
// is among the data for other nodes. If the name is absent or its value is
// false, the data was put with PMIX_GLOBAL.
std::string ScopeNameOf(std::string_view key);

// Returns the name for the value of `key` with these qualifiers: the `infos`
// that are marked with PMIX_INFO_QUALIFIER, in any order. Returns `key` itself
// if no info is marked. The value under the name is a PMIX_QUALIFIED_VALUE
// (qualified_value.h).
std::string QualifiedNameOf(std::string_view key,
                            std::span<const pmix_info_t> infos);
// Like the function above, for one qualifier, whose value is an encoded VALUE.
std::string QualifiedNameOf(std::string_view key, std::string_view qualifier,
                            std::string_view value);
inline bool IsQualifiedName(std::string_view key) {
  return key.starts_with("\x01q");
}
// Returns the prefix that the names of all qualified values of one key have in
// common and no other name has. `name` is one of these names, and the result is
// a view of it.
std::string_view QualifiedPrefixOf(std::string_view name);

// Returns true if the value stored under `stored` answers a request for
// `wanted`: both names are equal, or both name qualified values of one key and
// `stored` has all qualifiers of `wanted`.
bool Satisfies(std::string_view stored, std::string_view wanted);

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_STORED_KEY_H_
