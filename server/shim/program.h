// Finds an application's program before any process is started.
#ifndef CANOPY_SERVER_SHIM_PROGRAM_H_
#define CANOPY_SERVER_SHIM_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

#include "common/loader/library_fit.h"
#include "common/status.h"
#include "server/shim/spawn.h"

namespace canopy::process {

// The search path if PATH is not set.
inline constexpr char kDefaultPath[] = "/usr/local/bin:/usr/bin:/bin";

// Checks the working directory (empty: the current one) and returns the path to
// execute. If `program` contains a '/', this is `program` itself, relative to
// cwd. Otherwise it is the first executable file of that name in the
// directories of `path` (null: kDefaultPath) and then, if cwd is not empty, in
// cwd, as in the launchers of Open MPI and Slurm. Access is checked with the
// effective user id of the caller. Errors are the Standard's job errors
// (working directory or program not found, not accessible, not executable),
// with one line for the user.
Result<std::string> FindProgram(const std::string& program,
                                const std::string& cwd, const char* path);

struct ProgramQuery {
  std::string program;
  std::string cwd;
  const char* path = nullptr;
  // The path of Canopy's libpmix. If it is not empty, the search also
  // determines whether the program can use this library.
  std::string library;
  loader::LoaderEnvironment injected;
  loader::LoaderEnvironment own;
  // The finding of an earlier search, which may make this one unnecessary.
  std::string known_finding;
};

struct FoundProgram {
  std::string path;
  std::optional<loader::LibraryFinding> finding;
};

// Applies FindProgram to several queries, in order, and adds the findings about
// the programs. The first failure ends the search.
Result<std::vector<FoundProgram>> FindPrograms(
    const std::vector<ProgramQuery>& queries);

// Like FindPrograms, but in a child process with the credentials `who`. Returns
// kErrJobSysOpFailed if the child process cannot be started or fails, and
// kErrNoPermissions if it cannot assume the credentials.
Result<std::vector<FoundProgram>> FindProgramsAs(
    const Credentials& who, const std::vector<ProgramQuery>& queries);

// Returns the status for a failed Spawn of `path` in `cwd`. `error` is the
// errno.
Status DescribeSpawnFailure(SpawnStep step, int error, const std::string& path,
                            const std::string& cwd, const std::string& cpuset);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROGRAM_H_
