// Hosts as people name them: --host lists and hostfiles.
#ifndef CANOPY_COMMON_HOSTS_H_
#define CANOPY_COMMON_HOSTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy {

// One entry, in the order given. The same name may come again: each time
// without a count is one slot more, which the mapper adds up.
struct Host {
  std::string name;  // or "+nK", "+e", which the mapper resolves
  uint32_t slots = 0;
  bool slots_given = false;
  std::vector<std::string> aliases;

  // A node of its own, not a word about the nodes of the job.
  bool relative() const { return name.starts_with('+'); }
};

// "a,b:4,c" of --host. kErrBadParam for an empty name or a bad count.
Result<std::vector<Host>> ParseHostList(std::string_view text);

// The lines of a hostfile: "NAME [slots=N] [max_slots=N] [aliases=A,B]",
// "NAME:N" or "USER@NAME"; '#' starts a comment. Errors name `file` and the
// line.
Result<std::vector<Host>> ParseHostfile(std::string_view content,
                                        const std::string& file);

// HOST of HOST:PORT or [HOST]:PORT; of what has no colon, all of it.
std::string HostOfAddress(std::string_view address);

}  // namespace canopy

#endif  // CANOPY_COMMON_HOSTS_H_
