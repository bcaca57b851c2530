// Finds the operation to which a message belongs, and the phase that the
// message indicates.
#include <algorithm>
#include <type_traits>
#include <variant>

#include "tests/sim/operations.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

template <typename T, typename... Others>
constexpr bool kIsOneOf = (std::is_same_v<T, Others> || ...);

bool Names(const std::vector<ProcId>& procs, const std::string& nspace) {
  return std::ranges::count(procs, nspace, &ProcId::nspace) > 0;
}

template <typename Map, typename Key>
uint64_t In(const Map& map, const Key& key) {
  const auto it = map.find(key);
  return it == map.end() ? 0 : it->second;
}

}  // namespace

void Operations::Sent(const PeerMessage& message, Operation* o) {
  o->nodes.insert(message.dst);
  [[maybe_unused]] const Number number = touched_.back();
  std::visit(
      [&]<typename T>(const T& m) {
        if constexpr (std::is_same_v<T, SpawnReply>) {
          o->phase = Phase::kSpawnAnswering;
        } else if constexpr (std::is_same_v<T, CollectiveDown>) {
          SentCollective(o);
        } else if constexpr (std::is_same_v<T, EventMessage>) {
          o->on_its_way.insert({message.dst, message.src});
        } else if constexpr (kIsOneOf<T, HostRequest, HostReply>) {
          SentControl(message, m.nspace, std::is_same_v<T, HostReply>, o);
        } else if constexpr (std::is_same_v<T, AbortReply>) {
          o->phase = Phase::kAbortAnswering;
        } else if constexpr (std::is_same_v<T, AbortMessage>) {
          o->number = m.request;
        } else if constexpr (std::is_same_v<T, DirectoryLookup>) {
          o->owners.insert(message.dst);
          o->waits = m.waits;
          if (!m.keys.empty()) o->key = m.keys.front().key;
          o->number = m.request;
          of_lookup_[{message.src, m.request}] = number;
        } else if constexpr (kIsOneOf<T, DirectoryStore, DirectoryRemove,
                                      DirectoryLookupEnd, DirectoryClaim>) {
          const Call call{message.src, m.request};
          of_call_[call] = number;
          o->calls.insert(call);
          if constexpr (std::is_same_v<T, DirectoryStore>) {
            o->publication = m.publication.id;
            o->key = m.publication.key;
            if (m.is_new) o->owners = {message.dst};
          } else if constexpr (std::is_same_v<T, DirectoryClaim>) {
            o->publication = m.id;
            o->phase = m.kind == ClaimKind::kTake ? Phase::kLookupClaiming
                                                  : Phase::kLookupEnding;
          } else if constexpr (std::is_same_v<T, DirectoryLookupEnd>) {
            o->phase = Phase::kLookupEnding;
          }
        }
      },
      message.body);
}

void Operations::Came(const PeerMessage& message, Operation* o) {
  std::visit(
      [&]<typename T>(const T& m) {
        if constexpr (std::is_same_v<T, AbortMessage>) {
          if (o->phase == Phase::kAbortRequested)
            o->phase = Phase::kAbortEnding;
        } else if constexpr (kIsOneOf<T, DirectoryLookup, DirectoryStore>) {
          o->delivered = true;
        } else if constexpr (std::is_same_v<T, EventMessage>) {
          o->on_its_way.erase({message.dst, message.src});
        } else if constexpr (std::is_same_v<T, FactsReply>) {
          o->calls.erase({message.dst, m.request});
          o->phase = Phase::kQueryGathering;
        } else if constexpr (std::is_same_v<T, DirectoryAnswer>) {
          const Call call{message.dst, m.request};
          if (o->calls.erase(call) == 0) return;
          if (o->phase == Phase::kLookupClaiming)
            o->phase = Phase::kLookupAsking;
        }
      },
      message.body);
}

const Operation* Operations::Find(Number number) const {
  const auto it = all_.find(number);
  return it == all_.end() ? nullptr : &it->second;
}

const Operation* Operations::FindRequest(RequestId request) const {
  const auto it = of_request_.find(request);
  return it == of_request_.end() ? nullptr : Find(it->second);
}

const Operation* Operations::OperationOf(const PeerMessage& message) const {
  return Find(NumberOf(message));
}

Operations::Number Operations::WaitsForMap(NodeId node,
                                           const std::string& nspace) const {
  for (const auto& [number, o] : all_) {
    if (o.kind == Operation::Kind::kCollective && o.nodes.contains(node) &&
        Names(o.id.participants, nspace) &&
        (PhaseOf(o) == Phase::kConnectResolving ||
         PhaseOf(o) == Phase::kGroupResolving)) {
      return number;
    }
  }
  return 0;
}

Operations::Number Operations::PulledBy(NodeId owner) const {
  for (const auto& [number, o] : all_) {
    if (!o.owners.contains(owner)) continue;
    const Phase phase = PhaseOf(o);
    if (phase == Phase::kPublishPulling || phase == Phase::kLookupPulling) {
      return number;
    }
  }
  return 0;
}

