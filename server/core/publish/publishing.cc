#include "server/core/publish/publishing.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "common/status.h"
#include "common/text.h"
#include "common/time_units.h"
#include "server/core/publish/rendezvous.h"
#include "server/core/step/share.h"

namespace canopy::core {
namespace {

constexpr size_t kMaxIgnored = 256;
// The limit for all jobs together; each job has its share.
constexpr size_t kMaxOperations = size_t{1} << 16;

bool HasLongKey(const std::vector<std::string>& keys) {
  return std::ranges::any_of(keys, [](const std::string& key) {
    return key.empty() || key.size() > kMaxKeyLen;
  });
}

int CheckKeys(const std::vector<std::string>& keys) {
  if (keys.size() > kMaxKeysOfCall) return kErrOutOfResource;
  return HasLongKey(keys) ? kErrBadParam : kSuccess;
}

template <typename T, typename... Others>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Others> || ...);

bool IsOfDirectory(const MessageBody& body) {
  return std::visit(
      []<typename T>(const T&) {
        return kIsOneOf<T, DirectoryStore, DirectoryRemove, DirectoryPull,
                        DirectoryLookup, DirectoryLookupEnd, DirectoryFound,
                        DirectoryClaim, DirectoryAnswer>;
      },
      body);
}

// Returns true if the publication is on the range that an unpublish names.
bool IsOn(const Publication& p, const PublishDirectives& directives) {
  return p.range == directives.range && p.members == directives.members;
}

}  // namespace

Publishing::Publishing(NodeId self, const Tree& tree, const JobTable& jobs)
    : self_(self),
      tree_(tree),
      jobs_(jobs),
      calls_(tree),
      directory_(self, tree, calls_),
      publications_(self, tree, jobs, calls_),
      lookups_(self, tree, directory_, calls_) {
  publications_.set_on_read(
      [this](PublishStep& step, const Publication& p, bool predecessors) {
        const LookupAnswer answer{p.request, kSuccess, {}};
        if (predecessors) {
          lookups_.KeepAnswer(step, p.id.publisher, answer);
        } else {
          lookups_.StoreAnswer(step, p.id.publisher, answer);
        }
      });
}

void Publishing::set_persists(bool persists) {
  publications_.set_persists(persists);
  lookups_.set_persists(persists);
}

template <typename Work>
void Publishing::Do(const StepContext& context, const Work& work) {
  std::deque<MessageBody> local;
  PublishStep step{context, self_, local, jobs_.holds()};
  work(step);
  while (!local.empty()) {
    const MessageBody body = std::move(local.front());
    local.pop_front();
    Handle(step, self_, body);
  }
}

// ---------------------------------------------------------------- clients ---

std::optional<Owner> Publishing::OwnerOf(PublishStep& step, ClientId client,
                                         RequestId request, ProcId* proc) {
  const ProcId* known = jobs_.ProcOf(client);
  if (known == nullptr) {
    step.Reply(client, request, kErrInit);
    return std::nullopt;
  }
  *proc = *known;
  return jobs_.OwnerOf(*known);
}

int Publishing::Read(PublishStep& step, const Bytes& info,
                     PublishFunction function, PublishCall* call) {
  const int status = ReadCall(info, function, call);
  for (const std::string& key : call->ignored) {
    if (ignored_.size() >= kMaxIgnored || !ignored_.insert(key).second) {
      continue;
    }
    step.out.push_back(
        LogLine{LogLine::Level::kInfo, "ignoring " + Printable(key) +
                                           ", which publishing, looking up and "
                                           "unpublishing do not honour"});
  }
  return status;
}

void Publishing::OnPublish(const StepContext& context,
                           const PublishArrived& in) {
  Do(context, [&](PublishStep& step) {
    ProcId proc;
    const auto owner = OwnerOf(step, in.client, in.request, &proc);
    if (!owner || IsRepetition(step, in, proc)) return;
    PublishCall call;
    int status = Read(step, in.info, PublishFunction::kPublish, &call);
    if (status == kSuccess && call.data.empty()) status = kErrBadParam;
    if (!HasRoomFor(proc.nspace)) status = kErrOutOfResource;
    if (status != kSuccess) return step.Reply(in.client, in.request, status);
    Publish(step, in, *owner, proc, call);
  });
}

