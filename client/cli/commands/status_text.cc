#include "client/cli/commands/status_text.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string_view>
#include <vector>

#include "client/cli/base/color.h"
#include "client/cli/base/table.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

constexpr int kMaxDepth = 64;

// Returns true if the node counts as up, but does not answer or is not linked.
// `lost_in_ms` is set only for neighbours of the answering agent that are not
// linked with it.
bool IsSilent(const v1c::NodeStatus& node) {
  return node.up() && (node.away() || node.has_lost_in_ms());
}

// Draws the nodes that are up as a tree, depth first.
class TreeTable {
 public:
  TreeTable(const v1c::StatusReply& status, bool utf8)
      : status_(status),
        utf8_(utf8),
        table_({"NODE", "ADDRESS", "SLOTS", "PROCS", "PID", "UP FOR"}) {
    for (int i = 0; i < status.nodes_size(); ++i) {
      if (status.nodes(i).up()) {
        children_[status.nodes(i).parent()].push_back(i);
      }
    }
  }

  std::string ToString() {
    for (const int root : children_[-1]) Add(root, "", "", 0);
    return table_.ToString();
  }

 private:
  void Add(int index, const std::string& lead, const std::string& branch,
           int depth) {
    const v1c::NodeStatus& node = status_.nodes(index);
    table_.Add({lead + branch + node.name(), node.address(),
                std::to_string(node.slots()), std::to_string(node.procs()),
                std::to_string(node.pid()),
                IsSilent(node) ? Warning("no answer")
                               : AgeText(node.uptime_seconds())});
    if (depth > kMaxDepth) return;
    const std::vector<int>& below = children_[node.node()];
    const std::string further =
        branch.empty() ? lead
                       : lead + (branch == Last() ? "   " : Bar() + "  ");
    for (size_t i = 0; i < below.size(); ++i) {
      Add(below[i], further, i + 1 == below.size() ? Last() : Middle(),
          depth + 1);
    }
  }
  std::string Bar() const { return utf8_ ? "\u2502" : "|"; }
  std::string Middle() const { return utf8_ ? "\u251c\u2500 " : "|- "; }
  std::string Last() const { return utf8_ ? "\u2514\u2500 " : "`- "; }

  const v1c::StatusReply& status_;
  const bool utf8_;
  Table table_;
  std::map<int64_t, std::vector<int>> children_;
};

std::string SchedulerText(const v1c::StatusReply& status) {
  if (status.scheduler().empty()) return "";
  if (status.scheduler_trouble().empty()) {
    return "scheduler: " + status.scheduler() + "\n";
  }
  return "scheduler: " + status.scheduler_trouble() +
         "; new jobs wait for it\n";
}

// Returns the number of jobs that `canopy ps` lists, and how many of them are
// queued.
std::string JobCount(const v1c::StatusReply& status) {
  std::string all = Count(status.jobs(), "job");
  if (status.queued() == 0) return all;
  return all + " (" + std::to_string(status.queued()) + " queued)";
}

// Returns the local time in the form of ISO 8601, or "-" if it is not known.
std::string DateText(uint64_t ms) {
  if (ms == 0) return "-";
  const auto seconds = static_cast<time_t>(ms / 1000);
  tm local = {};
  char text[32];
  localtime_r(&seconds, &local);
  const size_t length =
      std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
  return std::string(text, length);
}

}  // namespace

std::string Shortened(std::string text, size_t limit) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (text.size() > limit) text = text.substr(0, limit - 3) + "...";
  return text;
}

std::string UserName(uint32_t uid) {
  const passwd* const user = getpwuid(uid);
  return user != nullptr ? user->pw_name : std::to_string(uid);
}

const char* NodeState(const v1c::NodeStatus& node) {
  if (!node.up()) return node.joining() ? "joining" : "lost";
  return node.away() ? "no answer" : "up";
}

const char* NodeServiceState(const v1c::NodeStatus& node) {
  const bool serves = node.up() && !node.away();
  return serves && !node.drained().empty() ? "drained" : NodeState(node);
}

// Returns the reason of the node's state. A drained node is kept by the jobs
// that its agent controls, wherever their processes run.
std::string ReasonOf(const v1c::NodeStatus& node) {
  std::string reason = node.up() ? node.drained() : node.reason();
  if (reason.empty()) return "-";
  if (!node.up() || node.num_controlled() == 0) return reason;
  reason += "; controls";
  for (const std::string& job : node.controls()) reason += " " + job;
  const auto more =
      node.num_controlled() - static_cast<uint32_t>(node.controls_size());
  return more == 0 ? reason : reason + " and " + std::to_string(more) + " more";
}

std::string NodesText(const v1c::StatusReply& status) {
  Table table({"NODE", "STATE", "SINCE", "SLOTS", "PROCS", "REASON"});
  for (const v1c::NodeStatus& node : status.nodes()) {
    table.Add({node.name(), NodeServiceState(node), DateText(node.decided_ms()),
               std::to_string(node.slots()), std::to_string(node.procs()),
               ReasonOf(node)});
  }
  return table.ToString();
}

