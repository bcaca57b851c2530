#include "server/process/rank_reports.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

namespace canopy::process {
namespace {

constexpr size_t kErrorsInText = 3;

std::string Summarize(const std::vector<StartError>& errors) {
  std::string text;
  for (size_t i = 0; i < errors.size() && i < kErrorsInText; ++i) {
    if (i > 0) text += "; ";
    text += "rank " + std::to_string(errors[i].rank) + ": " + errors[i].text;
  }
  if (errors.size() > kErrorsInText) {
    text += "; and " + std::to_string(errors.size() - kErrorsInText) + " more";
  }
  return text;
}

core::ProcExit ExitOf(Rank rank, int wait_status, uint32_t incarnation) {
  core::ProcExit exit;
  exit.rank = rank;
  exit.wait_status = wait_status;
  exit.incarnation = incarnation;
  return exit;
}

}  // namespace

void RankReports::Begin(const std::string& nspace, bool merge_stderr,
                        Unreported ranks) {
  nspace_ = nspace;
  merge_stderr_ = merge_stderr;
  unreported_ = std::move(ranks);
}

void RankReports::NoteProcesses(const Started& m) {
  for (const StartedRank& rank : m.ranks) {
    const auto it = unreported_.find(rank.rank);
    if (it != unreported_.end()) it->second.pid = rank.pid;
  }
  ReportProcesses(m.ranks);
}

void RankReports::Distrust() {
  distrusts_ = true;
  for (const auto& [rank, process] : unreported_) own_.insert(rank);
}

bool RankReports::MayReport(Started* m) const {
  if (!distrusts_) return true;
  for (StartedRank& rank : m->ranks) {
    if (!own_.contains(rank.rank)) return false;
    rank.pid = 0;
  }
  return true;
}

void RankReports::ReportStarting() {
  core::LocalProcesses starting{nspace_, {}};
  for (const auto& [rank, process] : unreported_) {
    starting.processes.push_back({rank, 0});
  }
  context_->sink->OnInput(std::move(starting));
}

bool RankReports::ReportStarted(Started m) {
  if (!MayReport(&m)) return false;
  NoteProcesses(m);
  core::LocalStarted started;
  started.nspace = nspace_;
  started.procs = static_cast<uint32_t>(m.ranks.size());
  if (!m.errors.empty()) {
    started.status = m.errors[0].status;
    started.text = Summarize(m.errors);
  }
  context_->sink->OnInput(std::move(started));
  return true;
}

void RankReports::ReportStart(int status, const std::string& text) {
  context_->sink->OnInput(core::LocalStarted{nspace_, 0, status, text});
}

void RankReports::Await(Rank rank, uint32_t incarnation) {
  unreported_[rank] = {0, incarnation};
  // The new process may connect before its pid is known. The pid 0 replaces the
  // pid of the rank's former process.
  ReportProcesses({{rank, 0}});
}

// An error of a process that could not be started is not reported, because its
// exit follows.
bool RankReports::ReportRestarted(Started m) {
  if (!MayReport(&m)) return false;
  NoteProcesses(m);
  return true;
}

void RankReports::ReportNoProcess(Rank rank) {
  const auto process = unreported_.extract(rank);
  if (process.empty()) return;
  context_->sink->OnInput(
      core::LocalExits{nspace_,
                       {ExitOf(rank, SIGKILL, process.mapped().incarnation)},
                       /*final=*/true});
}

void RankReports::ReportProcesses(const std::vector<StartedRank>& ranks) {
  if (ranks.empty()) return;
  core::LocalProcesses started{nspace_, {}};
  for (const StartedRank& rank : ranks) {
    started.processes.push_back({rank.rank, rank.pid});
    for (ProcessEnvironment* environment : context_->environments) {
      environment->OnProcess(nspace_, rank.rank, rank.pid);
    }
  }
  context_->sink->OnInput(std::move(started));
}

bool RankReports::ReportOutput(std::string_view payload) {
  core::LocalOutput output;
  std::string_view data;
  if (!DecodeOutput(payload, &output.rank, &output.channel, &data)) {
    return false;
  }
  if (distrusts_ && (!own_.contains(output.rank) || !data.empty())) {
    return false;
  }
  output.nspace = nspace_;
  if (!data.empty()) output.data = Bytes(std::string(data));
  output.end = output_end_ += data.size();
  context_->sink->OnInput(std::move(output));
  return true;
}

bool RankReports::ReportExits(std::string_view payload) {
  std::vector<ExitedRank> ranks;
  if (!Decode(payload, &ranks)) return false;
  core::LocalExits exits;
  exits.nspace = nspace_;
  for (const ExitedRank& rank : ranks) {
    const auto process = unreported_.find(rank.rank);
    // A report for another incarnation repeats the exit of an earlier process.
    if (process == unreported_.end() ||
        process->second.incarnation != rank.incarnation) {
      continue;
    }
    unreported_.erase(process);
    core::ProcExit exit = ExitOf(rank.rank, rank.wait_status, rank.incarnation);
    exit.core_dumped =
        WIFSIGNALED(rank.wait_status) && WCOREDUMP(rank.wait_status);
    if (rank.used) exit.used = {rank.used->cpu_us, rank.used->peak_bytes};
    exits.exits.push_back(exit);
  }
  if (!exits.exits.empty()) context_->sink->OnInput(std::move(exits));
  return true;
}

void RankReports::ReportLoss(const std::vector<Rank>& local_ranks) {
  for (const Rank rank : local_ranks) {
    for (const uint16_t channel : {kChannelStdout, kChannelStderr}) {
      if (channel == kChannelStderr && merge_stderr_) continue;
      context_->sink->OnInput(
          core::LocalOutput{nspace_, rank, channel, Bytes()});
    }
  }
  core::LocalExits exits;
  exits.nspace = nspace_;
  exits.final = true;
  for (const auto& [rank, process] : std::exchange(unreported_, {})) {
    exits.exits.push_back(ExitOf(rank, SIGKILL, process.incarnation));
  }
  std::sort(exits.exits.begin(), exits.exits.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  if (!exits.exits.empty()) context_->sink->OnInput(std::move(exits));
}

std::unordered_set<int> RankReports::Groups() const {
  std::unordered_set<int> groups;
  for (const auto& [rank, process] : unreported_) {
    if (process.pid > 1) groups.insert(process.pid);
  }
  return groups;
}

}  // namespace canopy::process