bool Publishing::IsRepetition(PublishStep& step, const PublishArrived& in,
                              const ProcId& proc) {
  if (const auto answer = lookups_.TakeAnswer(proc, in.request)) {
    step.Reply(in.client, in.request, answer->status);
    return true;
  }
  if (!publications_.WasExecuted(proc, in.request, in.client)) return false;
  const auto pending = operation_of_.find({proc, in.request});
  if (pending != operation_of_.end()) {
    operations_.at(pending->second).client = in.client;
  } else {
    step.Reply(in.client, in.request, kSuccess);
  }
  return true;
}

std::vector<Publication> Publishing::PublicationsIn(const PublishArrived& in,
                                                    const Owner& owner,
                                                    const ProcId& proc,
                                                    const PublishCall& call) {
  std::vector<Publication> out;
  for (const auto& [key, value] : call.data) {
    Publication p;
    p.id = {proc, calls_.NextNumber()};
    p.home = p.steward = self_;
    p.version = 1;
    p.request = in.request;
    p.key = key;
    p.range = call.directives.range;
    p.persistence = call.directives.persistence;
    p.members = call.directives.members;
    p.uid = owner.uid;
    p.gid = owner.gid;
    p.uids = call.directives.uids;
    p.gids = call.directives.gids;
    // Copies the value, so that it does not keep the whole frame in memory.
    p.value = Bytes(std::string(value.view()));
    out.push_back(std::move(p));
  }
  return out;
}

bool Publishing::HasRoomFor(const std::string& nspace) const {
  const auto own = operations_of_.find(nspace);
  return HasShare(kMaxOperations, operations_.size(),
                  own == operations_of_.end() ? 0 : own->second);
}

void Publishing::Publish(PublishStep& step, const PublishArrived& in,
                         const Owner& owner, const ProcId& proc,
                         const PublishCall& call) {
  const uint64_t number =
      Begin(step, in.client, proc, in.request, call.directives.timeout_ms);
  Operation& operation = operations_.at(number);
  for (Publication& p : PublicationsIn(in, owner, proc, call)) {
    const bool repeats =
        std::ranges::any_of(operation.ids, [&](const PublicationId& id) {
          return publications_.Find(id)->key == p.key;
        });
    if (repeats || !publications_.Fits(p)) {
      operation.status = repeats ? kErrDuplicateKey : kErrOutOfResource;
      break;
    }
    operation.ids.push_back(p.id);
    ++operation.open;
    publications_.Add(step, in.client, std::move(p),
                      [this, number](PublishStep& s, int status) {
                        OnDecided(s, number, status);
                      });
  }
  if (operation.open == 0) Finish(step, number, operation.status);
}

uint64_t Publishing::Begin(PublishStep& step, ClientId client,
                           const ProcId& proc, RequestId request,
                           uint32_t timeout_ms) {
  const uint64_t number = calls_.NextNumber();
  operation_of_[{proc, request}] = number;
  ++operations_of_[proc.nspace];
  Operation& operation = operations_[number];
  operation.client = client;
  operation.proc = proc;
  operation.request = request;
  if (timeout_ms != 0) operation.deadline = step.now + timeout_ms * kNsPerMs;
  return number;
}

void Publishing::OnDecided(PublishStep& step, uint64_t number, int status) {
  const auto it = operations_.find(number);
  if (it == operations_.end()) return;
  Operation& operation = it->second;
  if (operation.status == kSuccess) operation.status = status;
  if (--operation.open == 0) Finish(step, number, operation.status);
}

void Publishing::Finish(PublishStep& step, uint64_t number, int status) {
  const Operation operation = std::move(operations_.extract(number).mapped());
  const auto count = operations_of_.find(operation.proc.nspace);
  if (--count->second == 0) operations_of_.erase(count);
  const auto call = operation_of_.find({operation.proc, operation.request});
  if (call != operation_of_.end() && call->second == number) {
    operation_of_.erase(call);
  }
  const auto reply = [operation, status](PublishStep& s) {
    s.Reply(operation.client, operation.request, status, operation.result);
  };
  if (status != kSuccess) {
    return publications_.Remove(step, operation.ids, reply);
  }
  for (const PublicationId& id : operation.ids) publications_.Confirm(step, id);
  reply(step);
}

