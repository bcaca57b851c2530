// Hosts in the notation of --host lists and hostfiles.
#ifndef CANOPY_COMMON_HOSTS_H_
#define CANOPY_COMMON_HOSTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy {

// One entry, in the order given. A name may occur several times: each entry
// without a count adds one slot, and the mapper adds the slots up.
struct Host {
  std::string name;    // or "+nK", "+e", "+any", which the mapper resolves
  uint32_t slots = 0;  // valid if a number was given
  bool slots_given = false;  // a number was given
  std::vector<std::string> aliases = {};

  // Returns true if the entry selects among the job's nodes instead of naming a
  // host.
  bool relative() const { return name.starts_with('+'); }
};

// Parses the value of --host, such as "a,b:4,n[01-16,20]:2"; a range stands for
// all its hosts. Returns kErrBadParam for an empty name, a bad count or range,
// or more hosts than kMaxListedNames (common/name_ranges.h).
Result<std::vector<Host>> ParseHostList(std::string_view text);

// Parses the lines of a hostfile: "NAME [slots=N] [max_slots=N] [aliases=A,B]",
// "NAME:N" or "USER@NAME", where NAME may be a range; '#' starts a comment.
// `file` is its name, which the message of an error gives with the line.
Result<std::vector<Host>> ParseHostfile(std::string_view content,
                                        const std::string& file);

// Returns the HOST of HOST:PORT or [HOST]:PORT, or the whole text if it has no
// colon.
std::string HostOfAddress(std::string_view address);

}  // namespace canopy

#endif  // CANOPY_COMMON_HOSTS_H_
