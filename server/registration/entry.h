// The entries of a registration: keys with values that C code has created.
#ifndef CANOPY_SERVER_REGISTRATION_ENTRY_H_
#define CANOPY_SERVER_REGISTRATION_ENTRY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmix_types.h"
#include "server/registration/problem.h"

namespace canopy::registration {

// Returns the attribute's name in programs, such as "PMIX_JOB_SIZE", or else
// the key. Used in messages.
std::string NameOf(std::string_view key);

// Returns true if the entry has no value: a null text or array, or an undefined
// value that does not mean "true".
bool IsAbsent(const pmix_info_t& info);

// The entries of one realm, in the order of the call; the last entry of a key
// is valid. The caller owns the entries.
struct Level {
  std::vector<const pmix_info_t*> infos;

  void Add(const pmix_info_t& info) {
    if (!IsAbsent(info)) infos.push_back(&info);
  }
  // Returns the entry of the key, or null if there is none.
  const pmix_info_t* Find(std::string_view key) const;
};

// Return the value of an entry. They return no value if `info` is null, and
// also if the value cannot be converted, which is reported in *problem. Any
// non-negative number is accepted, also as text.
std::optional<uint32_t> ReadNumber(const pmix_info_t* info, uint32_t max,
                                   Problem* problem);
std::optional<std::string_view> ReadText(const pmix_info_t* info,
                                         Problem* problem);
std::optional<bool> ReadFlag(const pmix_info_t* info, Problem* problem);

// Returns the value of the entry in codec form. A number or a flag of another
// type than the Standard's is converted if it fits, so that programs find the
// expected type. Returns an empty string if the value cannot be sent to another
// process.
std::string EncodeEntry(const pmix_info_t& info);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_ENTRY_H_
