// The groups that this process is forming by invitation. This process has
// invited others to a group, has accepted an invitation to it, or does not know
// its leader yet.
#ifndef CANOPY_CLIENT_SESSION_GROUP_INVITATIONS_H_
#define CANOPY_CLIENT_SESSION_GROUP_INVITATIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/mutex.h"
#include "common/values/info_list.h"

namespace canopy::client {

// Ends a call about a group. There are results with PMIX_SUCCESS and
// PMIX_ERR_PARTIAL_SUCCESS only.
using GroupDone = std::function<void(int status, InfoList results)>;

// An invitation that this process has sent as the leader.
struct SentInvitation {
  InfoList directives;
  std::set<ProcId> awaited;  // processes without an answer
  std::set<ProcId> accepted;
  std::set<ProcId> declined;  // notified of an abort, too
  bool tolerant = false;      // continues without missing processes
  bool incomplete = false;    // processes are missing
  bool has_foreign = false;   // some processes use another library
  bool outside = false;       // the leader is not among the members
  // The processes that have accepted, if all have answered and the leader is
  // not a member. They then form the group themselves. Empty if a process uses
  // another library, because then the leader forms the group.
  std::vector<ProcId> formers;
  std::optional<ProcId> replaces;  // the leader whose place this process took
  uint64_t number = 0;             // distinguishes invitations to one group
  GroupDone done;
};

struct AcceptedInvitation {
  ProcId leader;
  bool leaderless = false;         // the leader ended, and no other is known
  std::optional<ProcId> replaced;  // the leader whose place `leader` has taken
  InfoList directives;
  uint64_t number = 0;
  GroupDone done;
};

// A construct that waits for the invitation of a process that the caller does
// not know: the first leader of a bootstrap.
struct AwaitedInvitation {
  // The caller's directives, for the construct that follows.
  InfoList directives;
  // The members that this process adds as a leader, with itself, ascending.
  // Empty for a process that is only added.
  std::vector<ProcId> members;
  std::string key;          // published by this leader; empty if none
  bool publishing = false;  // the leader has no key yet
  bool aborted = false;     // the first leader has given up
  uint64_t number = 0;
  GroupDone done;
};

// The first leader's invitation to a bootstrap.
struct BootstrapInvitation {
  ProcId leader;
  std::vector<ProcId> members;  // the whole group
};

// The end of an invitation that this process has not answered yet.
struct InvitationEnd {
  bool aborted = false;  // the leader has given up
  bool failed = false;   // the leader's process has ended
  bool leads = false;    // a handler of this process offered to lead
  std::vector<ProcId> invited;
  std::optional<ProcId> next;  // the process that replaces the leader
};

// Limit of the recorded ends of invitations, and of the recorded inviters.
// Beyond the limit, the oldest records are dropped.
inline constexpr size_t kMaxInvitationEnds = 256;
// The limit for the members in all invitations to bootstraps that are kept.
// Beyond the limit, the oldest invitations are dropped.
inline constexpr size_t kMaxBootstrapMembers = size_t{64} << 10;

// Invitations by the group's name. Thread-safe.
class GroupInvitations {
 public:
  // Add an invitation and set *number to its number, which is assigned unless
  // it has one. Return false if an invitation of that name exists.
  bool Add(const std::string& name, SentInvitation invitation,
           uint64_t* number) {
    return AddTo(&sent_, name, std::move(invitation), number);
  }
  bool Add(const std::string& name, AcceptedInvitation invitation,
           uint64_t* number) {
    return AddTo(&accepted_, name, std::move(invitation), number);
  }
  bool Add(const std::string& name, AwaitedInvitation invitation,
           uint64_t* number) {
    return AddTo(&awaited_, name, std::move(invitation), number);
  }

  // Removes and returns the invitation if is_meant(invitation), which may
  // change it, returns true.
  template <typename F>
  std::optional<SentInvitation> TakeSentIf(const std::string& name,
                                           F is_meant) {
    return TakeIf(&sent_, name, is_meant);
  }
  template <typename F>
  std::optional<AcceptedInvitation> TakeAcceptedIf(const std::string& name,
                                                   F is_meant) {
    return TakeIf(&accepted_, name, is_meant);
  }
  template <typename F>
  std::optional<AwaitedInvitation> TakeAwaitedIf(const std::string& name,
                                                 F is_meant) {
    return TakeIf(&awaited_, name, is_meant);
  }

  // Calls note(end) to change the record of the invitation's end, which is made
  // if there is none.
  template <typename F>
  void NoteEnd(const ProcId& leader, const std::string& name, F note) {
    const MutexLock lock(mu_);
    const auto known = std::ranges::find(
        ends_, std::pair(leader, name),
        [](const auto& item) -> const auto& { return item.first; });
    if (known != ends_.end()) return note(known->second);
    ends_.emplace_back(std::pair(leader, name), InvitationEnd());
    note(ends_.back().second);
    if (ends_.size() > kMaxInvitationEnds) ends_.pop_front();
  }
  bool HasEnded(const ProcId& leader, const std::string& name) {
    const MutexLock lock(mu_);
    return std::ranges::any_of(ends_, [&](const auto& item) {
      return item.first == std::pair(leader, name);
    });
  }
  // Removes the record, because the process was invited anew or has answered.
  std::optional<InvitationEnd> TakeEnd(const ProcId& leader,
                                       const std::string& name) {
    const MutexLock lock(mu_);
    std::optional<InvitationEnd> end;
    std::erase_if(ends_, [&](auto& item) {
      if (item.first != std::pair(leader, name)) return false;
      end = std::move(item.second);
      return true;
    });
    return end;
  }

