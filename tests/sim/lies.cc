#include "tests/sim/lies.h"

#include <string>
#include <utility>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/status.h"
#include "pmix_common.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/peer_inputs.h"
#include "tests/sim/kvals.h"
#include "tests/sim/spawn_host.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr Rank kNobody = 1 << 20;
// The number of a call that the lying agent has not made.
constexpr uint64_t kNoCall = uint64_t{1} << 60;

class Liar {
 public:
  Liar(const Lie& lie, Cluster* cluster)
      : lie_(lie), o_(lie.about), cluster_(*cluster) {}

  void TellOfSpawn() {
    if (!lie_.agent) return CallInVain();
    if (*lie_.agent != lie_.controller) {
      Say(lie_.caller, SpawnReply{o_.proc, o_.request, kSuccess, "lie", {}});
    }
    if (*lie_.agent != lie_.caller) {
      Say(lie_.controller,
          SpawnRequest{o_.proc, o_.request, SpawnCallFor({lie_.caller})});
    }
  }

  // Sends calls of collectives of a process that is not a participant, or with
  // a participant that does not exist, and a malformed call.
  void TellOfCollective() {
    CollectiveArrived in;
    in.op = o_.id.op;
    in.participants = o_.id.participants;
    if (o_.procs.contains(lie_.process) || OneIn(2)) {
      in.participants.push_back({lie_.process.nspace, kNobody});
    }
    Call(std::move(in));
    CollectiveArrived malformed;
    malformed.op = o_.id.op;
    malformed.participants = o_.id.participants;
    malformed.info = Bytes(std::string("\xff"));
    Call(std::move(malformed));
  }

  // Sends group calls with names that are too long, and about groups of which
  // the process is not a member.
  void TellOfGroup() {
    CollectiveArrived in;
    in.op = o_.id.op;
    in.name = std::string(kMaxNspaceLen + 1, 'g');
    in.participants = o_.id.participants;
    Call(in);
    in.name = o_.id.name;
    in.participants.push_back({lie_.process.nspace, kNobody});
    Call(in);
    in.participants = o_.id.participants;
    in.info = Bytes(std::string("\xff"));
    Call(std::move(in));
    if (o_.procs.contains(lie_.process)) return;
    CollectiveArrived end;
    end.op = CollectiveOp::kGroupDestruct;
    end.name = o_.id.name;
    Call(std::move(end));
    GroupCallArrived leave;
    leave.name = o_.id.name;
    Call(std::move(leave));
  }

  // Raises three events: one with the number of another event and a range that
  // does not leave the node, one without receivers, and one that is too large.
  void TellOfEvent() {
    EventRaised in;
    in.id = o_.request;
    in.status = o_.status;
    in.source = o_.proc;
    in.range = PMIX_RANGE_PROC_LOCAL;
    Call(in);
    in.id = kNoCall;
    in.range = PMIX_RANGE_CUSTOM;
    Call(in);
    in.range = PMIX_RANGE_GLOBAL;
    in.info = Bytes(std::string((size_t{64} << 10) + 1, 'i'));
    Call(std::move(in));
    if (!lie_.agent) return;
    EventMessage message;
    message.origin = *lie_.agent;
    message.number = kNoCall;
    message.request = o_.request;
    message.status = o_.status;
    message.source = o_.proc;
    message.range = PMIX_RANGE_LOCAL;
    Say(lie_.caller, std::move(message));
  }

  // Sends job control with targets that do not exist, orders of an agent that
  // does not control the job, and answers without a request.
  void TellOfControl() {
    HostCallArrived in;
    in.op = HostOp::kJobControl;
    in.targets = {{lie_.process.nspace, kNobody}};
    in.call = o_.call;
    Call(in);
    in.targets.clear();
    in.call = Bytes(std::string("\xff"));
    Call(std::move(in));
    if (!lie_.agent) return;
    for (const ProcId& target : o_.procs) {
      HostRequest order{o_.proc,  kNoCall, HostOp::kJobControl,
                        0,        0,       target.nspace,
                        {target}, o_.call};
      const NodeId node = cluster_.NodeOf(
          {target.nspace, target.rank == kRankWildcard ? 0 : target.rank});
      if (!lie_.controllers.contains(node)) Say(node, std::move(order));
      if (lie_.controllers.contains(*lie_.agent)) continue;
      Say(lie_.caller,
          HostReply{o_.proc, o_.request, target.nspace, kErrTimeout, {}});
    }
  }

