// The environment of a job's processes, before what differs from rank to rank.
#ifndef CANOPY_SERVER_PROCESS_JOB_ENVIRONMENT_H_
#define CANOPY_SERVER_PROCESS_JOB_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "common/job.h"

namespace canopy::process {

struct EnvironmentRules {
  // Names that no process inherits from the job or application; a name that
  // ends in '*' stands for all that begin like it.
  std::vector<std::string> unset;
  // Where our library is, alone; put in front of LD_LIBRARY_PATH unless the
  // job says never. Empty: LD_LIBRARY_PATH is left alone.
  std::string library_dir;
};

// NAME=VALUE; a later entry of the same name wins.
struct JobEnvironment {
  std::vector<std::string> base;
  std::vector<std::vector<std::string>> apps;  // on top, by application
  // Path of our library, when `apps` puts it in front of the programs' own.
  std::string library;
  // Then, on top of that, for a program that must have its own after all.
  std::vector<std::vector<std::string>> own_library;
};

// `contributed` is what Canopy itself needs: it is not subject to the rules
// and wins over the job's and the applications' own variables. PWD follows the
// working directory where one is given.
JobEnvironment BuildJobEnvironment(const JobSpec& job,
                                   const std::vector<std::string>& contributed,
                                   const EnvironmentRules& rules);

// The directory that an application starts in; empty: the agent's.
const std::string& WorkingDirectory(const JobSpec& job, const JobApp& app);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_JOB_ENVIRONMENT_H_