  // Records that `leader` invites this process to the group `name`.
  void NoteInviter(const std::string& name, const ProcId& leader) {
    const MutexLock lock(mu_);
    std::erase_if(inviters_,
                  [&](const auto& one) { return one.first == name; });
    inviters_.emplace_back(name, leader);
    if (inviters_.size() > kMaxInvitationEnds) inviters_.pop_front();
  }
  // Returns the sender of the latest invitation to the group `name`.
  std::optional<ProcId> InviterOf(const std::string& name) {
    const MutexLock lock(mu_);
    const auto it = std::ranges::find(
        inviters_, name,
        [](const auto& one) -> const auto& { return one.first; });
    if (it == inviters_.end()) return std::nullopt;
    return it->second;
  }

  // Records the latest invitation to the bootstrap of the group `name`. The
  // record stays until ForgetBootstrap.
  void NoteBootstrap(const std::string& name, BootstrapInvitation invitation) {
    const MutexLock lock(mu_);
    ForgetLocked(name);
    num_bootstrap_members_ += invitation.members.size();
    bootstraps_.emplace_back(name, std::move(invitation));
    while (bootstraps_.size() > 1 &&
           (bootstraps_.size() > kMaxInvitationEnds ||
            num_bootstrap_members_ > kMaxBootstrapMembers)) {
      ForgetLocked(std::string(bootstraps_.front().first));
    }
  }
  std::optional<BootstrapInvitation> BootstrapOf(const std::string& name) {
    const MutexLock lock(mu_);
    const auto it = std::ranges::find(
        bootstraps_, name,
        [](const auto& one) -> const auto& { return one.first; });
    if (it == bootstraps_.end()) return std::nullopt;
    return it->second;
  }
  void ForgetBootstrap(const std::string& name) {
    const MutexLock lock(mu_);
    ForgetLocked(name);
  }

  // Return true at the first call only. The caller must then subscribe: to the
  // events of groups that are being formed, or to invitations to bootstraps.
  bool BeginWatching() {
    const MutexLock lock(mu_);
    return !std::exchange(watches_, true);
  }
  bool BeginWatchingBootstraps() {
    const MutexLock lock(mu_);
    return !std::exchange(watches_bootstraps_, true);
  }

 private:
  template <typename Map>
  bool AddTo(Map* map, const std::string& name,
             typename Map::mapped_type invitation, uint64_t* number) {
    const MutexLock lock(mu_);
    if (sent_.contains(name) || accepted_.contains(name) ||
        awaited_.contains(name)) {
      return false;
    }
    if (invitation.number == 0) invitation.number = ++last_number_;
    *number = invitation.number;
    map->emplace(name, std::move(invitation));
    return true;
  }
  void ForgetLocked(const std::string& name) CANOPY_REQUIRES(mu_) {
    size_t members = 0;
    std::erase_if(bootstraps_, [&](const auto& one) {
      if (one.first != name) return false;
      members += one.second.members.size();
      return true;
    });
    num_bootstrap_members_ -= members;
  }
  template <typename Map, typename F>
  std::optional<typename Map::mapped_type> TakeIf(Map* map,
                                                  const std::string& name,
                                                  F is_meant) {
    const MutexLock lock(mu_);
    const auto it = map->find(name);
    if (it == map->end() || !is_meant(it->second)) return std::nullopt;
    std::optional<typename Map::mapped_type> taken(std::move(it->second));
    map->erase(it);
    return taken;
  }

  Mutex mu_;
  std::deque<std::pair<std::pair<ProcId, std::string>, InvitationEnd>> ends_
      CANOPY_GUARDED_BY(mu_);
  std::deque<std::pair<std::string, ProcId>> inviters_ CANOPY_GUARDED_BY(mu_);
  uint64_t last_number_ CANOPY_GUARDED_BY(mu_) = 0;
  bool watches_ CANOPY_GUARDED_BY(mu_) = false;
  bool watches_bootstraps_ CANOPY_GUARDED_BY(mu_) = false;
  std::deque<std::pair<std::string, BootstrapInvitation>> bootstraps_
      CANOPY_GUARDED_BY(mu_);
  size_t num_bootstrap_members_ CANOPY_GUARDED_BY(mu_) = 0;
  std::map<std::string, SentInvitation> sent_ CANOPY_GUARDED_BY(mu_);
  std::map<std::string, AcceptedInvitation> accepted_ CANOPY_GUARDED_BY(mu_);
  std::map<std::string, AwaitedInvitation> awaited_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_INVITATIONS_H_
