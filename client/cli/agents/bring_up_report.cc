#include "client/cli/agents/bring_up_report.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "common/string_util.h"

namespace canopy::cli {
namespace {

using State = AgentReport::State;
using Names = std::vector<std::string>;

constexpr size_t kMaxNames = 10;

// Agents with the same reason why they have not come up.
struct Group {
  std::string key;  // the reason, without the name of the node
  const AgentReport* first = nullptr;
  Names names;
};

bool IsPartOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
}

// Returns the text with "{host}" in the place of the name, where the name is
// not a part of a longer word.
std::string WithoutName(const std::string& text, const std::string& name) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !IsPartOfName(text[at - 1]);
    const size_t end = at + name.size();
    const bool ends = end >= text.size() || !IsPartOfName(text[end]);
    const bool found =
        begins && ends && text.compare(at, name.size(), name) == 0;
    out += found ? "{host}" : text.substr(at, 1);
    at = found ? end : at + 1;
  }
  return out;
}

std::string KeyOf(const AgentReport& agent) {
  return std::to_string(static_cast<int>(agent.state)) +
         WithoutName(agent.cause, agent.node);
}

std::vector<Group> Grouped(std::span<const AgentReport> agents,
                           std::initializer_list<State> states) {
  std::vector<Group> groups;
  for (const AgentReport& agent : agents) {
    if (std::ranges::count(states, agent.state) == 0) continue;
    std::string key = KeyOf(agent);
    auto group = std::ranges::find(groups, key, &Group::key);
    if (group == groups.end()) {
      group = groups.insert(group, Group{std::move(key), &agent, {}});
    }
    group->names.push_back(agent.node);
  }
  return groups;
}

Names NamesOf(std::span<const AgentReport> agents, State state) {
  Names names;
  for (const AgentReport& agent : agents) {
    if (agent.state == state) names.push_back(agent.node);
  }
  return names;
}

bool HasOneOf(std::string_view text,
              std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

bool IsUnknownName(const std::string& cause) {
  return HasOneOf(cause, {"resolve host", "Name or service not known",
                          "name resolution", "nodename nor servname"});
}

bool IsNotInstalled(const AgentReport& agent) {
  const std::string name = agent.program.substr(agent.program.rfind('/') + 1);
  return !name.empty() && HasOneOf(agent.cause, {name}) &&
         HasOneOf(agent.cause, {"not found", "No such file"});
}

// Returns advice for the user, or an empty text if the cause explains it.
std::string HintOf(const Group& group) {
  const AgentReport& agent = *group.first;
  if (agent.state == State::kAnswered) {
    return "check that the nodes reach each other; --listen names the address "
           "of agents";
  }
  if (agent.remote_command.empty()) return "";
  if (IsUnknownName(agent.cause)) {
    return group.names.size() == 1
               ? "check the name, as with 'getent hosts " + agent.node + "'"
               : "check the names, as with 'getent hosts " + agent.node + "'";
  }
  if (IsNotInstalled(agent)) {
    return "install Canopy at the same path there (" + agent.program + ")";
  }
  return "check that '" + agent.remote_command + " true' works";
}

std::string ShareText(const Group& group, size_t total) {
  return NodesText(group.names) + " (" + std::to_string(group.names.size()) +
         " of " + std::to_string(total) + ")";
}

std::string GroupText(const Group& group, size_t total, int seconds) {
  const std::string time = " in " + std::to_string(seconds) + " s";
  const std::string share = ShareText(group, total);
  const std::string& cause = group.first->cause;
  const std::string why = cause.empty() ? "" : ": " + cause;
  switch (group.first->state) {
    case State::kFailed:
      return "no agent on " + share + why;
    case State::kSilent:
      return "no answer from " + share + time + why;
    default:
      return "not connected with the other agents" + time + ": " + share + why;
  }
}

std::string GroupsText(const std::vector<Group>& groups, size_t total,
                       int seconds) {
  Names parts;
  for (const Group& group : groups) {
    parts.push_back(GroupText(group, total, seconds));
    const std::string hint = HintOf(group);
    if (!hint.empty()) parts.push_back(hint);
  }
  return Join(parts, "; ");
}

size_t Missing(const std::vector<Group>& groups) {
  size_t sum = 0;
  for (const Group& group : groups) sum += group.names.size();
  return sum;
}

}  // namespace

std::string NodesText(std::span<const std::string> names) {
  std::string text = Join(names.first(std::min(names.size(), kMaxNames)), ", ");
  if (names.size() <= kMaxNames) return text;
  return text + " and " + std::to_string(names.size() - kMaxNames) + " more";
}

std::string BringUpError(std::span<const AgentReport> agents, int seconds) {
  const std::vector<Group> groups =
      Grouped(agents, {State::kFailed, State::kSilent});
  if (groups.empty()) {
    return GroupsText(Grouped(agents, {State::kAnswered}), agents.size(),
                      seconds);
  }
  const std::string text = GroupsText(groups, agents.size(), seconds);
  const Names waiting = NamesOf(agents, State::kAnswered);
  if (waiting.empty()) return text;
  return text + "; " + NodesText(waiting) +
         (waiting.size() == 1 ? " waits for " : " wait for ") +
         (Missing(groups) == 1 ? "it" : "them");
}

std::string BringUpProgress(std::span<const AgentReport> agents) {
  const Names missing = NamesOf(agents, State::kSilent);
  const size_t failed = NamesOf(agents, State::kFailed).size();
  const std::string total = "/" + std::to_string(agents.size());
  if (missing.empty() && failed == 0) {
    const size_t up = NamesOf(agents, State::kUp).size();
    return "agents up " + std::to_string(up) + total;
  }
  const size_t answered = agents.size() - missing.size() - failed;
  std::string text = "agents started " + std::to_string(answered) + total;
  if (failed != 0) text += ", failed " + std::to_string(failed);
  if (missing.empty()) return text;
  return text + ", no answer yet from " + NodesText(missing);
}

std::string MissingText(std::span<const AgentReport> agents, int seconds) {
  const std::vector<Group> groups =
      Grouped(agents, {State::kFailed, State::kSilent});
  return "continuing without " + std::to_string(Missing(groups)) + " of " +
         std::to_string(agents.size()) +
         " nodes: " + GroupsText(groups, agents.size(), seconds);
}

}  // namespace canopy::cli
