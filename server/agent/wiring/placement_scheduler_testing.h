// A scheduler whose behaviour follows from a seed: it places jobs correctly,
// incorrectly, twice, late or never, and may die at any moment.
#ifndef CANOPY_SERVER_AGENT_WIRING_PLACEMENT_SCHEDULER_TESTING_H_
#define CANOPY_SERVER_AGENT_WIRING_PLACEMENT_SCHEDULER_TESTING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/scheduler/fake_service_client.h"
#include "server/scheduler/service_client.h"

namespace canopy::agent {

inline constexpr int kGone = 14;
inline constexpr int kInternal = 13;
inline constexpr int kFailedPrecondition = 9;
inline constexpr uint32_t kSlots = 4;  // of each node
inline constexpr char kLost[] = "lost";
inline constexpr char kDrained[] = "drained";
inline constexpr const char* kNodes[] = {"n0", "n1",  "n2",
                                         "n3", kLost, kDrained};
inline constexpr size_t kUsable = 4;  // kNodes[0] to kNodes[3]

// How the scheduler handles a request.
enum class Manner : uint8_t {
  kWell,
  kTwice,           // grants again, on other nodes
  kRefusesToo,      // refuses after it has granted
  kDiesBefore,      // dies before it answers
  kDiesAfter,       // dies after its grant, before it is notified of the launch
  kEndsSilently,    // ends the call, and places the job when requested again
  kFails,           // fails the call, and places the job when requested again
  kOversubscribes,  // grants slots that are in use
  // With the manners above, the job is placed in the end; with those below, it
  // is not.
  kMalformed,
  kUnknownNode,
  kLostNode,
  kDrainedNode,
  kTooFew,  // grants fewer slots than processes
  kRefuses,
  kNever,  // never answers
};
inline constexpr size_t kNumManners = 15;

inline bool Places(Manner manner) { return manner <= Manner::kOversubscribes; }

// Pending events, which run in an order that follows from a seed.
class Events {
 public:
  explicit Events(uint64_t seed) : rng_(seed) {}

  uint64_t Random(uint64_t n) { return rng_() % n; }
  bool OneIn(uint64_t n) { return Random(n) == 0; }
  void Post(uint64_t delay, std::function<void()> what) {
    events_.emplace(now_ + delay, std::move(what));
  }
  bool RunOne() {
    if (events_.empty()) return false;
    now_ = std::max(now_, events_.begin()->first);
    const auto what = std::move(events_.extract(events_.begin()).mapped());
    what();
    return true;
  }

 private:
  std::mt19937_64 rng_;
  uint64_t now_ = 0;
  std::multimap<uint64_t, std::function<void()>> events_;
};

// The decision on one request. The scheduler may receive the request several
// times.
struct Decision {
  Manner manner = Manner::kWell;
  uint32_t wanted = 0;
  bool asked_again = false;
  std::map<std::string, uint32_t> granted;  // slots by node; empty: none yet
  int status = 0;                           // status of a refusal
  uint32_t launched = 0;                    // notifications of the launch
  uint32_t released = 0;
  std::string nspace;  // namespace of the job, while it runs
  uint64_t root = 0;   // the last root that requested it
  bool cancelled = false;
};

class PlayedService : public scheduler::FakeServiceClient {
 public:
  using Error = std::function<void(const std::string&)>;
  using FakeServiceClient::Send;

  PlayedService(Events* events, Error error)
      : events_(*events), error_(std::move(error)) {}

  // Called when the root has died, so that its calls are over. The next root
  // attaches, and its snapshot reports which placements are in use. A placement
  // that is neither in use nor requested again is free.
  void ReplaceRoot(std::function<bool(const std::string&)> is_used) {
    ++root_;
    for (PlaceCall& call : calls_) call.over = true;
    events_.Post(kSettle, [this, root = root_, is_used] {
      for (auto& [request, it] : decisions) {
        if (it.root < root && !is_used(request)) ++it.released;
      }
    });
  }

  bool connected() const override { return connected_; }

