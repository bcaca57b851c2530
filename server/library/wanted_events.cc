#include "server/library/wanted_events.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::library {
namespace {

// The arguments of a host's function, which may read them until it answers.
struct Arguments {
  std::vector<int> codes;
  InfoList infos;
};

}  // namespace

bool WantedEvents::AwaitsHost(const std::vector<int>& codes) const {
  return std::ranges::any_of(codes, [this](int code) {
    const auto known = codes_.find(code);
    return known != codes_.end() && known->second.grant == Grant::kAsked;
  });
}

bool WantedEvents::Add(const core::EventsWanted& in, User user,
                       std::function<void(int status)> done) {
  if (AwaitsHost(in.codes)) {
    waiting_.push_back({in, user, std::move(done)});
    return true;
  }
  auto a = std::make_shared<Arguments>();
  for (const int code : in.codes) {
    if (!PMIX_SYSTEM_EVENT(code)) continue;
    Code& known = codes_[code];
    known.clients.insert(in.client);
    if (known.grant == Grant::kNone) a->codes.push_back(code);
  }
  if (a->codes.empty()) return false;
  if (module_.register_events == nullptr) {
    Erase(in.client, a->codes);
    done(kErrNotSupported);
    return true;
  }
  for (const int code : a->codes) codes_[code].grant = Grant::kAsked;
  a->infos.Set(PMIX_USERID, Value::Uint32(user.uid));
  a->infos.Set(PMIX_GRPID, Value::Uint32(user.gid));
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.register_events(a->codes.data(), a->codes.size(),
                                       a->infos.data(), a->infos.size(),
                                       Upcalls::OnOp, cbdata);
      },
      [this, a, client = in.client,
       done = std::move(done)](const HostAnswer& answer) {
        Settle(client, a->codes, answer.status);
        done(answer.status);
        OnAnswer();
      });
  return true;
}

void WantedEvents::OnAnswer() {
  std::vector<Waiting> waiting;
  waiting.swap(waiting_);
  for (Waiting& one : waiting) {
    // The function is copied first, because Add may move the original.
    const std::function<void(int)> done = one.done;
    if (!Add(one.in, one.user, std::move(one.done))) done(kSuccess);
  }
}

// Records the host's answer. The client may have disconnected or unsubscribed
// meanwhile.
void WantedEvents::Settle(core::ClientId client, const std::vector<int>& codes,
                          int status) {
  if (status != kSuccess) return Erase(client, codes);
  std::vector<int> unwanted;
  for (const int code : codes) {
    const auto known = codes_.find(code);
    if (known == codes_.end()) {
      unwanted.push_back(code);
    } else {
      known->second.grant = Grant::kGranted;
    }
  }
  Deregister(std::move(unwanted));
}

void WantedEvents::Remove(const core::EventsUnwanted& in) {
  Erase(in.client, in.codes);
}

void WantedEvents::RemoveAll(core::ClientId client) {
  std::erase_if(waiting_, [client](const Waiting& waiting) {
    return waiting.in.client == client;
  });
  std::vector<int> codes;
  for (const auto& [code, known] : codes_) codes.push_back(code);
  Erase(client, codes);
}

void WantedEvents::Erase(core::ClientId client, const std::vector<int>& codes) {
  std::vector<int> unwanted;
  for (const int code : codes) {
    const auto known = codes_.find(code);
    if (known == codes_.end()) continue;
    known->second.clients.erase(client);
    if (!known->second.clients.empty()) continue;
    if (known->second.grant == Grant::kGranted) unwanted.push_back(code);
    codes_.erase(known);
  }
  Deregister(std::move(unwanted));
}

void WantedEvents::Deregister(std::vector<int> codes) {
  if (codes.empty() || module_.deregister_events == nullptr) return;
  const auto a = std::make_shared<Arguments>();
  a->codes = std::move(codes);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.deregister_events(a->codes.data(), a->codes.size(),
                                         Upcalls::OnOp, cbdata);
      },
      [](const HostAnswer&) {});
}

}  // namespace canopy::library