void Publishing::OnUnpublish(const StepContext& context,
                             const UnpublishArrived& in) {
  Do(context, [&](PublishStep& step) {
    ProcId proc;
    if (!OwnerOf(step, in.client, in.request, &proc)) return;
    PublishCall call;
    int status = Read(step, in.info, PublishFunction::kUnpublish, &call);
    if (status == kSuccess) status = CheckKeys(in.keys);
    if (!HasRoomFor(proc.nspace)) status = kErrOutOfResource;
    if (status != kSuccess) return step.Reply(in.client, in.request, status);
    Publications::Ids ids = publications_.Of(proc);
    const std::set<std::string> keys(in.keys.begin(), in.keys.end());
    std::erase_if(ids, [&](const PublicationId& id) {
      const Publication& p = *publications_.Find(id);
      return !IsOn(p, call.directives) || IsTaken(p) ||
             (!keys.empty() && !keys.contains(p.key));
    });
    const uint64_t number =
        Begin(step, in.client, proc, in.request, call.directives.timeout_ms);
    operations_.at(number).result = Bytes(std::to_string(ids.size()));
    publications_.Remove(step, ids, [this, number](PublishStep& s) {
      if (operations_.contains(number)) Finish(s, number, kSuccess);
    });
  });
}

void Publishing::OnLookup(const StepContext& context, const LookupArrived& in) {
  Do(context, [&](PublishStep& step) {
    LookupCall lookup;
    ProcId proc;
    const auto owner = OwnerOf(step, in.client, in.request, &proc);
    if (!owner) return;
    PublishCall call;
    int status = Read(step, in.info, PublishFunction::kLookup, &call);
    if (status == kSuccess) status = CheckKeys(in.keys);
    if (in.keys.empty()) status = kErrBadParam;
    if (status != kSuccess) return step.Reply(in.client, in.request, status);
    lookup.client = in.client;
    lookup.searcher = {proc,
                       in.request,
                       owner->uid,
                       owner->gid,
                       call.directives.range,
                       call.directives.members};
    lookup.keys = in.keys;
    lookup.waits = call.directives.waits;
    lookup.wait_for = call.directives.wait_for;
    lookup.timeout_ms = call.directives.timeout_ms;
    lookups_.Begin(step, std::move(lookup));
  });
}

void Publishing::OnFinalize(const StepContext& context, ClientId client) {
  const ProcId* proc = jobs_.ProcOf(client);
  if (proc == nullptr) return;
  Do(context, [&](PublishStep& step) {
    publications_.OnFinalized(step, *proc);
    lookups_.OnFinalized(step, *proc);
  });
}

void Publishing::OnClientGone(const StepContext& context, ClientId client) {
  for (auto& [number, operation] : operations_) {
    if (operation.client == client) operation.client = 0;
  }
  const ProcId* proc = jobs_.ProcOf(client);
  const bool is_tool = proc != nullptr && jobs_.Find(proc->nspace) == nullptr;
  Do(context, [&](PublishStep& step) {
    lookups_.OnClientGone(step, client);
    if (is_tool) OnToolGone(step, *proc);
  });
}

void Publishing::OnToolGone(PublishStep& step, const ProcId& tool) {
  lookups_.OnFinalized(step, tool);
  publications_.OnFinalized(step, tool);
  publications_.OnToolGone(step, tool);
}

// --------------------------------------------------------------- messages ---

bool Publishing::OnPeer(const StepContext& context,
                        const PeerMessage& message) {
  if (!IsOfDirectory(message.body)) return false;
  Do(context,
     [&](PublishStep& step) { Handle(step, message.src, message.body); });
  return true;
}

void Publishing::Handle(PublishStep& step, NodeId src,
                        const MessageBody& body) {
  std::visit(
      [&]<typename T>(const T& m) {
        if constexpr (std::is_same_v<T, DirectoryStore>) {
          OnStore(step, src, m);
        } else if constexpr (std::is_same_v<T, DirectoryRemove>) {
          directory_.OnRemove(step, src, m);
        } else if constexpr (std::is_same_v<T, DirectoryPull>) {
          publications_.OnPull(step, src, m);
        } else if constexpr (std::is_same_v<T, DirectoryLookup>) {
          directory_.OnLookup(step, src, m);
        } else if constexpr (std::is_same_v<T, DirectoryLookupEnd>) {
          directory_.OnLookupEnd(step, src, m);
        } else if constexpr (std::is_same_v<T, DirectoryFound>) {
          lookups_.OnFound(step, src, m);
        } else if constexpr (std::is_same_v<T, DirectoryClaim>) {
          publications_.OnClaim(step, src, m);
        } else if constexpr (std::is_same_v<T, DirectoryAnswer>) {
          calls_.OnAnswer(step, src, m);
        }
      },
      body);
}

