// What is copied to the nodes of a job before it is launched, and where it is
// found there: PMIX_PRELOAD_BIN and PMIX_PRELOAD_FILES.
#ifndef CANOPY_COMMON_PRELOAD_PRELOAD_LIST_H_
#define CANOPY_COMMON_PRELOAD_PRELOAD_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy::preload {

// Below the job's directory on each node (PMIX_NSDIR).
inline constexpr char kFiles[] = "files";
inline constexpr char kPrograms[] = "programs";
// Names the job's directory in the environment of its processes.
inline constexpr char kJobDirectoryVariable[] = "CANOPY_JOB_DIR";
// The processes that copy: argv[0], and what each does, as server/shim/stage.h
// has it.
inline constexpr char kStageProgram[] = "canopy-stage";
inline constexpr char kStageRead[] = "read";
inline constexpr char kStageWrite[] = "write";
// Of one job.
inline constexpr size_t kMaxItems = 1024;

// A regular file on its way.
struct Item {
  std::string name;    // below the job's directory: "files/data/x"
  std::string source;  // an absolute path, or a program to be searched for
  // Of such a program: where, as PATH, and what that is relative to.
  std::string path = {};
  std::string cwd = {};

  bool operator==(const Item&) const = default;
};

// The job whose processes copy for the job `nspace`: the agents move what it
// leaves in its directory into that job's.
std::string StagingNspace(const std::string& nspace);

// Whether that is a name below the job's directory that leads nowhere else.
bool IsName(std::string_view name);

// Collects the items of a job.
class List {
 public:
  // Names separated by commas; relative ones are relative to `cwd`. An absolute
  // one is copied under its last component, another under the whole of it.
  // kErrBadParam: it has "..", or two files have one name.
  Status AddFiles(std::string_view names, const std::string& cwd);
  // The program of an application. `path`: where it is searched for when it has
  // no '/'.
  Status AddProgram(uint32_t app, const std::string& program,
                    const std::string& cwd, const std::string& path);

  const std::vector<Item>& items() const { return items_; }

 private:
  Status Add(Item item);

  std::vector<Item> items_;
};

// How a map names a program that was copied (JobApp::cmd): the same on every
// node, whatever the job's directory is there. People are shown ShownProgram.
std::string CopiedProgram(uint32_t app, const std::string& program);
// The program's path on a node; `program` itself where it is no such name.
std::string ResolveProgram(const std::string& program,
                           const std::string& job_directory);

}  // namespace canopy::preload

#endif  // CANOPY_COMMON_PRELOAD_PRELOAD_LIST_H_
