// The groups that this process is forming by invitation: those to which it has
// invited others, and those whose invitations it has accepted.
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

// The end of a call about a group; results with PMIX_SUCCESS and
// PMIX_ERR_PARTIAL_SUCCESS only.
using GroupDone = std::function<void(int status, InfoList results)>;

// As the leader.
struct SentInvitation {
  InfoList directives;
  std::set<ProcId> awaited;  // have not answered
  std::set<ProcId> accepted;
  bool tolerant = false;           // goes on without those who do not come
  bool incomplete = false;         // and has done so
  bool has_foreign = false;        // some have another library
  std::optional<ProcId> replaces;  // a leader that has ended
  uint64_t number = 0;             // tells it from others of the name
  GroupDone done;
};

struct AcceptedInvitation {
  ProcId leader;
  bool leaderless = false;  // the leader has ended, and no other is known
  std::optional<ProcId> replaced;  // whose place the leader has taken
  InfoList directives;
  uint64_t number = 0;
  GroupDone done;
};

// What became of an invitation before this process has answered it.
struct InvitationEnd {
  bool aborted = false;  // the leader has given up
  bool failed = false;   // the leader has ended
  bool leads = false;    // a handler offered to take its place
  std::vector<ProcId> invited;
  std::optional<ProcId> next;  // who has taken its place
};

// Ends, and invitations, that are remembered; the oldest are forgotten.
inline constexpr size_t kMaxInvitationEnds = 256;

// By the group's name. Thread-safe.
class GroupInvitations {
 public:
  // False when there is one of that name already. Gives it its number.
  bool Add(const std::string& name, SentInvitation invitation,
           uint64_t* number) {
    const MutexLock lock(mu_);
    if (sent_.contains(name) || accepted_.contains(name)) return false;
    *number = invitation.number = ++last_number_;
    sent_.emplace(name, std::move(invitation));
    return true;
  }
  bool Add(const std::string& name, AcceptedInvitation invitation,
           uint64_t* number) {
    const MutexLock lock(mu_);
    if (sent_.contains(name) || accepted_.contains(name)) return false;
    *number = invitation.number = ++last_number_;
    accepted_.emplace(name, std::move(invitation));
    return true;
  }

  // The invitation, if `is_meant` says so, which may change it first; it is
  // forgotten here then.
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

  // Adds to what is known of it.
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
  // Invited anew, or answered.
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

  // `leader` invites this process to the group `name`.
  void NoteInviter(const std::string& name, const ProcId& leader) {
    const MutexLock lock(mu_);
    std::erase_if(inviters_,
                  [&](const auto& one) { return one.first == name; });
    inviters_.emplace_back(name, leader);
    if (inviters_.size() > kMaxInvitationEnds) inviters_.pop_front();
  }
  // Who has sent the latest invitation to the group `name`.
  std::optional<ProcId> InviterOf(const std::string& name) {
    const MutexLock lock(mu_);
    const auto it = std::ranges::find(
        inviters_, name,
        [](const auto& one) -> const auto& { return one.first; });
    if (it == inviters_.end()) return std::nullopt;
    return it->second;
  }

  // True for one caller only: it is to subscribe to the events.
  bool BeginWatching() {
    const MutexLock lock(mu_);
    return !std::exchange(watches_, true);
  }

 private:
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
  std::map<std::string, SentInvitation> sent_ CANOPY_GUARDED_BY(mu_);
  std::map<std::string, AcceptedInvitation> accepted_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_INVITATIONS_H_
