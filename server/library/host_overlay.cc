#include "server/library/host_overlay.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

#include "common/codec/decoder.h"
#include "common/codec/infos.h"
#include "common/codec/stored_key.h"
#include "common/job.h"
#include "common/process_keys.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/event/group_events.h"
#include "server/core/modex/modex.h"
#include "server/library/blob.h"

namespace canopy::library {
namespace {

// The arguments of a host's function, which may read them until it answers.
struct Arguments {
  std::vector<pmix_proc_t> procs;
  InfoList infos;
  std::string name = {};
};

std::vector<pmix_proc_t> ToC(const std::vector<ProcId>& procs) {
  std::vector<pmix_proc_t> out;
  out.reserve(procs.size());
  for (const ProcId& proc : procs) out.push_back(canopy::ToC(proc));
  return out;
}

// Copies bytes that the host will free. Returns null if memory is exhausted.
char* CopyForHost(const std::string& bytes) {
  auto* copy = static_cast<char*>(std::malloc(bytes.size()));
  if (copy != nullptr) std::memcpy(copy, bytes.data(), bytes.size());
  return copy;
}

// Returns the contribution of this node.
std::string BlobOf(const core::CollectiveUp& up) {
  for (const core::NodeContribution& one : up.contributions) {
    if (one.node == kSelf) return MakeBlob(one.data.view());
  }
  return MakeBlob({});
}

// Adds the outcome of the collective on this node to the infos.
InfoList WithStatus(const core::CollectiveUp& up, InfoList infos) {
  infos.Set(PMIX_LOCAL_COLLECTIVE_STATUS, Value::Status(up.status));
  return infos;
}

InfoList InfosOf(const core::DmodexRequest& request) {
  InfoList infos;
  // A stored name is for Canopy's own use: a host cannot know it.
  if (!request.key.empty() && !IsStoredName(request.key)) {
    infos.Add(PMIX_REQUIRED_KEY, Value::String(request.key));
  }
  if (request.timeout_ms > 0) {
    infos.Add(PMIX_TIMEOUT,
              Value::Int(static_cast<int>(request.timeout_ms / 1000 + 1)));
  }
  return infos;
}

// The data of one process that a host provides for a direct modex.
struct Brought {
  core::RankUpdate update;
  std::vector<std::string> outside;  // keys for its own node only
};

// Returns the data of the process in a blob. Returns kErrNotFound if the blob
// has no data; some hosts send such a blob for a process that does not exist.
Result<Brought> BroughtOf(const std::string& blob, const ProcId& proc) {
  Brought brought;
  const Result<std::vector<Bytes>> nodes =
      SplitBlobs(Bytes(blob), &brought.outside);
  if (!nodes.ok()) return nodes.status();
  for (const Bytes& records : *nodes) {
    core::ModexReader reader(records);
    while (reader.Next(&brought.update)) {
      if (brought.update.proc == proc) return brought;
    }
  }
  return Status(kErrNotFound, "there is nothing of it");
}

bool Has(const Bytes& kvals, const std::string& key) {
  Decoder in(kvals.view());
  KvalView kval;
  while (!in.done() && in.GetKval(&kval)) {
    if (Satisfies(kval.key, key)) return true;
  }
  return false;
}

// Removes the keys that `kvals` contains. Other nodes may see these keys,
// because a process has put them with several scopes.
std::vector<std::string> Without(std::vector<std::string> keys,
                                 const Bytes& kvals) {
  std::unordered_set<std::string_view> seen;
  Decoder in(kvals.view());
  KvalView kval;
  while (!in.done() && in.GetKval(&kval)) seen.insert(kval.key);
  std::erase_if(keys,
                [&](const std::string& key) { return seen.contains(key); });
  return keys;
}

// The pauses between two requests for a key that does not exist yet.
constexpr int64_t kFirstPauseMs = 20;
constexpr int64_t kLongestPauseMs = 1000;

}  // namespace

void HostOverlay::Send(const core::PeerMessage& message) {
  std::visit([&](const auto& body) { On(message.dst, body); }, message.body);
}

void HostOverlay::Deliver(NodeId from, core::MessageBody body) {
  p_.sink->OnInput(
      core::PeerArrived{core::PeerMessage{from, kSelf, std::move(body)}});
}

void HostOverlay::Log(std::string text) const {
  if (p_.log) p_.log({core::LogLine::Level::kError, std::move(text)});
}

// ------------------------------------------------------------ collectives ---

void HostOverlay::On(NodeId dst, const core::CollectiveUp& up) {
  if (dst != kHost) return;  // a job query to another node's agent
  if (up.status == kSuccess) return AskHost(up);
  // The collective has failed on this node, and its local processes get their
  // answer now. The other nodes still wait for this node, so the host is called
  // too, except in four cases: the host already has this node's part; the
  // collective was released already; the host takes no part in the operation;
  // or the failure is a timeout. After a timeout, the next collective at which
  // all processes arrive is a different one, which the host would confuse with
  // this one.
  const bool brought = with_host_.erase(up.id) > 0;
  if (!brought && up.status != core::kAlreadyReleased &&
      up.status != kErrTimeout && IsHosts(up)) {
    AskHost(up);
  }
  Release(up.id, up.status);
}

bool HostOverlay::IsHosts(const core::CollectiveUp& up) const {
  switch (up.id.op) {
    case core::CollectiveOp::kFence:
      return p_.module->fence_nb != nullptr &&
             (p_.host_has_all_fences || !p_.jobs->AreHere(up.id.participants));
    case core::CollectiveOp::kConnect:
      return p_.module->connect != nullptr;
    case core::CollectiveOp::kDisconnect:
      return p_.module->disconnect != nullptr;
    case core::CollectiveOp::kGroupConstruct:
    case core::CollectiveOp::kGroupDestruct:
      return p_.module->group != nullptr && !groups_.IsOurs(up);
  }
  return false;
}

Upcalls::Done HostOverlay::Awaited(const core::CollectiveUp& up,
                                   Upcalls::Done done) {
  if (up.status != kSuccess) return [](const HostAnswer&) {};
  with_host_.insert(up.id);
  return [this, id = up.id, done = std::move(done)](HostAnswer answer) {
    with_host_.erase(id);
    done(std::move(answer));
  };
}

void HostOverlay::AskHost(const core::CollectiveUp& up) {
  switch (up.id.op) {
    case core::CollectiveOp::kFence:
      return Fence(up);
    case core::CollectiveOp::kConnect:
    case core::CollectiveOp::kDisconnect:
      return Connect(up);
    case core::CollectiveOp::kGroupConstruct:
    case core::CollectiveOp::kGroupDestruct:
      return Group(up);
  }
}

void HostOverlay::Release(const core::CollectiveId& id, int status,
                          std::vector<core::NodeContribution> contributions,
                          Bytes result) {
  core::CollectiveDown down;
  down.id = id;
  down.status = status;
  down.contributions = std::move(contributions);
  down.result = std::move(result);
  Deliver(kHost, std::move(down));
}

void HostOverlay::Fence(const core::CollectiveUp& up) {
  if (!IsHosts(up)) {
    const bool here = p_.jobs->AreHere(up.id.participants);
    return Release(up.id, here ? kSuccess : kErrNotSupported);
  }
  Arrivals::Asked asked = p_.arrivals->For(up.id);
  const std::string blob = up.status != kSuccess ? MakeFailure(up.status)
                           : asked.collect       ? BlobOf(up)
                                                 : "";
  char* data = blob.empty() ? nullptr : CopyForHost(blob);
  if (!blob.empty() && data == nullptr) return Release(up.id, kErrNomem);
  auto arguments = std::make_shared<const Arguments>(
      Arguments{ToC(WithWholeJobs(up.id.participants)),
                WithStatus(up, std::move(asked.infos))});
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return p_.module->fence_nb(
            arguments->procs.data(), arguments->procs.size(),
            arguments->infos.data(), arguments->infos.size(), data, blob.size(),
            Upcalls::OnModex, cbdata);
      },
      Awaited(up, [this, id = up.id](HostAnswer answer) {
        std::vector<core::NodeContribution> contributions;
        if (answer.status == kSuccess) {
          answer.status = SortByNode(answer.data, &contributions);
        }
        Release(id, answer.status, std::move(contributions));
      }));
}

