// Names under which the stores of agents keep what PMIx_Put has no key of its
// own for: with which scope a process has put a key. Such a name begins with a
// byte that begins no key of a process. Agents and libraries of different
// releases exchange these names, so they do not change.
#ifndef CANOPY_COMMON_CODEC_STORED_KEY_H_
#define CANOPY_COMMON_CODEC_STORED_KEY_H_

#include <string>
#include <string_view>

namespace canopy {

// True for the names of this file. A process may not put a key like that.
inline bool IsStoredName(std::string_view key) {
  return !key.empty() && key.front() == '\x01';
}

// A process has put `key` with PMIX_LOCAL, or with PMIX_REMOTE, when the value
// of this name is the BOOL true among what the processes of its node, or those
// of other nodes, see of it. Without the name, or with the value false, what
// they see was put with PMIX_GLOBAL. At most kMaxKeyLen bytes.
std::string ScopeNameOf(std::string_view key);

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_STORED_KEY_H_
