// Keys that processes publish, look up and unpublish, and the expected results.
#include <string>
#include <utility>

#include "common/status.h"
#include "server/core/publish/rendezvous.h"
#include "server/core/tree.h"
#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

// Time limits of lookups, in seconds.
constexpr uint32_t kNamePatience = 600;
constexpr uint32_t kGreed = 1;
constexpr uint32_t kLastPatience = 60;

std::string NameOf(const ProcId& proc, const std::string& number) {
  return proc.nspace + "." + number + "." + std::to_string(proc.rank);
}

}  // namespace

// Returns the key of the next rank. If agents are restarted, every second
// process chooses a key that its own agent owns, because few lookups otherwise
// reach some of their phases.
std::string Soak::AwaitedName(const ProcId& proc, Rank ranks,
                              const std::string& number) const {
  const Tree& tree = cluster_.members().tree();
  const auto name = [&](Rank after) {
    return NameOf({proc.nspace, (proc.rank + after) % ranks}, number);
  };
  const bool chooses = options_.restarts && proc.rank % 2 == 0;
  for (Rank after = 1; chooses && after < ranks; ++after) {
    const NodeId owner = HomesOf(name(after), tree).owner;
    if (owner == cluster_.NodeOf(proc)) return name(after);
  }
  return name(1);
}

// Begins the next call. A published key must be found by all processes from
// then on, and an unpublished key must not. A publish of an existing key is
// refused. A key that ends when it is read has one reader, even if other calls
// reserve it and return it.
void Soak::BeginName(const ProcId& proc, Actor& actor,
                     const std::string& number) {
  Clients& clients = cluster_.clients();
  const Rank ranks = static_cast<Rank>(actor.job->spec.procs.size());
  const std::string own = NameOf(proc, number);
  const std::string once = OnceKey(proc.nspace, number);
  const std::string contest = ContestKey(proc.nspace, number);
  actor.operation = "names " + number + "." + std::to_string(actor.next_name);
  switch (actor.next_name) {
    case 0:
      actor.waiting = clients.Publish(proc, own, false);
      return;
    case 1:
      actor.waiting = clients.Lookup(proc, {own});
      return;
    case 2:
      actor.waiting = clients.Lookup(proc, {AwaitedName(proc, ranks, number)},
                                     kNamePatience);
      return;
    case 3:
      if (proc.rank == 0) {
        actor.waiting = clients.Publish(proc, once, true);
        return;
      }
      actor.expected = {kSuccess, kErrNotFound};
      actor.waiting = clients.Lookup(proc, {once});
      return;
    case 4:
      actor.expected = {kErrDuplicateKey};
      actor.waiting = clients.Publish(proc, own, false);
      return;
    case 5:
      actor.waiting = clients.Publish(proc, own + "u", false);
      return;
    case 6:
      actor.waiting = clients.Unpublish(proc, own + "u");
      return;
    case 7:
      actor.expected = {kErrNotFound};
      actor.waiting = clients.Lookup(proc, {own + "u"});
      return;
    case 8:
      actor.expected = {kSuccess, kErrDuplicateKey};
      actor.waiting = clients.Publish(proc, contest, false);
      return;
    case 9:
      // One of these keys is never published. The lookup reserves the other,
      // waits in vain, and gives it back.
      actor.expected = {proc.rank % 4 == 1 ? kErrTimeout : kSuccess};
      actor.waiting = proc.rank % 4 == 1
                          ? clients.Lookup(proc, {once, "never"}, kGreed)
                          : clients.Lookup(proc, {contest}, kNamePatience);
      return;
    default:
      if (proc.rank == ranks - 1) {
        actor.last_key = once;
        actor.expected = {kSuccess, kErrTimeout};
        actor.waiting = clients.Lookup(proc, {once}, kLastPatience);
        return;
      }
      // The key's job may be over, or belong to another user.
      actor.expected = {kSuccess, kErrNotFound, kErrNoPermissions};
      actor.waiting =
          clients.Lookup(proc, {jobs_.back()->spec.nspace + ".0." + number});
  }
}

// Records an answer. If the publisher waited for other processes, the lookup of
// the last reader may have timed out before the key was published. Then the key
// need not be read.
void Soak::NoteNameAnswer(Actor& actor, int status) {
  const std::string key = std::exchange(actor.last_key, "");
  if (key.empty() || status != kErrTimeout) return;
  if (cluster_.oracle().NumPublishers(key) == 0) unread_.insert(key);
}

// Checks that each contested key was published once, and that each key with one
// reader was read once.
void Soak::CheckNames(const PlannedJob& job) {
  for (const Op& op : job.script) {
    if (op.kind != Op::Kind::kNames) continue;
    const std::string number = std::to_string(op.number);
    const std::string once = OnceKey(job.spec.nspace, number);
    const std::string contest = ContestKey(job.spec.nspace, number);
    const Oracle& oracle = cluster_.oracle();
    const size_t readers = oracle.NumReaders(once);
    if (readers != 1 && !(readers == 0 && unread_.contains(once))) {
      Error(std::to_string(oracle.NumReaders(once)) + " readers of " + once);
    }
    if (oracle.NumPublishers(contest) != 1) {
      Error(std::to_string(oracle.NumPublishers(contest)) + " publishers of " +
            contest);
    }
  }
}

}  // namespace canopy::sim