Operations::Number Operations::AbortIn(const std::string& nspace) const {
  for (const auto& [number, o] : all_) {
    if (o.phase != Phase::kAbortEnding) continue;
    for (const ProcId& proc : o.procs) {
      const bool is_target = proc != o.proc || o.procs.size() == 1;
      if (is_target && proc.nspace == nspace) return number;
    }
  }
  return 0;
}

Operations::Number Operations::NumberOf(const PeerMessage& m) const {
  return std::visit(
      [&]<typename T>(const T& b) -> Number {
        if constexpr (kIsOneOf<T, SpawnRequest, SpawnReply>) {
          return In(of_request_, b.request);
        } else if constexpr (kIsOneOf<T, JobPrepared, JobStart, JobStarted>) {
          return In(of_spawned_, b.nspace);
        } else if constexpr (kIsOneOf<T, CollectiveUp, CollectiveDown>) {
          if (b.id.op == CollectiveOp::kFence) return 0;
          return In(of_collective_, std::pair(SeriesOf(b.id), b.id.sequence));
        } else if constexpr (std::is_same_v<T, EventMessage>) {
          constexpr int kGroupLeft = -160;
          if (b.status == kGroupLeft) return In(of_leave_, b.source);
          return In(of_request_, b.request);
        } else if constexpr (kIsOneOf<T, HostRequest, HostReply>) {
          return In(of_request_, b.request);
        } else if constexpr (std::is_same_v<T, FactsRequest>) {
          return In(of_call_, Call(m.src, b.request));
        } else if constexpr (std::is_same_v<T, FactsReply>) {
          return In(of_call_, Call(m.dst, b.request));
        } else if constexpr (std::is_same_v<T, JobMapRequest>) {
          return WaitsForMap(m.src, b.nspace);
        } else if constexpr (std::is_same_v<T, JobMapReply>) {
          return WaitsForMap(m.dst, b.nspace);
        } else if constexpr (std::is_same_v<T, DirectoryStore>) {
          return In(of_request_, b.publication.request);
        } else if constexpr (std::is_same_v<T, DirectoryRemove>) {
          const Number number = In(of_caller_, b.id.publisher);
          const Operation* o = Find(number);
          const bool removes =
              o != nullptr && o->phase == Phase::kUnpublishRemoving;
          return removes ? number : 0;
        } else if constexpr (std::is_same_v<T, DirectoryPull>) {
          return PulledBy(m.src);
        } else if constexpr (std::is_same_v<T, DirectoryLookup>) {
          return In(of_request_, b.searcher.request);
        } else if constexpr (std::is_same_v<T, DirectoryLookupEnd>) {
          return In(of_lookup_, Call(m.src, b.lookup));
        } else if constexpr (std::is_same_v<T, DirectoryFound>) {
          return In(of_lookup_, Call(m.dst, b.request));
        } else if constexpr (std::is_same_v<T, DirectoryClaim>) {
          return In(of_request_, b.reader.request);
        } else if constexpr (std::is_same_v<T, DirectoryAnswer>) {
          const Number number = In(of_call_, Call(m.dst, b.request));
          const auto pulls = pulls_.find(m.dst);
          const bool pulled =
              pulls != pulls_.end() && pulls->second.contains(b.request);
          return number == 0 && pulled ? PulledBy(m.dst) : number;
        } else if constexpr (kIsOneOf<T, AbortMessage, AbortReply>) {
          const Number number = In(of_caller_, b.source);
          const Operation* o = Find(number);
          const bool aborts =
              o != nullptr && o->kind == Operation::Kind::kAbort;
          return aborts ? number : 0;
        } else if constexpr (kIsOneOf<T, JobKill, JobExits>) {
          return AbortIn(b.nspace);
        } else {
          return 0;
        }
      },
      m.body);
}

Phase Operations::PhaseOf(const Operation& o) const {
  const auto pulls = [&] {
    return o.delivered && std::ranges::any_of(o.owners, [&](NodeId owner) {
             const auto it = pulls_.find(owner);
             return it != pulls_.end() && !it->second.empty();
           });
  };
  switch (o.phase) {
    case Phase::kConnectGathering:
    case Phase::kGroupGathering: {
      const bool connects = o.phase == Phase::kConnectGathering;
      for (const auto& [node, nspace] : map_requests_) {
        if (o.nodes.contains(node) && Names(o.id.participants, nspace)) {
          return connects ? Phase::kConnectResolving : Phase::kGroupResolving;
        }
      }
      if (!o.HaveAllCome()) return o.phase;
      return connects ? Phase::kConnectReporting : Phase::kGroupReporting;
    }
    case Phase::kUngroupGathering:
      return o.HaveAllCome() ? Phase::kUngroupReporting : o.phase;
    case Phase::kEventSpreading:
      return o.on_its_way.empty() && o.unanswered.empty() ? Phase::kEventKept
                                                          : o.phase;
    case Phase::kDisconnectGathering:
      return o.HaveAllCome() ? Phase::kDisconnectReporting : o.phase;
    case Phase::kPublishOffering:
      return pulls() ? Phase::kPublishPulling : o.phase;
    case Phase::kLookupAsking:
      if (pulls()) return Phase::kLookupPulling;
      return o.waits && o.delivered ? Phase::kLookupWaiting : o.phase;
    default:
      return o.phase;
  }
}

}  // namespace canopy::sim
