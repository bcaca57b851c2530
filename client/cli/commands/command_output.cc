// output, attach: show the output of a running job, and send input to it.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/json.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/known_job.h"
#include "client/cli/commands/tool.h"
#include "client/cli/control/job_target.h"
#include "client/cli/history/history_store.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "common/posix/unique_fd.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxRank = 1 << 20;

struct OutputOptions {
  std::string ranks;  // as typed, checked; empty: all
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
      {"rank ranks", 1, "RANKS", "print only these ranks, such as 0,2-5",
       SetRankText(&to->ranks)},
      {"from-now", 0, "", "skip what was written earlier",
       SetFlag(&to->from_now)},
      {"tag-output l", 0, "", "prefix every line with [job,rank]<stream>",
       SetFlag(&to->tag)},
      {"timestamp-output", 0, "", "prefix every line with the time",
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

int PrintFile(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char piece[65536];
  ssize_t size = file ? 0 : -1;
  while (file && (size = read(file.get(), piece, sizeof piece)) > 0) {
    const std::string_view data(piece, static_cast<size_t>(size));
    if (PrintText(data) != 0) return kExitFailure;
  }
  if (size == 0) return 0;
  return Fail(Status(kErrNotFound, "cannot read the output, " + path + ": " +
                                       strerror(errno)));
}

// Prints the output of a job that has ended. If each rank has its own file, the
// recorded path has %r in place of the rank.
int PrintEnded(const HistoryEntry& job, const std::string& ranks, bool json) {
  if (job.output.empty()) {
    return Fail(Status(kErrNotFound,
                       EndText(job) +
                           "; its output went to its launcher, which keeps it "
                           "in a file only with --detach or --output file="));
  }
  if (json) {
    Json out;
    out["job"] = job.job;
    out["file"] = job.output;
    return PrintText(LineText(out));
  }
  if (job.output.find("%r") != std::string::npos) {
    return Fail(Status(kErrNotFound, "the output of job " + job.job +
                                         " is in the files " + job.output +
                                         ", where %r is the rank"));
  }
  if (ranks.empty()) return PrintFile(job.output);
  return Fail(Status(kErrNotSupported, "job " + job.job + " has ended, and " +
                                           job.output +
                                           " has the output of all ranks"));
}

}  // namespace

int OutputCommand(const CommandLine& line) {
  OutputOptions options;
  OptionTable table = Table(&options);
  table.push_back({"follow f", 0, "", "continue until the job has ended",
                   SetFlag(&options.follow)});
  const CommandInfo info = {
      "output",
      "JOB [options]",
      "Prints the retained output of a running job: its last MiB. The\n"
      "launcher of the job prints it as well. For a job that has ended,\n"
      "prints the file of its output (see 'canopy run --detach'). With -o\n"
      "json, each line of output is a document on one line; for a job that\n"
      "has ended, there is only one, which names the file.\n",
      std::move(table),
      1,
      1,
      /*prints_json=*/true,
      JobWord::kKnown};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const Result<KnownJob> job =
      FindKnownJob(HistoryStore(), shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  if (job->over()) {
    return PrintEnded(*job->entry, options.ranks, shared.json);
  }
  return ExecuteTool(
      job->target->overlay.context,
      {"output", job->target->nspace, options.ranks, options.flags()},
      shared.json);
}

int AttachCommand(const CommandLine& line) {
  OutputOptions options;
  std::string reader;
  std::string key = "ctrl-]";
  OptionTable table = Table(&options);
  table.push_back({"stdin", 1, "RANK",
                   "rank that receives standard input, or all or none\n"
                   "(default: the reader of the job's input)",
                   SetReader(&reader)});
  table.push_back({"detach-key", 1, "KEY",
                   "key that leaves the job without ending it\n"
                   "(default: ctrl-])",
                   SetText(&key)});
  const CommandInfo info = {
      "attach",
      "JOB [options]",
      "Prints the output of a running job until the job ends, and sends it\n"
      "standard input, if it was started by 'canopy run --detach --stdin' or\n"
      "spawned to receive input. Exits with the exit code of the job.\n",
      std::move(table),
      1,
      1,
      /*prints_json=*/false,
      JobWord::kRunning};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  options.follow = true;
  const Result<JobTarget> job = FindJobTarget(shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  return ExecuteTool(
      job->overlay.context,
      {"attach", job->nspace, options.ranks, options.flags(), reader, key},
      /*json=*/false);
}

}  // namespace canopy::cli
