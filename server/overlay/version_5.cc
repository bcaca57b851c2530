#include "server/overlay/version_5.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "common/ids.h"
#include "common/job.h"
#include "common/process_keys.h"
#include "common/status.h"
#include "server/overlay/body_wire.h"

namespace canopy::overlay {
namespace {

// ProcExit::wait_status of a rank that was lost with its node.
constexpr int kLostWithNode = -2;
// DmodexRequest::key of a JobMapRequest with exists_only; any non-empty key
// would do.
constexpr char kExistsKey[] = "known";

// Messages about publications, which version 5 does not have.
template <typename T>
concept OfDirectory =
    wire::Is<T, core::DirectoryStore> || wire::Is<T, core::DirectoryRemove> ||
    wire::Is<T, core::DirectoryPull> || wire::Is<T, core::DirectoryLookup> ||
    wire::Is<T, core::DirectoryLookupEnd> ||
    wire::Is<T, core::DirectoryFound> || wire::Is<T, core::DirectoryClaim> ||
    wire::Is<T, core::DirectoryAnswer>;

// JobForget with a field that only version 5 has.
struct ForgetOrSync {
  std::string nspace;
  bool sync_complete = false;
};

template <typename V>
void Describe(V& v, wire::Is<ForgetOrSync> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.sync_complete);
}

template <typename T>
std::string Encode(const T& message) {
  return EncodeAs(kBodyField<T>, message);
}

bool IsLoss(const core::ProcExit& exit) {
  return exit.wait_status == kLostWithNode;
}

// Version 5 reports only the final ends of ranks.
bool HasNoForm(const core::ProcExit& exit) {
  return IsLoss(exit) || exit.restarted;
}

// A job map in the format that agents of version 5 can read; malformed bytes
// are returned unchanged.
Bytes SpecOf(const Bytes& spec) {
  const Result<JobSpec> job = DecodeJobSpec(spec.view());
  return job.ok() ? Bytes(EncodeJobSpecForRelease01(*job)) : spec;
}

struct Encoder {
  template <typename T>
  std::string operator()(const T& m) const {
    return Encode(m);
  }

  std::string operator()(const OfDirectory auto&) const { return ""; }

  // Cores do not send these: they refuse groups with participants at an agent
  // of version 5 (core::NodeIsOld).
  std::string operator()(const core::CollectiveUp& m) const {
    return core::IsGroupOp(m.id.op) ? std::string() : Encode(m);
  }
  std::string operator()(const core::CollectiveDown& m) const {
    return core::IsGroupOp(m.id.op) ? std::string() : Encode(m);
  }

  std::string operator()(const core::JobQuery& m) const {
    return Encode(core::JobExits{m.nspace, {}});
  }
  std::string operator()(const core::JobQueryReply& m) const {
    return Encode(core::JobForget{m.nspace});
  }
  std::string operator()(const core::SyncComplete&) const {
    return EncodeAs(kBodyField<core::JobForget>, ForgetOrSync{"", true});
  }
  std::string operator()(const core::JobPrepare& m) const {
    core::JobPrepare old = m;
    old.spec = SpecOf(m.spec);
    return Encode(old);
  }
  std::string operator()(const core::NodeLost& m) const {
    core::JobExits exits{m.nspace, {}};
    for (const Rank rank : m.ranks) {
      exits.exits.push_back({rank, kLostWithNode, false, false, false});
    }
    return exits.exits.empty() ? std::string() : Encode(exits);
  }
  std::string operator()(const core::JobMapRequest& m) const {
    return Encode(core::DmodexRequest{m.request,
                                      {m.nspace, kRankWildcard},
                                      m.exists_only ? kExistsKey : "",
                                      0});
  }
  std::string operator()(const core::JobMapReply& m) const {
    return Encode(core::DmodexReply{
        m.request, m.status, {m.nspace, kRankWildcard}, SpecOf(m.spec)});
  }
  std::string operator()(const core::SpawnRequest&) const { return ""; }
  std::string operator()(const core::SpawnReply&) const { return ""; }
  std::string operator()(const core::RankRestarted&) const { return ""; }
  std::string operator()(const core::FactsRequest&) const { return ""; }
  std::string operator()(const core::FactsReply&) const { return ""; }
  std::string operator()(const core::HostRequest&) const { return ""; }
  std::string operator()(const core::HostReply&) const { return ""; }

  // Version 5 does not know runs of input and would take their positions for
  // input that its ranks have already received.
  std::string operator()(const core::InputData& m) const {
    if (m.run == 0) return Encode(m);
    core::InputData old = m;
    old.end = old.run = 0;
    return Encode(old);
  }

  // Agents of version 5 neither answer an abort nor expect an answer.
  std::string operator()(const core::AbortReply&) const { return {}; }

