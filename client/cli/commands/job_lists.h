// The jobs of all contexts to which a command applies.
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
  // A line that names agents that do not answer, if a job waits for its start;
  // otherwise empty.
  std::string silent;
};

// The jobs of all contexts whose agents answer. `exit_code` is not 0 if a
// context did not answer.
struct JobLists {
  std::vector<JobList> lists;
  int exit_code = 0;
};

// Lists the jobs of the contexts of FindContexts; `asked` is the value of
// --context. Prints on standard error the contexts whose agents do not answer.
// Fails like FindContexts.
Result<JobLists> ListAllJobs(const std::string& asked);

// Returns the jobs of all lists in one message.
control::v1::ListJobsReply Merged(const JobLists& all);
// Returns the lines about agents that do not answer, for all contexts.
std::string SilentLines(const JobLists& all);

// Prints the errors and returns the exit code; 0 if there are none.
int PrintSilent(const std::vector<Status>& silent);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_JOB_LISTS_H_
