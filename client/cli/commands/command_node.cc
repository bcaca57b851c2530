// node: lists, adds, drains, resumes and removes the nodes of an overlay.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/json.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/node_addition.h"
#include "client/cli/commands/node_removal.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/control/job_target.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "common/hosts.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;
using Decision = v1c::DecideNodesRequest;

constexpr uint32_t kMaxNodeSeconds = 24 * 3600;

constexpr char kAbout[] =
    "Shows or changes the nodes of an overlay while jobs run.\n"
    "\n"
    "  list           show each node, its state, and since when and why\n"
    "  add NODES      start an agent on each of these hosts and let it join\n"
    "  drain NODES    let the nodes get no new jobs; running jobs continue\n"
    "  resume NODES   let the nodes get jobs again\n"
    "  remove NODES   end the agents of the nodes, which are members no more\n"
    "\n"
    "NODES are names as in --hosts: n1,n[05-08]. Each change can be "
    "repeated.\n";

struct NodeOptions {
  NodeAdditionOptions add;
  std::string reason;
  bool now = false;
  bool force = false;
  uint32_t grace_seconds = 0;
};

OptionTable NodeOptionTable(NodeOptions* to) {
  return {
      {"launch-agent", 1, "COMMAND",
       "add: the command that reaches a host, as for\n"
       "'canopy up' (default: that of the overlay)",
       SetText(&to->add.launch_agent)},
      {"listen", 1, "HOST",
       "add: where the new agents listen (default: like\n"
       "the agents that are up)",
       SetText(&to->add.listen)},
      {"timeout", 1, "SECONDS",
       "add: time limit for the start of the agents (60)",
       SetNumber(&to->add.timeout_seconds, 1, kMaxNodeSeconds)},
      {"reason", 1, "TEXT", "drain: the reason, which 'list' shows",
       SetText(&to->reason)},
      {"now", 0, "", "drain: also end the jobs on the nodes",
       SetFlag(&to->now)},
      {"grace", 1, "SECONDS",
       "drain --now: notify the jobs by an event, and end\n"
       "them after this time",
       SetNumber(&to->grace_seconds, 1, kMaxNodeSeconds)},
      {"force f", 0, "", "remove: also nodes that are used by jobs",
       SetFlag(&to->force)},
      {"quiet q", 0, "", "print nothing on success", SetFlag(&to->add.quiet)}};
}

int ListNodes(OverlayTarget* overlay, bool json) {
  const auto status = overlay->root.client.GetStatus(/*ask_all=*/true);
  if (!status.ok()) return Fail(status.status());
  const std::string& name = overlay->context.name();
  return json ? PrintDocument(NodesDocument(name, *status))
              : PrintText(NodesText(*status));
}

int AddHosts(OverlayTarget* overlay, const NodeOptions& options, bool json) {
  Result<NodeAddition> done = AddNodes(overlay, options.add);
  if (!done.ok()) return Fail(done.status());
  const std::string& context = overlay->context.name();
  if (json) {
    Json out;
    out["context"] = context;
    out["added"] = done->added;
    out["were_up"] = done->was_up;
    return PrintDocument(out);
  }
  if (options.add.quiet) return 0;
  std::string text;
  if (!done->added.empty()) text = "added " + Join(done->added, ", ") + "\n";
  if (!done->was_up.empty()) {
    text +=
        Join(done->was_up, ", ") +
        (done->was_up.size() == 1 ? " was up before\n" : " were up before\n");
  }
  return PrintText(text);
}

struct NodeVerb {
  std::string_view name;
  Decision::Decision decision;
  std::string_view done;
};
constexpr NodeVerb kVerbs[] = {
    {"drain", Decision::DECISION_DRAIN, "drained"},
    {"resume", Decision::DECISION_RESUME, "resumed"},
};

std::vector<std::string> NamesOf(const NodeOptions& options) {
  std::vector<std::string> names;
  for (const Host& host : options.add.hosts) names.push_back(host.name);
  return names;
}

int PrintDecision(const OverlayTarget& overlay, std::string_view done,
                  const std::vector<std::string>& ended,
                  const NodeOptions& options, bool json) {
  const std::vector<std::string> names = NamesOf(options);
  if (json) {
    Json out;
    out["context"] = overlay.context.name();
    out[std::string(done)] = names;
    out["ended_jobs"] = ended;
    return PrintDocument(out);
  }
  if (options.add.quiet) return 0;
  std::string text = std::string(done) + " " + Join(names, ", ") + "\n";
  if (!ended.empty()) text += "ending " + Join(ended, ", ") + "\n";
  return PrintText(text);
}

