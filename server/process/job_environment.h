// The environment of a job's processes, without the variables that differ from
// rank to rank.
#ifndef CANOPY_SERVER_PROCESS_JOB_ENVIRONMENT_H_
#define CANOPY_SERVER_PROCESS_JOB_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "common/job.h"

namespace canopy::process {

struct EnvironmentRules {
  // The names of variables that no process inherits from the job or
  // application. A name that ends in '*' stands for all names with this prefix.
  std::vector<std::string> unset;
  // A directory that contains only Canopy's library. It becomes the first entry
  // of LD_LIBRARY_PATH; if the job's injection mode is "never", it is removed
  // from there instead. If it is empty, LD_LIBRARY_PATH is not changed.
  std::string library_dir;
};

// NAME=VALUE entries; a later entry of the same name wins.
struct JobEnvironment {
  std::vector<std::string> base;
  // Entries that override `base`, by application.
  std::vector<std::vector<std::string>> apps;
  // The path of Canopy's library, if `apps` puts it before the programs' own
  // library.
  std::string library;
  // Entries that override those of `apps` for a program that needs its own
  // library, by application.
  std::vector<std::vector<std::string>> own_library;
};

// Returns the environment of a job. `contributed` contains the variables that
// Canopy itself needs: `rules` does not apply to them, and they override the
// variables of the job and the applications. PWD is set to the working
// directory if there is one.
JobEnvironment BuildJobEnvironment(const JobSpec& job,
                                   const std::vector<std::string>& contributed,
                                   const EnvironmentRules& rules);

// Returns the directory in which an application starts; empty: the agent's.
const std::string& WorkingDirectory(const JobSpec& job, const JobApp& app);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_JOB_ENVIRONMENT_H_