// Replaces whole jobs by wildcards. Slurm's plug-in does not support a fence
// over a list of several names between its nodes, because it sends the first
// name in place of each of them.
std::vector<ProcId> HostOverlay::WithWholeJobs(
    const std::vector<ProcId>& procs) const {
  std::map<std::string, size_t> named;
  for (const ProcId& proc : procs) ++named[proc.nspace];
  std::vector<ProcId> out;
  for (const ProcId& proc : procs) {
    const HostedJob* job = p_.jobs->Find(proc.nspace);
    const bool whole = job != nullptr && job->spec != nullptr &&
                       named[proc.nspace] == job->spec->procs.size();
    if (!whole) {
      out.push_back(proc);
    } else if (out.empty() || out.back().nspace != proc.nspace) {
      out.push_back({proc.nspace, kRankWildcard});
    }
  }
  return out;
}

int HostOverlay::SortByNode(
    const std::string& joined,
    std::vector<core::NodeContribution>* contributions) const {
  const Result<std::vector<Bytes>> nodes = SplitBlobs(Bytes(joined));
  if (!nodes.ok()) {
    Log("a fence's data: " + nodes.status().message());
    return nodes.code();
  }
  for (const Bytes& records : *nodes) {
    core::ModexReader reader(records);
    core::RankUpdate first;
    if (!reader.Next(&first)) continue;  // the node has no new data
    const NodeId member = p_.jobs->MemberOf(first.proc);
    if (member != kSelf) contributions->push_back({member, records});
  }
  return kSuccess;
}