std::string StatusText(const std::string& context,
                       const v1c::StatusReply& status, bool utf8) {
  uint64_t up = 0;
  uint64_t away = 0;
  uint64_t slots = 0;
  std::string lost;
  for (const v1c::NodeStatus& node : status.nodes()) {
    if (node.up()) {
      ++(IsSilent(node) ? away : up);
      slots += node.slots();
      if (!node.drained().empty()) {
        lost += "drained: " + node.name() + " (" + node.drained() + ")\n";
      }
      continue;
    }
    lost += Bad(NodeState(node)) + ": " + node.name();
    if (!node.reason().empty()) lost += " (" + node.reason() + ")";
    lost += "\n";
  }
  const auto total = static_cast<uint64_t>(status.nodes_size());
  std::string head = "context " + context + ": " + Count(up, "node") + " up";
  if (away > 0) head += ", " + std::to_string(away) + " without an answer";
  if (up + away < total) {
    head += ", " + std::to_string(total - up - away) + " lost";
  }
  head += ", " + Count(slots, "slot") + ", " + JobCount(status) + ", radix " +
          std::to_string(status.radix()) + ", version " + status.version() +
          "\n";
  return head + TreeTable(status, utf8).ToString() + SilentText(status) +
         SchedulerText(status) + lost;
}

std::string QueuedLine(const v1c::JobStatus& job) {
  std::string line =
      "queued: " + job.nspace() + " for " + AgeText(job.age_seconds());
  if (job.position() != 0) line += ", place " + std::to_string(job.position());
  return line + ": " + job.reason() + "\n";
}

std::string UsersText(const v1c::ListJobsReply& jobs) {
  Table table({"USER", "JOBS", "MAX-JOBS", "PROCS", "MAX-PROCS"});
  for (const v1c::UserUse& use : jobs.users()) {
    table.Add({UserName(use.uid()), std::to_string(use.jobs()),
               std::to_string(use.max_jobs()), std::to_string(use.procs()),
               std::to_string(use.max_procs())});
  }
  return table.ToString();
}

// The columns NAME, PARENT and KIND appear only if a job has a name, was
// spawned or is a tool.
std::string JobsText(const v1c::ListJobsReply& jobs, bool contexts,
                     size_t max_command) {
  if (jobs.jobs_size() == 0) return "no jobs\n";
  const bool spawned = std::ranges::any_of(
      jobs.jobs(), [](const auto& job) { return !job.parent().empty(); });
  const bool tools = std::ranges::any_of(jobs.jobs(), &v1c::JobStatus::tool);
  const bool named = std::ranges::any_of(
      jobs.jobs(), [](const auto& job) { return !job.name().empty(); });
  std::vector<std::string> head = {"JOB"};
  if (named) head.push_back("NAME");
  if (contexts) head.push_back("CONTEXT");
  if (spawned) head.push_back("PARENT");
  if (tools) head.push_back("KIND");
  for (const char* title :
       {"PHASE", "PROCS", "ENDED", "NODES", "AGE", "USER", "COMMAND"}) {
    head.push_back(title);
  }
  Table table(std::move(head));
  for (const v1c::JobStatus& job : jobs.jobs()) {
    std::vector<std::string> row = {job.nspace()};
    if (named) row.push_back(job.name().empty() ? "-" : job.name());
    if (contexts) row.push_back(job.context());
    if (spawned) row.push_back(job.parent().empty() ? "-" : job.parent());
    if (tools) row.push_back(job.tool() ? "tool" : "job");
    for (std::string& cell : std::vector<std::string>{
             job.phase(), std::to_string(job.num_procs()),
             std::to_string(job.procs_ended()), std::to_string(job.num_nodes()),
             AgeText(job.age_seconds()), UserName(job.uid()),
             Shortened(job.command(), max_command)}) {
      row.push_back(std::move(cell));
    }
    table.Add(std::move(row));
  }
  std::string queued;
  for (const v1c::JobStatus& job : jobs.jobs()) {
    if (job.phase() == "queued") queued += QueuedLine(job);
  }
  return table.ToString() + queued;
}

namespace {

std::string SilentNames(const v1c::StatusReply& status) {
  std::string names;
  for (const v1c::NodeStatus& node : status.nodes()) {
    if (!IsSilent(node)) continue;
    names += (names.empty() ? "" : ", ") + node.name();
    if (node.has_lost_in_ms()) {
      names += " (lost in " + AgeText((node.lost_in_ms() + 999) / 1000) + ")";
    }
  }
  return names;
}

}  // namespace

std::string SilentText(const v1c::StatusReply& status) {
  const std::string names = SilentNames(status);
  if (names.empty()) return "";
  return Warning("no answer") + ": " + names +
         "; jobs that need it wait. If the agent has ended, 'canopy up "
         "--replace' "
         "starts another one\n";
}

size_t CommandRoom() {
  return isatty(STDOUT_FILENO) == 1 ? kCommandOnTerminal : SIZE_MAX;
}

bool ShowsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != std::string_view::npos ||
           locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace canopy::cli
