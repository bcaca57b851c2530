#include "tests/sim/trace.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <variant>

#include "common/job.h"
#include "common/time_units.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

// Names of the alternatives, by their index in the variants.
constexpr std::array<std::string_view, 43> kMessages = {"CollectiveUp",
                                                        "CollectiveDown",
                                                        "DmodexRequest",
                                                        "DmodexReply",
                                                        "Event",
                                                        "Abort",
                                                        "JobPrepare",
                                                        "JobPrepared",
                                                        "JobStart",
                                                        "JobStarted",
                                                        "JobExits",
                                                        "JobSignal",
                                                        "JobKill",
                                                        "JobForget",
                                                        "OutputData",
                                                        "OutputCredit",
                                                        "InputData",
                                                        "InputCredit",
                                                        "StateQuery",
                                                        "StateReply",
                                                        "Shutdown",
                                                        "JobQuery",
                                                        "JobQueryReply",
                                                        "SyncComplete",
                                                        "NodeLost",
                                                        "JobMapRequest",
                                                        "JobMapReply",
                                                        "AbortReply",
                                                        "SpawnRequest",
                                                        "SpawnReply",
                                                        "DirectoryStore",
                                                        "DirectoryRemove",
                                                        "DirectoryPull",
                                                        "DirectoryLookup",
                                                        "DirectoryLookupEnd",
                                                        "DirectoryFound",
                                                        "DirectoryClaim",
                                                        "DirectoryAnswer",
                                                        "RankRestarted",
                                                        "FactsRequest",
                                                        "FactsReply",
                                                        "HostRequest",
                                                        "HostReply"};
constexpr std::array<std::string_view, 47> kInputs = {"client connected",
                                                      "client gone",
                                                      "committed",
                                                      "commit taken",
                                                      "arrived",
                                                      "fence arrived",
                                                      "group call",
                                                      "get",
                                                      "abort",
                                                      "host call",
                                                      "publish",
                                                      "lookup",
                                                      "unpublish",
                                                      "spawn",
                                                      "query",
                                                      "finalize",
                                                      "events wanted",
                                                      "events unwanted",
                                                      "event raised",
                                                      "from",
                                                      "member added",
                                                      "member serves",
                                                      "node",
                                                      "agent restarted",
                                                      "job recovered",
                                                      "client resumed",
                                                      "caller attached",
                                                      "local prepared",
                                                      "local started",
                                                      "local processes",
                                                      "local exits",
                                                      "facts read",
                                                      "usage wanted",
                                                      "host answered",
                                                      "local output",
                                                      "local input done",
                                                      "launch",
                                                      "spawn done",
                                                      "spawn recovered",
                                                      "signal requested",
                                                      "kill requested",
                                                      "time limit",
                                                      "output consumed",
                                                      "input offered",
                                                      "state requested",
                                                      "shutdown",
                                                      "tick"};
constexpr std::array<std::string_view, 36> kActions = {"to",
                                                       "reply",
                                                       "release fence",
                                                       "notify",
                                                       "ask host",
                                                       "close client",
                                                       "tool gone",
                                                       "register job",
                                                       "drop job",
                                                       "publish",
                                                       "set incarnation",
                                                       "job held",
                                                       "await commit",
                                                       "prepare here",
                                                       "start here",
                                                       "restart here",
                                                       "signal here",
                                                       "kill here",
                                                       "forget here",
                                                       "credit",
                                                       "resend output",
                                                       "remember",
                                                       "remember control",
                                                       "feed",
                                                       "deadline",
                                                       "host spawn",
                                                       "job changed",
                                                       "job elsewhere",
                                                       "deliver output",
                                                       "output delivered",
                                                       "input consumed",
                                                       "state",
                                                       "read facts",
                                                       "usage taken",
                                                       "end agent",
                                                       "log"};
static_assert(kMessages.size() == std::variant_size_v<MessageBody::Variant>);
static_assert(kInputs.size() == std::variant_size_v<Input::Variant>);
static_assert(kActions.size() == std::variant_size_v<Action::Variant>);

std::string Number(uint64_t n) { return " " + std::to_string(n); }

template <typename T>
std::string Nodes(const T& contributions) {
  std::string out;
  for (const NodeContribution& c : contributions) out += Number(c.node);
  return out;
}

// Replaces bytes of journal keys that cannot be printed.
std::string Printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c > '~'; }, '.');
  return text;
}

const std::string& KeyOf(const std::string& key) { return key; }
const std::string& KeyOf(const LookupKey& key) { return key.key; }
const std::string& KeyOf(const DataKey& key) { return key.key; }

std::string Shown(const PublicationId& id) {
  return " " + ToString(id.publisher) + "/" + std::to_string(id.number);
}

std::string Shown(const Publication& p) {
  return Shown(p.id) + " '" + p.key + "' version" + Number(p.version);
}

