// The jobs of all contexts that a command is about.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_JOB_LISTS_H_
#define CANOPY_CLIENT_CLI_COMMANDS_JOB_LISTS_H_

#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// The jobs of one context.
struct JobList {
  v1::Context context;
  control::v1::ListJobsReply jobs;
  // A line that names agents which do not answer, if a job waits for its start.
  std::string silent;
};

// Contexts whose agents do not answer are named on standard error.
struct JobLists {
  std::vector<JobList> lists;
  int exit_code = 0;
};

// `asked` is the value of --context.
Result<JobLists> ListAllJobs(const std::string& asked);

control::v1::ListJobsReply Merged(const JobLists& all);
// Returns the lines about agents that do not answer.
std::string SilentLines(const JobLists& all);

// Prints the errors, and returns the exit code.
int PrintSilent(const std::vector<Status>& silent);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_JOB_LISTS_H_
