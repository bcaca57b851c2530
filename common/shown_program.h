// How a map names programs that are copied to a job's nodes, and what a person
// is shown in its place.
#ifndef CANOPY_COMMON_SHOWN_PROGRAM_H_
#define CANOPY_COMMON_SHOWN_PROGRAM_H_

#include <string>
#include <string_view>

namespace canopy {

// Begins JobApp::cmd of a copied program: a name below the job's directory on
// each node, with the program's own name at its end (common/preload).
inline constexpr std::string_view kCopiedBelow = "/@canopy-job-dir/";

// `cmd` of a JobApp, for people: of a copied program its name, of another what
// the user has typed.
inline std::string ShownProgram(const std::string& cmd) {
  return cmd.starts_with(kCopiedBelow) ? cmd.substr(cmd.rfind('/') + 1) : cmd;
}

}  // namespace canopy

#endif  // CANOPY_COMMON_SHOWN_PROGRAM_H_