// Returns the details that distinguish a value from others of its kind.
template <typename T>
std::string Details(const T& v) {
  std::string out;
  if constexpr (requires { v.id.participants; }) {
    out += " operation" + Number(static_cast<uint64_t>(v.id.op));
    if (!v.id.name.empty()) out += " of " + v.id.name + ":";
    for (const ProcId& p : v.id.participants) out += " " + ToString(p);
    out += " #" + std::to_string(v.id.sequence);
  }
  if constexpr (requires { v.op, v.collect_data; }) {
    out += " operation" + Number(static_cast<uint64_t>(v.op));
    for (const ProcId& p : v.participants) out += " " + ToString(p);
  }
  if constexpr (requires { v.name; }) out += " of " + v.name;
  if constexpr (requires { v.spec; }) {
    const auto spec = DecodeJobSpec(v.spec.view());
    if (spec.ok()) out += " " + spec->nspace;
  }
  if constexpr (requires { Number(v.controller), v.lost; }) {
    out += " of" + Number(v.controller) + " lost";
    for (const NodeId node : v.lost) out += Number(node);
  }
  if constexpr (requires { v.nspace; }) {
    out += " " + v.nspace;
  } else if constexpr (requires { v.job->nspace; }) {
    out += " " + v.job->nspace;
  }
  if constexpr (requires { v.proc; }) out += " " + ToString(v.proc);
  if constexpr (requires { v.client; }) out += " client" + Number(v.client);
  if constexpr (requires { v.clients; }) {
    for (const ClientId client : v.clients) out += " client" + Number(client);
  }
  if constexpr (requires { v.request; }) out += " request" + Number(v.request);
  if constexpr (requires { v.target.rank; }) out += " " + ToString(v.target);
  if constexpr (requires { v.key; }) out += " key " + Printable(v.key);
  if constexpr (requires { v.keys; }) {
    for (const auto& key : v.keys) out += " key " + KeyOf(key);
  }
  if constexpr (requires { v.publication; }) out += Shown(v.publication);
  if constexpr (requires { v.found; }) {
    for (const Publication& p : v.found) out += " found" + Shown(p);
    for (const LookupKey& key : v.missing) out += " missing " + key.key;
  }
  if constexpr (requires { v.id.publisher; }) out += Shown(v.id);
  if constexpr (requires { v.reader.proc; }) {
    out += " by " + ToString(v.reader.proc) + Number(v.reader.request);
  }
  if constexpr (requires { v.kind; }) {
    out += " kind" + Number(static_cast<uint64_t>(v.kind));
  }
  if constexpr (requires { v.end; }) out += " end" + Number(v.end);
  if constexpr (requires { v.contributions; }) {
    out += " parts" + Nodes(v.contributions);
  }
  if constexpr (requires { v.source; }) out += " of " + ToString(v.source);
  if constexpr (requires { v.exits; }) {
    out += " ranks";
    for (const ProcExit& exit : v.exits) out += Number(exit.rank);
  }
  if constexpr (requires { Number(v.node); }) out += Number(v.node);
  if constexpr (requires { v.in_service; }) {
    out += v.in_service ? " in service" : " out of service";
  }
  if constexpr (requires { v.up; }) out += v.up ? " up" : " down";
  if constexpr (requires { v.phase; }) {
    out += " phase" + Number(static_cast<uint64_t>(v.phase));
  }
  if constexpr (requires { v.status; }) {
    out += " status " + std::to_string(v.status);
  }
  return out;
}

std::string ShowBody(const MessageBody& body) {
  std::string out(kMessages[body.index()]);
  std::visit([&](const auto& b) { out += Details(b); }, body);
  return out;
}

}  // namespace

std::string Show(const Input& input) {
  std::string out(kInputs[input.index()]);
  if (const auto* peer = std::get_if<PeerArrived>(&input)) {
    return out + Number(peer->message.src) + ": " +
           ShowBody(peer->message.body);
  }
  std::visit([&](const auto& in) { out += Details(in); }, input);
  return out;
}

std::string Show(const Action& action) {
  if (std::holds_alternative<LogLine>(action) ||
      std::holds_alternative<SetDeadline>(action)) {
    return "";
  }
  std::string out(kActions[action.index()]);
  if (const auto* peer = std::get_if<SendPeer>(&action)) {
    return out + Number(peer->message.dst) + ": " +
           ShowBody(peer->message.body);
  }
  std::visit([&](const auto& a) { out += Details(a); }, action);
  return out;
}

void PrintStep(TimeNs now, NodeId node, const std::string& input,
               const Actions& actions) {
  constexpr double kNsPerMs = 1e6;
  fprintf(stderr, "%.3f n%u %s\n", static_cast<double>(now) / kNsPerMs, node,
          input.c_str());
  for (const Action& action : actions) {
    const std::string text = Show(action);
    if (!text.empty()) fprintf(stderr, "    n%u %s\n", node, text.c_str());
  }
}

}  // namespace canopy::sim