void Publishing::OnStore(PublishStep& step, NodeId src,
                         const DirectoryStore& store) {
  if (src != self_ && store.publication.steward == self_) {
    if (directory_.WasRemoved(store.publication.id, self_)) {
      return step.Send(src, DirectoryAnswer{store.request, kErrNotFound});
    }
    return publications_.OnReturned(step, src, store);
  }
  if (src == store.publication.steward) {
    publications_.OnOtherSteward(store.publication);
  }
  directory_.OnStore(step, src, store);
}

// ---------------------------------------------------------------- changes ---

void Publishing::OnJobRemoved(const StepContext& context,
                              const RemovedJob& job) {
  const std::string& nspace = job.nspace;
  for (auto& [number, operation] : operations_) {
    if (operation.proc.nspace == nspace) operation.client = 0;
  }
  Do(context, [&](PublishStep& step) {
    lookups_.OnJobRemoved(step, nspace);
    publications_.OnJobRemoved(step, nspace);
  });
}

void Publishing::OnRankGone(const StepContext& context, const ProcId& proc) {
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr || !job->ranks[proc.rank].ended) return;
  Do(context,
     [&](PublishStep& step) { publications_.OnRankEnded(step, proc); });
}

void Publishing::OnRankRestarted(const StepContext& context,
                                 const ProcId& proc) {
  Do(context, [&](PublishStep& step) {
    lookups_.OnFinalized(step, proc);
    publications_.OnFinalized(step, proc);
    publications_.OnRankEnded(step, proc);
  });
}

void Publishing::OnNodeLost(const StepContext& context,
                            const NodeStateChanged& in) {
  const NodeId node = in.node;
  Do(context, [&](PublishStep& step) {
    directory_.VoidPulls();
    for (Publication& orphan : directory_.OnNodeLost(step, node)) {
      publications_.Adopt(step, std::move(orphan));
    }
    publications_.OnNodeLost(step, node);
    calls_.OnNodeLost(step, node);
    calls_.SendAgain(step);
    publications_.EnsureCopies(step);
    directory_.OnMembersChanged(step);
    lookups_.OnMembersChanged(step);
  });
}

void Publishing::OnNodeReturned(const StepContext& context) {
  Do(context, [&](PublishStep& step) {
    directory_.VoidPulls();
    calls_.SendAgain(step);
    publications_.EnsureCopies(step);
    directory_.OnMembersChanged(step);
    lookups_.OnMembersChanged(step);
  });
}

void Publishing::OnNodeRestarted(const StepContext& context, NodeId node) {
  Do(context, [&](PublishStep& step) {
    calls_.SendAgain(step);
    directory_.OnNodeRestarted(step, node);
    publications_.OnNodeRestarted(step, node);
    lookups_.OnMembersChanged(step);
  });
}

void Publishing::OnJobRecovered(const StepContext& context,
                                const JobRecovered& in) {
  // Only the last record of each key is valid.
  std::map<std::string, const PersistedRecord*> last;
  for (const PersistedRecord& record : in.records) last[record.key] = &record;
  Do(context, [&](PublishStep& step) {
    for (const auto& [key, record] : last) {
      publications_.Recover(step, in.job->nspace, *record);
      lookups_.Recover(in.job->nspace, *record);
    }
  });
}

void Publishing::OnTick(const StepContext& context) {
  Do(context, [&](PublishStep& step) {
    directory_.OnTick(step);
    lookups_.OnTick(step);
    std::vector<uint64_t> expired;
    for (const auto& [number, operation] : operations_) {
      if (operation.deadline <= step.now) expired.push_back(number);
    }
    for (const uint64_t number : expired) Finish(step, number, kErrTimeout);
  });
}

TimeNs Publishing::NextDeadline() const {
  TimeNs next = std::min(directory_.NextDeadline(), lookups_.NextDeadline());
  for (const auto& [number, operation] : operations_) {
    next = std::min(next, operation.deadline);
  }
  return next;
}

void Publishing::Count(ResourceCounts* counts) const {
  counts->publications = num_publications();
  counts->publishing = num_operations();
}

size_t Publishing::num_publications() const {
  const auto held = std::ranges::count_if(
      directory_.all(), [](const auto& p) { return !OutlivesJob(p.second); });
  return static_cast<size_t>(held) + publications_.num_of_jobs();
}

size_t Publishing::num_operations() const {
  return operations_.size() + lookups_.size() + directory_.num_waiting() +
         calls_.size();
}

}  // namespace canopy::core
