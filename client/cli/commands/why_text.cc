#include "client/cli/commands/why_text.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "client/cli/base/table.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/status_text.h"
#include "client/stacks/stack_tree.h"
#include "common/placement_text.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

std::string SecondsText(uint64_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ms) / 1000);
  return text;
}

std::string QueuedText(const v1c::Waiting& waiting) {
  std::string text = waiting.nspace() + " has been queued for " +
                     SecondsText(waiting.age_ms());
  for (std::string_view reason : waiting.missing()) {
    if (reason.starts_with(kPlacementPrefix)) {
      reason.remove_prefix(std::string_view(kPlacementPrefix).size());
    }
    if (!reason.empty()) text += ": " + std::string(reason);
  }
  return text + "\n";
}

std::string HeldText(const v1c::Waiting& waiting) {
  return waiting.nspace() + ": " + waiting.operation() + " for " +
         SecondsText(waiting.age_ms()) +
         "; 'canopy event PMIX_DEBUGGER_RELEASE --job " + waiting.nspace() +
         "' releases:\n";
}

std::string WaitingText(const v1c::Waiting& waiting) {
  if (waiting.operation() == kPlacementOperation) return QueuedText(waiting);
  std::string text;
  if (waiting.held()) {
    text = HeldText(waiting);
  } else {
    text = waiting.nspace() + ": " + waiting.operation() + " has waited " +
           SecondsText(waiting.age_ms()) +
           (waiting.missing_size() > 0 ? " for:\n" : "\n");
  }
  for (const std::string& missing : waiting.missing()) {
    text += "  " + missing + "\n";
  }
  return text;
}

uint32_t RunningOf(const v1c::JobStatus& job) {
  if (job.phase() != "running") return 0;
  return job.num_procs() - std::min(job.num_procs(), job.procs_ended());
}

std::string StoppedText(const std::string& job, const std::set<uint32_t>& ranks,
                        uint32_t running) {
  const bool all = ranks.size() >= running;
  return job + ": " +
         (all ? "all processes are stopped"
              : (ranks.size() == 1 ? "rank " : "ranks ") +
                    tools::RanksText(ranks) +
                    (ranks.size() == 1 ? " is" : " are") + " stopped") +
         "; 'canopy signal " + job + " CONT' lets " +
         (ranks.size() == 1 ? "it" : "them") + " continue\n";
}

std::string BusyText(const v1c::JobStatus& job) {
  const uint32_t running = RunningOf(job);
  return job.nspace() + ": " + Count(running, "process") +
         (running == 1 ? " runs" : " run") +
         "; in case of a hang, 'canopy stack " + job.nspace() +
         "' shows where\n";
}

}  // namespace

std::set<std::string> BusyJobs(const WhyAnswer& answer) {
  std::set<std::string> jobs;
  for (const v1c::JobStatus& job : answer.jobs.jobs()) {
    if (RunningOf(job) > 0) jobs.insert(job.nspace());
  }
  for (const v1c::Waiting& waiting : answer.why.waiting()) {
    jobs.erase(waiting.nspace());
  }
  return jobs;
}

std::string WhyText(std::span<const WhyAnswer> answers) {
  std::string waiting;
  std::string rest;
  for (const WhyAnswer& answer : answers) {
    for (const v1c::Waiting& one : answer.why.waiting()) {
      waiting += WaitingText(one);
    }
    const std::set<std::string> busy = BusyJobs(answer);
    for (const v1c::JobStatus& job : answer.jobs.jobs()) {
      const auto stopped = answer.stopped.find(job.nspace());
      if (stopped != answer.stopped.end()) {
        rest += StoppedText(job.nspace(), stopped->second, RunningOf(job));
      } else if (job.phase() == "suspended") {
        rest += job.nspace() + ": suspended by its scheduler\n";
      } else if (busy.contains(job.nspace())) {
        rest += BusyText(job);
      }
    }
    rest += SilentText(answer.status);
  }
  return (waiting.empty() ? "no PMIx operation waits\n" : waiting) + rest;
}

Json WhyDocument(std::span<const WhyAnswer> answers) {
  Json out;
  out["waiting"] = Json::array();
  out["running"] = Json::array();
  out["no_answer"] = Json::array();
  for (const WhyAnswer& answer : answers) {
    for (Json& one : WaitingJson(answer.why)) {
      out["waiting"].push_back(std::move(one));
    }
    for (const v1c::JobStatus& job : answer.jobs.jobs()) {
      if (RunningOf(job) == 0) continue;
      Json one;
      one["job"] = job.nspace();
      one["processes"] = RunningOf(job);
      one["stopped"] = Json::array();
      const auto stopped = answer.stopped.find(job.nspace());
      if (stopped != answer.stopped.end()) one["stopped"] = stopped->second;
      out["running"].push_back(std::move(one));
    }
    for (const v1c::NodeStatus& node : answer.status.nodes()) {
      if (node.up() && node.away()) out["no_answer"].push_back(node.name());
    }
  }
  return out;
}

}  // namespace canopy::cli
