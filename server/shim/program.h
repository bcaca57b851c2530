// Finds an application's program before anything is started.
#ifndef CANOPY_SERVER_SHIM_PROGRAM_H_
#define CANOPY_SERVER_SHIM_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

#include "common/loader/library_fit.h"
#include "common/status.h"
#include "server/shim/spawn.h"

namespace canopy::process {

// Where PATH is not set.
inline constexpr char kDefaultPath[] = "/usr/local/bin:/usr/bin:/bin";

// Checks the working directory (empty: the current one) and gives the path to
// execute: `program` itself when it has a '/', relative to cwd, otherwise the
// first executable file of that name in the directories of `path` (null:
// kDefaultPath). Looks with the effective user id of the caller. Errors are
// those of the Standard for jobs (working directory or program not found, not
// accessible, not executable), with a line for a person.
Result<std::string> FindProgram(const std::string& program,
                                const std::string& cwd, const char* path);

struct ProgramQuery {
  std::string program;
  std::string cwd;
  const char* path = nullptr;
  // Whether it can use Canopy's libpmix is looked for when `library`, the path
  // of that, is not empty.
  std::string library;
  loader::LoaderEnvironment injected;
  loader::LoaderEnvironment own;
  std::string known_finding;  // of an earlier search: may save this one
};

struct FoundProgram {
  std::string path;
  std::optional<loader::LibraryFinding> finding;
};

// FindProgram for several, in order, and what can be found about them. The
// first failure ends the search.
Result<std::vector<FoundProgram>> FindPrograms(
    const std::vector<ProgramQuery>& queries);

// The same as somebody else: from a child process with these credentials.
Result<std::vector<FoundProgram>> FindProgramsAs(
    const Credentials& who, const std::vector<ProgramQuery>& queries);

// What a failed Spawn of `path` in `cwd` means. `error` is the errno.
Status DescribeSpawnFailure(SpawnStep step, int error, const std::string& path,
                            const std::string& cwd, const std::string& cpuset);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROGRAM_H_
