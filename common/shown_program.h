// The names of programs that are copied to a job's nodes, in a job map and for
// people.
#ifndef CANOPY_COMMON_SHOWN_PROGRAM_H_
#define CANOPY_COMMON_SHOWN_PROGRAM_H_

#include <string>
#include <string_view>

namespace canopy {

// The prefix of JobApp::cmd of a copied program. The rest is a name below the
// job's directory on each node, which ends with the program's own name
// (common/preload).
inline constexpr std::string_view kCopiedBelow = "/@canopy-job-dir/";

// Returns the name of a program for people. `cmd` is the member of a JobApp.
// For a copied program the result is its own name, for another program the text
// that the user typed.
inline std::string ShownProgram(const std::string& cmd) {
  return cmd.starts_with(kCopiedBelow) ? cmd.substr(cmd.rfind('/') + 1) : cmd;
}

}  // namespace canopy

#endif  // CANOPY_COMMON_SHOWN_PROGRAM_H_