  scheduler::CallPtr Send(
      const hostmodule::v1::GetCapabilitiesRequest&, int64_t,
      Done<hostmodule::v1::GetCapabilitiesResponse> done) override {
    events_.Post(1, [this, done, root = root_] {
      if (root != root_) return;
      hostmodule::v1::GetCapabilitiesResponse reply;
      reply.add_features(hostmodule::v1::FEATURE_PLACE_JOB);
      connected_ = alive_;
      done(alive_ ? scheduler::CallEnd() : scheduler::CallEnd{kGone, "away"},
           reply);
    });
    return std::make_shared<scheduler::FakeCall>();
  }
  scheduler::CallPtr Send(
      const hostmodule::v1::JobLaunchedRequest& request, int64_t,
      Done<hostmodule::v1::JobLaunchedResponse> done) override {
    return Take<hostmodule::v1::JobLaunchedResponse>(
        std::move(done), [this, request] {
          ++decisions.at(request.placement().request_id()).launched;
        });
  }
  scheduler::CallPtr Send(
      const hostmodule::v1::JobReleasedRequest& request, int64_t,
      Done<hostmodule::v1::JobReleasedResponse> done) override {
    return Take<hostmodule::v1::JobReleasedResponse>(
        std::move(done), [this, request] {
          const auto it = decisions.find(request.placement().request_id());
          // If there is no decision, the request was cancelled before.
          if (it == decisions.end()) return;
          ++it->second.released;
          if (it->second.nspace.empty()) return;
          error_("what " + it->second.nspace + " runs on is released");
        });
  }
  scheduler::CallPtr Place(
      const hostmodule::v1::PlaceJobRequest& request, int64_t,
      std::function<void(const hostmodule::v1::PlaceJobResponse&)> on_update,
      std::function<void(const scheduler::CallEnd&)> on_end) override {
    const size_t number = calls_.size();
    calls_.push_back({request.placement().request_id(), std::move(on_update),
                      std::move(on_end),
                      std::make_shared<scheduler::FakeCall>()});
    const scheduler::CallPtr call = calls_.back().call;
    events_.Post(events_.Random(20), [this, number, request] {
      if (calls_[number].over) return;
      if (!alive_) return End(number, {kGone, "away"});
      if (calls_[number].call->cancelled) return End(number, {1, "cancelled"});
      Hear(request);
      Decide(number);
    });
    return call;
  }

  // Returns the number of slots of a node that were not granted or have been
  // released.
  uint32_t Free(const std::string& node) const {
    uint32_t used = 0;
    for (const auto& [request, it] : decisions) {
      const auto granted = it.granted.find(node);
      const bool counts = it.manner != Manner::kOversubscribes &&
                          it.released == 0 && granted != it.granted.end();
      used += counts ? granted->second : 0;
    }
    return used < kSlots ? kSlots - used : 0;
  }

  std::map<std::string, Decision> decisions;  // the key is the request's name
  // Returns the manner for a new request.
  std::function<Manner()> manner;
  uint64_t deaths = 0;

 private:
  struct PlaceCall {
    std::string request;
    std::function<void(const hostmodule::v1::PlaceJobResponse&)> on_update;
    std::function<void(const scheduler::CallEnd&)> on_end;
    std::shared_ptr<scheduler::FakeCall> call;
    bool over = false;
  };

  template <typename Reply>
  scheduler::CallPtr Take(Done<Reply> done, std::function<void()> effect) {
    events_.Post(1 + events_.Random(5), [this, done, effect, root = root_] {
      if (!alive_ && root != root_) return;
      if (!alive_) return done({kGone, "away"}, Reply());
      effect();
      if (root != root_) return;
      // The reply may be lost although the scheduler has handled the call.
      done(events_.OneIn(8) ? scheduler::CallEnd{kGone, "lost"}
                            : scheduler::CallEnd(),
           Reply());
    });
    return std::make_shared<scheduler::FakeCall>();
  }

  void Hear(const hostmodule::v1::PlaceJobRequest& request) {
    const auto [it, is_new] =
        decisions.try_emplace(request.placement().request_id());
    Decision& decision = it->second;
    if (decision.released > 0) {  // the request is decided again
      decision.granted.clear();
      decision.released = 0;
    }
    decision.asked_again = !is_new;
    decision.root = root_;
    decision.wanted = request.num_slots();
    if (is_new) decision.manner = manner();
  }

  void Decide(size_t number) {
    PlaceCall& call = calls_[number];
    if (call.over || call.call->cancelled) return End(number, {1, "cancelled"});
    Decision& it = decisions.at(call.request);
    switch (it.manner) {
      case Manner::kDiesBefore:
        if (!it.asked_again) return Die();
        return Grant(number, &it);
      case Manner::kEndsSilently:
        if (!it.asked_again) return End(number, {});
        return Grant(number, &it);
      case Manner::kRefuses:
        return Refuse(number, &it);
      case Manner::kFails:
        if (!it.asked_again) return End(number, {kInternal, "exception"});
        return Grant(number, &it);
      case Manner::kNever:
        return;
      default:
        return Grant(number, &it);
    }
  }

