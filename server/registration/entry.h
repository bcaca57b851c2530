// Entries of a registration: keys with values that C code has made.
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

// The attribute of that key as programs write it, "PMIX_JOB_SIZE", or else the
// key: for messages.
std::string NameOf(std::string_view key);

// It has no value: a null text or array, or nothing at all where that does not
// say that the attribute is true.
bool IsAbsent(const pmix_info_t& info);

// Entries of one realm, in the order of the call. Those of the same key: the
// last one counts. They point to what belongs to the caller.
struct Level {
  std::vector<const pmix_info_t*> infos;

  void Add(const pmix_info_t& info) {
    if (!IsAbsent(info)) infos.push_back(&info);
  }
  // Null when there is none.
  const pmix_info_t* Find(std::string_view key) const;
};

// What an entry says; nothing when there is none (null), and when it says
// nothing that can be read as such, of which *problem is told then.
// Any number counts that is not negative, also one written as text.
std::optional<uint32_t> ReadNumber(const pmix_info_t* info, uint32_t max,
                                   Problem* problem);
std::optional<std::string_view> ReadText(const pmix_info_t* info,
                                         Problem* problem);
std::optional<bool> ReadFlag(const pmix_info_t* info, Problem* problem);

// The VALUE in codec form. A number or a flag of another type than the
// Standard's becomes one of that type where it fits, so that programs find what
// they expect. Empty when the value cannot be carried to another process.
std::string EncodeEntry(const pmix_info_t& info);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_ENTRY_H_