void HostOverlay::Connect(const core::CollectiveUp& up) {
  const auto function = up.id.op == core::CollectiveOp::kConnect
                            ? p_.module->connect
                            : p_.module->disconnect;
  if (function == nullptr) return Release(up.id, kErrNotSupported);
  auto arguments = std::make_shared<const Arguments>(Arguments{
      ToC(up.id.participants), WithStatus(up, p_.arrivals->For(up.id).infos)});
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return function(arguments->procs.data(), arguments->procs.size(),
                        arguments->infos.data(), arguments->infos.size(),
                        Upcalls::OnOp, cbdata);
      },
      Awaited(up, [this, id = up.id](const HostAnswer& answer) {
        Release(id, answer.status);
      }));
}

void HostOverlay::Group(const core::CollectiveUp& up) {
  if (groups_.IsOurs(up)) return FinishGroup(up, {});
  if (p_.module->group == nullptr) return Release(up.id, kErrNotSupported);
  const pmix_group_operation_t op =
      up.id.op == core::CollectiveOp::kGroupConstruct ? PMIX_GROUP_CONSTRUCT
                                                      : PMIX_GROUP_DESTRUCT;
  auto arguments = std::make_shared<Arguments>(Arguments{
      ToC(up.id.participants),
      WithStatus(up, groups_.DirectivesOf(up, p_.arrivals->For(up.id).infos)),
      up.id.name});
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return p_.module->group(
            op, arguments->name.data(), arguments->procs.data(),
            arguments->procs.size(), arguments->infos.data(),
            arguments->infos.size(), Upcalls::OnInfos, cbdata);
      },
      Awaited(up, [this, up](const HostAnswer& answer) {
        FinishGroup(up, answer);
      }));
}

void HostOverlay::FinishGroup(const core::CollectiveUp& up,
                              const HostAnswer& answer) {
  if (answer.status != kSuccess) return Release(up.id, answer.status);
  Result<Bytes> result = groups_.ResultOf(up, answer.infos);
  if (!result.ok()) {
    Log("group " + up.id.name + ": " + result.status().message());
    return Release(up.id, result.code());
  }
  Release(up.id, kSuccess, {}, *std::move(result));
}

// ----------------------------------------------------------------- events ---

// Forwards an event of the core to the host. The host already has the events
// that processes raise, so the only other event for it is that a process has
// left a group.
void HostOverlay::On(NodeId, const core::EventMessage& event) {
  if (!core::GroupLeft(event) || p_.module->notify_event == nullptr) return;
  auto arguments = std::make_shared<Arguments>();
  arguments->procs.push_back(canopy::ToC(event.source));
  if (!DecodeInfos(event.info.view(), &arguments->infos)) return;
  arguments->infos.Add(PMIX_EVENT_CUSTOM_RANGE,
                       Value::ProcArray(event.targets));
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return p_.module->notify_event(
            event.status, arguments->procs.data(), PMIX_RANGE_CUSTOM,
            arguments->infos.mutable_data(), arguments->infos.size(),
            Upcalls::OnOp, cbdata);
      },
      [](const HostAnswer&) {});
}

// ----------------------------------------------------------- direct modex ---

void HostOverlay::On(NodeId dst, const core::DmodexRequest& request) {
  HostAnswer refused;
  // Process facts are never committed, so the host is not called for them.
  refused.status = IsProcessFact(request.key) ? kErrNotFound : kErrNotSupported;
  if (p_.module->direct_modex == nullptr || IsProcessFact(request.key)) {
    return AnswerGet(dst, request, std::move(refused), {});
  }
  GetOfHost(dst, request, {request.timeout_ms, kFirstPauseMs});
}

void HostOverlay::GetOfHost(NodeId from, const core::DmodexRequest& request,
                            Patience patience) {
  auto arguments = std::make_shared<const Arguments>(
      Arguments{{canopy::ToC(request.target)}, InfosOf(request)});
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return p_.module->direct_modex(
            arguments->procs.data(), arguments->infos.data(),
            arguments->infos.size(), Upcalls::OnModex, cbdata);
      },
      [this, from, request, patience](HostAnswer answer) {
        AnswerGet(from, request, std::move(answer), patience);
      });
}

