// The files that are copied to the nodes of a job before its launch, and their
// paths there: PMIX_PRELOAD_BIN and PMIX_PRELOAD_FILES.
#ifndef CANOPY_COMMON_PRELOAD_PRELOAD_LIST_H_
#define CANOPY_COMMON_PRELOAD_PRELOAD_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy::preload {

// Directories below the job's directory on each node (PMIX_NSDIR).
inline constexpr char kFiles[] = "files";
inline constexpr char kPrograms[] = "programs";
// The environment variable with the job's directory.
inline constexpr char kJobDirectoryVariable[] = "CANOPY_JOB_DIR";
// The processes that copy the files: their argv[0], and the argument that
// selects whether a process reads or writes (server/shim/stage.h).
inline constexpr char kStageProgram[] = "canopy-stage";
inline constexpr char kStageRead[] = "read";
inline constexpr char kStageWrite[] = "write";
// Maximum number of files of one job.
inline constexpr size_t kMaxItems = 1024;

// A regular file to be copied.
struct Item {
  std::string name;    // below the job's directory: "files/data/x"
  std::string source;  // an absolute path, or a program to be searched
  // For a program to be searched: the search path, in the format of PATH, and
  // the directory to which its elements are relative.
  std::string path = {};
  std::string cwd = {};

  bool operator==(const Item&) const = default;
};

// Returns the namespace of the job whose processes copy the files of job
// `nspace`. The agents then move the files from the directory of that job into
// the directory of job `nspace`.
std::string StagingNspace(const std::string& nspace);

// Returns true if `name` is a relative path that cannot leave the job's
// directory.
bool IsName(std::string_view name);

// Collects the items of a job.
class List {
 public:
  // Adds the files of a comma-separated list; relative names are relative to
  // `cwd`. A file with an absolute name is copied under its last component,
  // others under their whole name. kErrBadParam: a name contains "..", or two
  // files have the same name; kErrOutOfResource: there are too many files.
  Status AddFiles(std::string_view names, const std::string& cwd);
  // Adds the program of an application. A program without '/' is searched in
  // the directories of `path`, and then in `cwd`.
  Status AddProgram(uint32_t app, const std::string& program,
                    const std::string& cwd, const std::string& path);

  const std::vector<Item>& items() const { return items_; }

 private:
  Status Add(Item item);

  std::vector<Item> items_;
};

// Returns the name of a copied program in a job map (JobApp::cmd). The name is
// the same on every node, although the job's directories differ; ShownProgram
// gives the name for display.
std::string CopiedProgram(uint32_t app, const std::string& program);
// Returns the path of a copied program on a node; any other `program` is
// returned unchanged.
std::string ResolveProgram(const std::string& program,
                           const std::string& job_directory);

}  // namespace canopy::preload

#endif  // CANOPY_COMMON_PRELOAD_PRELOAD_LIST_H_