int RemoveHosts(OverlayTarget* overlay, const NodeOptions& options, bool json) {
  const Status status = RemoveNodes(overlay, NamesOf(options), options.force);
  if (!status.ok()) return Fail(status);
  return PrintDecision(*overlay, "removed", {}, options, json);
}

int DecideNodes(OverlayTarget* overlay, const NodeVerb& verb,
                const NodeOptions& options, bool json) {
  Decision request;
  request.set_decision(verb.decision);
  request.set_reason(options.reason);
  request.set_force(options.now);
  request.set_grace_seconds(options.grace_seconds);
  const std::vector<std::string> names = NamesOf(options);
  request.mutable_nodes()->Add(names.begin(), names.end());
  const auto reply = overlay->root.client.DecideNodes(request);
  if (!reply.ok()) return Fail(reply.status());
  const std::vector<std::string> ended(reply->ended_jobs().begin(),
                                       reply->ended_jobs().end());
  return PrintDecision(*overlay, verb.done, ended, options, json);
}

Status CheckNodeOptions(const std::string& verb, const NodeOptions& options) {
  const auto only = [&](const char* owner, bool given, const char* option) {
    if (!given || verb == owner) return Status();
    return Status(kErrBadParam, std::string(option) +
                                    " goes with 'canopy node " + owner + "'");
  };
  for (const Status& status :
       {only("add", !options.add.launch_agent.empty(), "--launch-agent"),
        only("add", !options.add.listen.empty(), "--listen"),
        only("drain", !options.reason.empty(), "--reason"),
        only("drain", options.now, "--now"),
        only("drain", options.grace_seconds != 0, "--grace"),
        only("remove", options.force, "--force")}) {
    if (!status.ok()) return status;
  }
  if (options.grace_seconds != 0 && !options.now) {
    return Status(kErrBadParam, "--grace goes together with --now");
  }
  return Status();
}

// Reads the names of the nodes. Only `list` has none.
Status TakeNodes(std::span<const std::string> words, NodeOptions* options) {
  if (words[0] == "list") {
    return words.size() == 1
               ? Status()
               : Status(kErrBadParam,
                        "'list' shows all nodes; leave out '" + words[1] + "'");
  }
  if (words.size() == 1) {
    return Status(kErrBadParam, "'" + words[0] + "' needs the names of nodes");
  }
  for (const std::string& word : words.subspan(1)) {
    Result<std::vector<Host>> hosts = ParseHostList(word);
    if (!hosts.ok()) return hosts.status();
    for (Host& host : *hosts) options->add.hosts.push_back(std::move(host));
  }
  return Status();
}

int ExecuteNode(const std::string& verb, const NodeOptions& options,
                const SharedOptions& shared) {
  Result<OverlayTarget> overlay = FindOverlay(shared.context);
  if (!overlay.ok()) return Fail(overlay.status());
  if (verb == "list") return ListNodes(&*overlay, shared.json);
  if (verb == "add") return AddHosts(&*overlay, options, shared.json);
  if (verb == "remove") return RemoveHosts(&*overlay, options, shared.json);
  const auto decision = std::ranges::find(kVerbs, verb, &NodeVerb::name);
  return DecideNodes(&*overlay, *decision, options, shared.json);
}

}  // namespace

int NodeCommand(const CommandLine& line) {
  NodeOptions options;
  SharedOptions shared;
  const CommandInfo info = {
      "node", "list | add|drain|resume|remove NODES [options]",
      kAbout, NodeOptionTable(&options),
      1,      SIZE_MAX};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const std::string& verb = shared.words[0];
  const bool known = verb == "list" || verb == "add" || verb == "remove" ||
                     std::ranges::count(kVerbs, verb, &NodeVerb::name) > 0;
  Status status =
      known ? TakeNodes(shared.words, &options)
            : Status(kErrBadParam,
                     "'" + verb +
                         "' is none of list, add, drain, resume and remove");
  if (status.ok()) status = CheckNodeOptions(verb, options);
  if (!status.ok()) return FailUsage("node", status);
  return ExecuteNode(verb, options, shared);
}

}  // namespace canopy::cli