  std::string operator()(const core::JobExits& m) const {
    if (std::ranges::none_of(m.exits, HasNoForm)) {
      return m.exits.empty() ? std::string() : Encode(m);
    }
    core::JobExits exits = m;
    std::erase_if(exits.exits, HasNoForm);
    return (*this)(exits);
  }
  std::string operator()(const core::DmodexRequest& m) const {
    const bool known = m.target.rank != kRankWildcard && !IsProcessFact(m.key);
    return known ? Encode(m) : std::string();
  }
  std::string operator()(const core::DmodexReply& m) const {
    return m.target.rank == kRankWildcard ? std::string() : Encode(m);
  }
};

std::optional<core::MessageBody> Translate(core::JobExits exits,
                                           core::MessageBody* body) {
  if (exits.exits.empty()) {
    *body = core::JobQuery{std::move(exits.nspace)};
    return std::nullopt;
  }
  if (std::ranges::none_of(exits.exits, IsLoss)) {
    *body = std::move(exits);
    return std::nullopt;
  }
  const bool loss_first = IsLoss(exits.exits.front());
  core::NodeLost lost{exits.nspace, {}};
  for (const core::ProcExit& exit : exits.exits) {
    if (IsLoss(exit)) lost.ranks.push_back(exit.rank);
  }
  std::erase_if(exits.exits, IsLoss);
  if (exits.exits.empty()) {
    *body = std::move(lost);
    return std::nullopt;
  }
  core::MessageBody first = std::move(lost);
  core::MessageBody second = std::move(exits);
  if (!loss_first) std::swap(first, second);
  *body = std::move(first);
  return second;
}

// The agent executes the abort but does not answer it.
std::optional<core::MessageBody> AnswerTo(const core::AbortMessage& abort) {
  if (abort.request == 0) return std::nullopt;
  return core::AbortReply{abort.source, abort.request,
                          abort.targets.empty() ? abort.source.nspace
                                                : abort.targets.front().nspace,
                          kSuccess};
}

}  // namespace

std::string EncodeForVersion5(const core::MessageBody& body) {
  return std::visit(Encoder(), body);
}

std::optional<core::MessageBody> AnswerOfVersion5(
    const core::MessageBody& body) {
  return std::visit(
      []<typename T>(const T& m) -> std::optional<core::MessageBody> {
        if constexpr (std::is_same_v<T, core::DirectoryLookup>) {
          core::DirectoryFound refused{m.request, {}, m.keys};
          for (auto& key : refused.missing) key.status = kErrNotSupported;
          return refused;
        } else if constexpr (OfDirectory<T> &&
                             !std::is_same_v<T, core::DirectoryFound> &&
                             !std::is_same_v<T, core::DirectoryAnswer>) {
          return core::DirectoryAnswer{m.request, kErrNotSupported};
        } else if constexpr (std::is_same_v<T, core::SpawnRequest>) {
          return core::SpawnReply{m.proc, m.request, kErrNotSupported, {}, {}};
        } else if constexpr (std::is_same_v<T, core::FactsRequest>) {
          return core::FactsReply{m.request, kErrNotSupported, {}, {}, {}};
        } else if constexpr (std::is_same_v<T, core::HostRequest>) {
          return core::HostReply{
              m.proc, m.request, m.nspace, kErrNotSupported, {}};
        } else if constexpr (std::is_same_v<T, core::DmodexRequest>) {
          if (!IsProcessFact(m.key)) return std::nullopt;
          return core::DmodexReply{m.request, kErrNotFound, m.target, {}, 0};
        } else if constexpr (std::is_same_v<T, core::CollectiveUp>) {
          if (!core::IsGroupOp(m.id.op)) return std::nullopt;
          return core::CollectiveDown{m.id, kErrNotSupported, {}, {}};
        } else if constexpr (std::is_same_v<T, core::AbortMessage>) {
          return AnswerTo(m);
        } else {
          return std::nullopt;
        }
      },
      body);
}

bool ReadJobForget(wire::ReadContext* context, std::string_view data,
                   core::MessageBody* body) {
  ForgetOrSync message;
  if (!wire::ReadMessage(context, data, &message)) return false;
  if (message.sync_complete) {
    *body = core::SyncComplete();
  } else {
    *body = core::JobForget{std::move(message.nspace)};
  }
  return true;
}

std::optional<core::MessageBody> TranslateFromVersion5(
    core::MessageBody* body) {
  if (auto* exits = std::get_if<core::JobExits>(body)) {
    return Translate(std::move(*exits), body);
  }
  if (auto* request = std::get_if<core::DmodexRequest>(body)) {
    if (request->target.rank != kRankWildcard) return std::nullopt;
    *body = core::JobMapRequest{request->request, request->target.nspace,
                                !request->key.empty()};
  } else if (auto* reply = std::get_if<core::DmodexReply>(body)) {
    if (reply->target.rank != kRankWildcard) return std::nullopt;
    *body = core::JobMapReply{reply->request, reply->status,
                              reply->target.nspace, reply->data};
  }
  return std::nullopt;
}

}  // namespace canopy::overlay