  void TellOfQuery() {
    Call(QueryArrived{0, 0, Bytes(std::string("\xff"))});
    if (!lie_.agent) return;
    for (const auto& [node, number] : o_.calls) {
      FactsReply reply;
      reply.request = number;
      reply.processes = {{o_.proc.rank, 1, PMIX_PROC_STATE_TERMINATED, 0}};
      Say(node, std::move(reply));
    }
  }

  void TellOfNames() {
    if (!lie_.agent || OneIn(4)) return CallInVain();
    const NodeId owner = o_.owners.empty() ? lie_.caller : *o_.owners.begin();
    for (const auto& [node, number] : o_.calls) {
      if (node != lie_.caller || *lie_.agent == owner) continue;
      Say(node, DirectoryAnswer{number, kErrDuplicateKey});
    }
    if (o_.number != 0 && !o_.owners.contains(*lie_.agent)) {
      Say(lie_.caller, DirectoryFound{o_.number, {Forged()}, {}});
    }
    if (o_.publication.number == 0) return;
    Say(owner, DirectoryStore{kNoCall, Forged(), false});
    Say(owner, DirectoryRemove{kNoCall, o_.publication});
    const NodeId steward = cluster_.NodeOf(o_.publication.publisher);
    const PublicationReader reader{o_.proc, o_.request, lie_.caller};
    for (const ClaimKind kind : {ClaimKind::kReturn, ClaimKind::kFinish}) {
      Say(steward, DirectoryClaim{kNoCall, o_.publication, reader, kind});
    }
  }

  void TellOfAbort() {
    AbortArrived in;
    in.status = 1;
    in.text = "lie";
    in.targets = {{lie_.process.nspace, kNobody}};
    Call(std::move(in));
    if (!lie_.agent || *lie_.agent == lie_.controller || o_.number == 0) return;
    for (const std::string& nspace : lie_.known) {
      Say(lie_.caller, AbortReply{o_.proc, o_.number, nspace, kSuccess});
    }
  }

 private:
  bool OneIn(uint64_t n) { return cluster_.rng()() % n == 0; }

  void Say(NodeId to, MessageBody body) {
    if (to == *lie_.agent || !cluster_.members().alive(to)) return;
    cluster_.Input(to, PeerArrived{{*lie_.agent, to, std::move(body)}});
  }

  template <typename In>
  void Call(In in) {
    if (cluster_.clients().IsAway(lie_.process)) return;
    in.client = cluster_.clients().IdOf(lie_.process);
    in.request = cluster_.clients().NewRequest();
    cluster_.Input(cluster_.NodeOf(lie_.process), std::move(in));
  }

  void CallInVain() {
    Call(PublishArrived{0, 0, Bytes(std::string("\xff"))});
    Call(PublishArrived{0, 0, Bytes()});
    Call(LookupArrived{0, 0, {}, Bytes()});
    Call(LookupArrived{0, 0, {"lie"}, Bytes(std::string("\xff"))});
    Call(UnpublishArrived{0, 0, {std::string(600, 'k')}, Bytes()});
    Call(SpawnArrived{0, 0, SpawnCallFor({})});
  }

  // Returns a publication that is newer than the existing one and has another
  // value.
  Publication Forged() const {
    Publication p;
    p.id = o_.publication;
    if (p.id.number == 0) p.id = {o_.proc, kNoCall};
    p.home = p.steward = lie_.caller;
    p.version = kNoCall;
    p.key = o_.key;
    p.range = PMIX_RANGE_SESSION;
    p.persistence = PMIX_PERSIST_APP;
    Encoder value;
    value.PutUint16(PMIX_STRING);
    value.PutString("lie");
    p.value = Bytes(value.Take());
    return p;
  }

  const Lie& lie_;
  const Operation& o_;
  Cluster& cluster_;
};

}  // namespace

void Tell(const Lie& lie, Cluster* cluster) {
  Liar liar(lie, cluster);
  switch (lie.about.kind) {
    case Operation::Kind::kSpawn:
      return liar.TellOfSpawn();
    case Operation::Kind::kCollective:
      return IsGroupOp(lie.about.id.op) ? liar.TellOfGroup()
                                        : liar.TellOfCollective();
    case Operation::Kind::kEvent:
      return liar.TellOfEvent();
    case Operation::Kind::kControl:
      return liar.TellOfControl();
    case Operation::Kind::kQuery:
      return liar.TellOfQuery();
    case Operation::Kind::kNames:
      return liar.TellOfNames();
    case Operation::Kind::kAbort:
      return liar.TellOfAbort();
  }
}

}  // namespace canopy::sim
