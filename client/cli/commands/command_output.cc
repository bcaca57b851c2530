// output, attach: the output of a running job, and input for it.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/tool.h"
#include "client/cli/control/job_target.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxRank = 1 << 20;

struct OutputOptions {
  std::string ranks;  // as typed, but valid; empty: all
  bool follow = false;
  bool from_now = false;
  bool tag = false;
  bool timestamp = false;

  // Returns the flag letters for canopy-tool.
  std::string flags() const {
    return std::string(follow || from_now ? "f" : "") + (from_now ? "n" : "") +
           (tag ? "t" : "") + (timestamp ? "s" : "");
  }
};

Option::Apply SetRankText(std::string* to) {
  return [to](const TypedOption& typed) {
    std::vector<uint32_t> ranks;
    *to = typed.values[0];
    return SetRanks(&ranks)(typed);
  };
}

OptionTable Table(OutputOptions* to) {
  return {
      {"rank ranks", 1, "RANKS", "only of these, such as 0,2-5",
       SetRankText(&to->ranks)},
      {"from-now", 0, "", "without what was written before",
       SetFlag(&to->from_now)},
      {"tag-output l", 0, "", "put [job,rank]<stream> before every line",
       SetFlag(&to->tag)},
      {"timestamp-output", 0, "", "put the time before every line",
       SetFlag(&to->timestamp)},
  };
}

// Accepts a rank, "all" or "none".
Option::Apply SetReader(std::string* to) {
  return [to](const TypedOption& typed) {
    *to = typed.values[0];
    if (*to == "all" || *to == "none" || ParseNumber(*to, kMaxRank)) {
      return Status();
    }
    return WrongValue(typed, "a rank, all or none");
  };
}

}  // namespace

int OutputCommand(const CommandLine& line) {
  OutputOptions options;
  OptionTable table = Table(&options);
  table.push_back({"follow f", 0, "", "go on until the job is over",
                   SetFlag(&options.follow)});
  const CommandInfo info = {
      "output",
      "JOB [options]",
      "Prints what is kept of the output of a running job: its last MiB. Its\n"
      "launcher prints it all the same. JOB is a name of 'canopy ps' or its\n"
      "end, such as 1.\n",
      std::move(table),
      1,
      1};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const Result<JobTarget> job = FindJobTarget(shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  return ExecuteTool(job->overlay.context,
                     {"output", job->nspace, options.ranks, options.flags()});
}

int AttachCommand(const CommandLine& line) {
  OutputOptions options;
  std::string reader;
  std::string key = "ctrl-]";
  OptionTable table = Table(&options);
  table.push_back({"stdin", 1, "RANK",
                   "who gets our input: a rank, all or none (default: who "
                   "reads\nthe job's)",
                   SetReader(&reader)});
  table.push_back({"detach-key", 1, "KEY",
                   "what ends this and not the job (default: ctrl-])",
                   SetText(&key)});
  const CommandInfo info = {
      "attach",
      "JOB [options]",
      "Prints the output of a running job until that is over, and gives it "
      "our\n"
      "input, if it was started by 'canopy run --detach --stdin' or is to be\n"
      "given any. Ends with the job's exit code. JOB is a name of 'canopy ps'\n"
      "or its end, such as 1.\n",
      std::move(table),
      1,
      1};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  options.follow = true;
  const Result<JobTarget> job = FindJobTarget(shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  return ExecuteTool(
      job->overlay.context,
      {"attach", job->nspace, options.ranks, options.flags(), reader, key});
}

}  // namespace canopy::cli
