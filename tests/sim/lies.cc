#include "tests/sim/lies.h"

#include <string>
#include <utility>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/status.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/peer_inputs.h"
#include "tests/sim/kvals.h"
#include "tests/sim/spawn_host.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr Rank kNobody = 1 << 20;
// Of a call that the lying agent has not made.
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

  // A process that does not belong to it, and lists of nobody.
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

  // Newer than what there is, of another value.
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
      return liar.TellOfCollective();
    case Operation::Kind::kNames:
      return liar.TellOfNames();
    case Operation::Kind::kAbort:
      return liar.TellOfAbort();
  }
}

}  // namespace canopy::sim
