#include "client/cli/commands/documents.h"

#include <cstdint>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/commands/waiting_ranks.h"
#include "client/cli/run/run_documents.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

// Returns the name of the node with this number, or null.
Json NameOf(const control::v1::StatusReply& status, int64_t number) {
  for (const auto& node : status.nodes()) {
    if (node.node() == number) return node.name();
  }
  return nullptr;
}

Json NodeJson(const control::v1::StatusReply& status,
              const control::v1::NodeStatus& node) {
  Json out;
  out["node"] = node.name();
  out["number"] = node.node();
  out["address"] = node.address();
  out["state"] = NodeState(node);
  out["parent"] = NameOf(status, node.parent());
  out["slots"] = node.slots();
  out["processes"] = node.procs();
  out["pid"] = node.pid();
  out["uptime_seconds"] = node.uptime_seconds();
  out["version"] = node.version();
  out["reason"] = TextOrNull(node.reason());
  out["lost_in_ms"] = node.has_lost_in_ms() ? Json(node.lost_in_ms()) : Json();
  out["drained"] = TextOrNull(node.drained());
  return out;
}

Json SchedulerJson(const control::v1::StatusReply& status) {
  if (status.scheduler().empty()) return nullptr;
  Json out;
  out["address"] = status.scheduler();
  out["answers"] = status.scheduler_trouble().empty();
  out["trouble"] = TextOrNull(status.scheduler_trouble());
  return out;
}

// Returns the time, or null if it is not known.
Json TimeJson(int64_t ms) { return ms == 0 ? Json() : Json(ms); }

}  // namespace

int PrintDocument(const Json& document, int exit_code) {
  return PrintText(DocumentText(document), exit_code);
}

Json ContextDocument(const v1::Context& context) {
  Json out;
  out["context"] = context.name();
  uint64_t slots = 0;
  Json nodes = Json::array();
  for (const auto& member : context.members()) {
    Json node;
    node["node"] = member.name();
    node["address"] = member.address();
    node["slots"] = member.slots();
    node["pid"] = member.pid();
    node["version"] = member.version();
    node["directory"] = member.runtime_dir();
    slots += member.slots();
    nodes.push_back(std::move(node));
  }
  out["slots"] = slots;
  out["nodes"] = std::move(nodes);
  return out;
}

Json StatusDocument(const std::string& context,
                    const control::v1::StatusReply& status) {
  Json out;
  out["context"] = context;
  out["version"] = status.version();
  out["radix"] = status.radix();
  out["jobs"] = status.jobs();
  out["jobs_queued"] = status.queued();
  out["limits"]["jobs_per_user"] = status.max_jobs_per_user();
  out["limits"]["processes_per_user"] = status.max_procs_per_user();
  out["slow_turns"] = status.slow_turns();
  out["scheduler"] = SchedulerJson(status);
  out["nodes"] = Json::array();
  for (const auto& node : status.nodes()) {
    out["nodes"].push_back(NodeJson(status, node));
  }
  return out;
}

Json NodesDocument(const std::string& context,
                   const control::v1::StatusReply& status) {
  Json out;
  out["context"] = context;
  out["nodes"] = Json::array();
  for (const auto& node : status.nodes()) {
    Json one;
    one["node"] = node.name();
    one["number"] = node.node();
    one["state"] = NodeServiceState(node);
    one["decided_ms"] = TimeJson(static_cast<int64_t>(node.decided_ms()));
    one["reason"] = TextOrNull(node.up() ? node.drained() : node.reason());
    one["slots"] = node.slots();
    one["processes"] = node.procs();
    one["leader"] = node.leader();
    one["controlled_jobs"] = node.num_controlled();
    out["nodes"].push_back(std::move(one));
  }
  return out;
}

Json UserUseJson(const std::string& context, const control::v1::UserUse& use) {
  Json out;
  out["user"] = UserName(use.uid());
  out["context"] = context;
  out["jobs"] = use.jobs();
  out["jobs_limit"] = use.max_jobs();
  out["processes"] = use.procs();
  out["processes_limit"] = use.max_procs();
  return out;
}

Json JobJson(const control::v1::JobStatus& job) {
  Json out;
  out["job"] = job.nspace();
  out["name"] = TextOrNull(job.name());
  out["context"] = job.context();
  out["phase"] = job.phase();
  out["command"] = job.command();
  out["processes"] = job.num_procs();
  out["ended_processes"] = job.procs_ended();
  out["user"] = UserName(job.uid());
  out["age_seconds"] = job.age_seconds();
  out["parent"] = TextOrNull(job.parent());
  out["tool"] = job.tool();
  out["reason"] = TextOrNull(job.reason());
  out["position"] = job.position() == 0 ? Json() : Json(job.position());
  out["nodes"] = MapNodesJson(job.nodes());
  return out;
}

Json JobsJson(const control::v1::ListJobsReply& jobs) {
  Json out = Json::array();
  for (const auto& job : jobs.jobs()) out.push_back(JobJson(job));
  return out;
}

Json EndedJson(const HistoryEntry& entry) {
  Json out;
  out["job"] = entry.job;
  out["name"] = TextOrNull(entry.name);
  out["parent"] = TextOrNull(entry.parent);
  out["context"] = entry.context;
  out["command"] = entry.command;
  out["processes"] = entry.num_procs;
  out["nodes"] = Json::array();
  for (const std::string& node : Split(entry.nodes, ',')) {
    if (!node.empty()) out["nodes"].push_back(node);
  }
  out["requested_ms"] = entry.requested_ms;
  out["started_ms"] = TimeJson(entry.started_ms);
  out["ended_ms"] = TimeJson(entry.ended_ms);
  out["lost"] = entry.lost();
  out["exit_code"] = entry.ended_ms == 0 ? Json() : Json(entry.exit_code);
  out["reason"] = TextOrNull(entry.reason);
  out["output"] = TextOrNull(entry.output);
  return out;
}

Json EndedJobsJson(std::span<const HistoryEntry> entries) {
  Json out = Json::array();
  for (const HistoryEntry& entry : entries) {
    if (entry.ended_ms != 0 || entry.lost()) out.push_back(EndedJson(entry));
  }
  return out;
}

Json WaitingJson(const control::v1::WhyReply& why) {
  Json out = Json::array();
  for (const auto& waiting : why.waiting()) {
    Json one;
    one["job"] = waiting.nspace();
    one["operation"] = waiting.operation();
    one["age_ms"] = waiting.age_ms();
    one["held"] = waiting.held();
    one["missing"] = Json::array();
    one["others"] = Json::array();
    for (const std::string& text : waiting.missing()) {
      const auto rank = ReadWaitingRank(waiting.nspace(), text);
      if (!rank) {
        one["others"].push_back(text);
        continue;
      }
      Json missing;
      missing["job"] = rank->job;
      missing["rank"] = rank->rank;
      missing["node"] = TextOrNull(rank->node);
      one["missing"].push_back(std::move(missing));
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace canopy::cli