// Answers a get with the host's answer. The host's function returns the data
// that exists now, because it does not get the key for which a get may wait.
// The request is therefore repeated until the key exists or the get's time is
// over.
void HostOverlay::AnswerGet(NodeId from, const core::DmodexRequest& request,
                            HostAnswer answer, Patience patience) {
  core::DmodexReply reply{
      request.request, answer.status, request.target, {}, 0, 0};
  if (answer.status == kSuccess) {
    const auto brought = BroughtOf(answer.data, request.target);
    if (!brought.ok()) {
      Log("data of " + ToString(request.target) + ": " +
          brought.status().message());
      reply.status = brought.code();
    } else {
      reply.data = brought->update.kvals;
      reply.version = brought->update.version;
      reply.base = brought->update.base;
      const bool lacks = !request.key.empty() && !Has(reply.data, request.key);
      if (lacks && std::ranges::count(brought->outside, request.key) > 0) {
        reply.status = kErrExistsOutsideScope;
      } else if (lacks && request.timeout_ms > 0) {
        if (patience.left_ms > 0) return AskHostAgain(from, request, patience);
        reply.status = kErrTimeout;
      }
    }
  }
  Deliver(from, std::move(reply));
}

void HostOverlay::AskHostAgain(NodeId from, const core::DmodexRequest& request,
                               Patience patience) {
  const int64_t pause = std::min(patience.pause_ms, patience.left_ms);
  const Patience next{patience.left_ms - pause,
                      std::min(2 * patience.pause_ms, kLongestPauseMs)};
  p_.after(pause,
           [this, from, request, next] { GetOfHost(from, request, next); });
}

void HostOverlay::GetCommitted(const ProcId& proc, Answer answer) {
  const uint64_t number = next_request_++;
  requests_[number] = {proc, std::move(answer), false};
  Ask(number, proc);
}

void HostOverlay::Ask(uint64_t number, const ProcId& proc) {
  core::DmodexRequest request;
  request.request = number;
  request.target = proc;
  Deliver(kHost, std::move(request));
}

// Handles the core's answer to a request of the host. A reply without committed
// data is not final as long as a commit may follow.
void HostOverlay::On(NodeId, const core::DmodexReply& reply) {
  const auto it = requests_.find(reply.request);
  if (it == requests_.end()) return;
  if (reply.status == kErrNotFound && MayCommit(reply.target)) {
    it->second.waits = true;
    return p_.await_commit(reply.target);
  }
  const Request request = std::move(it->second);
  requests_.erase(it);
  if (reply.status != kSuccess) return request.answer(reply.status, "");
  core::ModexWriter records;
  records.Add({reply.target, reply.base, reply.version, reply.data});
  const std::string outside =
      MakeOutside(Without(p_.outside->Of(reply.target), reply.data));
  request.answer(kSuccess, MakeBlob(records.Take().view()) + outside);
}

// Returns true if the process may commit data later. This includes processes of
// unknown jobs, because other nodes may know a job before this one does.
bool HostOverlay::MayCommit(const ProcId& proc) const {
  const HostedJob* job = p_.jobs->Find(proc.nspace);
  return job == nullptr || job->spec == nullptr ||
         p_.jobs->MemberOf(proc) == kSelf;
}

void HostOverlay::OnCommit() {
  for (auto& [number, request] : requests_) {
    if (!std::exchange(request.waits, false)) continue;
    Ask(number, request.proc);
  }
}

void HostOverlay::DropJob(const std::string& nspace) {
  std::erase_if(with_host_, [&](const core::CollectiveId& id) {
    return std::ranges::any_of(id.participants, [&](const ProcId& proc) {
      return proc.nspace == nspace;
    });
  });
  std::vector<Answer> answers;
  std::erase_if(requests_, [&](auto& entry) {
    if (entry.second.proc.nspace != nspace) return false;
    answers.push_back(std::move(entry.second.answer));
    return true;
  });
  for (const Answer& answer : answers) answer(kErrNotFound, "");
}

// ------------------------------------------------------------------- jobs ---

// Handles the request for the map of a job that has no processes on this node.
// If the host has registered that job and none of its clients yet, the job is
// first added to the core.
void HostOverlay::On(NodeId, const core::JobMapRequest& request) {
  const HostedJob* job = p_.jobs->Find(request.nspace);
  const bool is_told =
      job != nullptr && job->told != nullptr && !job->told->no_data;
  if (!is_told || job->spec != nullptr || !p_.begin) return AnswerMap(request);
  p_.begin(request.nspace, [this, request] { AnswerMap(request); });
}

void HostOverlay::AnswerMap(const core::JobMapRequest& request) {
  core::JobMapReply reply{request.request, kErrNotFound, request.nspace, {}};
  const HostedJob* job = p_.jobs->Find(request.nspace);
  if (job != nullptr && job->spec != nullptr) {
    reply.status = kSuccess;
    if (!request.exists_only) reply.spec = Bytes(EncodeJobSpec(*job->spec));
  }
  Deliver(kHost, std::move(reply));
}

}  // namespace canopy::library
