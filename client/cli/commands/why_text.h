// The report of `canopy why`: the operations that wait, and for jobs without a
// waiting operation, what the reader should look at next.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_WHY_TEXT_H_
#define CANOPY_CLIENT_CLI_COMMANDS_WHY_TEXT_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "client/cli/base/json.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// The state of one context.
struct WhyAnswer {
  std::string context;
  control::v1::WhyReply why;
  control::v1::ListJobsReply jobs;
  control::v1::StatusReply status;  // with ask_all
  // The ranks that a signal has stopped, by job.
  std::map<std::string, std::set<uint32_t>> stopped;
};

std::string WhyText(std::span<const WhyAnswer> answers);
Json WhyDocument(std::span<const WhyAnswer> answers);

// Returns the jobs with running processes in which no operation waits.
std::set<std::string> BusyJobs(const WhyAnswer& answer);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_WHY_TEXT_H_