  // Chooses free slots for a request. Returns false if there are too few.
  bool Choose(Decision* it) const {
    uint32_t left = it->wanted;
    for (size_t i = 0; i < kUsable && left > 0; ++i) {
      const bool over = it->manner == Manner::kOversubscribes;
      const uint32_t take = std::min(left, over ? kSlots : Free(kNodes[i]));
      if (take == 0) continue;
      it->granted[kNodes[i]] = take;
      left -= take;
    }
    if (left > 0) it->granted.clear();
    return left == 0;
  }

  void Grant(size_t number, Decision* it) {
    if (it->granted.empty() && Places(it->manner) && !Choose(it)) {
      hostmodule::v1::PlaceJobResponse update;
      update.mutable_queued()->set_reason("no room");
      Update(number, update, 0);
      return events_.Post(30, [this, number] { Decide(number); });
    }
    hostmodule::v1::PlaceJobResponse update =
        Places(it->manner) ? GrantOf(it->granted) : BadGrant(it);
    Update(number, update, 0);
    if (it->manner == Manner::kTwice) {
      Update(number, GrantOf({{kNodes[0], 1}}), events_.Random(10));
    } else if (it->manner == Manner::kRefusesToo) {
      events_.Post(events_.Random(10), [this, number] {
        End(number, {kFailedPrecondition, "refused"});
      });
    } else if (it->manner == Manner::kDiesAfter) {
      events_.Post(events_.Random(3), [this] { Die(); });
    } else if (events_.OneIn(2)) {
      events_.Post(10, [this, number] { End(number, {}); });
    }
  }

  static hostmodule::v1::PlaceJobResponse GrantOf(
      const std::map<std::string, uint32_t>& slots) {
    hostmodule::v1::PlaceJobResponse update;
    update.mutable_granted()->set_host_job_id("job");
    for (const auto& [name, count] : slots) {
      hostmodule::v1::GrantedNode* const node =
          update.mutable_granted()->add_nodes();
      node->set_name(name);
      node->set_slots(count);
    }
    return update;
  }

  hostmodule::v1::PlaceJobResponse BadGrant(Decision* it) {
    switch (it->manner) {
      case Manner::kUnknownNode:
        it->granted = {{"nowhere", it->wanted}};
        break;
      case Manner::kLostNode:
        it->granted = {{kLost, it->wanted}};
        break;
      case Manner::kDrainedNode:
        it->granted = {{kDrained, it->wanted}};
        break;
      case Manner::kTooFew:
        it->granted = {{kNodes[0], it->wanted - 1}};
        break;
      default: {
        hostmodule::v1::PlaceJobResponse update =
            GrantOf({{kNodes[1], it->wanted}});
        if (events_.OneIn(2)) {
          *update.mutable_granted()->add_nodes() = update.granted().nodes(0);
        } else {
          update.mutable_granted()->mutable_nodes(0)->set_slots(0);
        }
        it->granted = {{kNodes[1], 0}};
        return update;
      }
    }
    return GrantOf(it->granted);
  }

  void Refuse(size_t number, Decision* it) {
    it->status = kErrJobInsufficientResources;
    End(number, {kFailedPrecondition, "refused", it->status});
  }

  // Sends an update, even for a call that was answered, if the connection still
  // exists.
  void Update(size_t number, const hostmodule::v1::PlaceJobResponse& update,
              uint64_t delay) {
    events_.Post(delay, [this, number, update] {
      if (!calls_[number].over) calls_[number].on_update(update);
    });
  }
  void End(size_t number, const scheduler::CallEnd& end) {
    events_.Post(0, [this, number, end] {
      if (!std::exchange(calls_[number].over, true)) {
        calls_[number].on_end(end);
      }
    });
  }

  void Die() {
    if (!std::exchange(alive_, false)) return;
    connected_ = false;
    ++deaths;
    for (size_t i = 0; i < calls_.size(); ++i) End(i, {kGone, "it has died"});
    events_.Post(5 + events_.Random(50), [this] { alive_ = true; });
  }

  static constexpr uint64_t kSettle = 1000;

  Events& events_;
  const Error error_;
  uint64_t root_ = 0;  // number of the root that calls
  std::vector<PlaceCall> calls_;
  bool alive_ = true;
  bool connected_ = true;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_PLACEMENT_SCHEDULER_TESTING_H_
