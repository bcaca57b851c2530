#include "server/control/host_additions.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "common/time_units.h"

namespace canopy::control {
namespace {

constexpr size_t kMaxWaiting = 64;
constexpr size_t kMaxHosts = 1024;
// The time limit of an order, and the part of it that the launcher gets for the
// start of the agents. The rest is for their last steps and for the answer.
constexpr int64_t kLimitNs = 75 * kNsPerSecond;
constexpr int64_t kReserveNs = 15 * kNsPerSecond;
constexpr int64_t kPollNs = 10 * kNsPerMs;

Status CannotAdd(const Status& why) {
  const int code =
      why.code() == kErrNotSupported ? kErrNotSupported : kErrJobAllocFailed;
  return Status(code, "its hosts cannot be added: " + Printable(why.message()));
}

}  // namespace

HostAdditions::~HostAdditions() {
  if (!order_) return;
  loop_->CancelTimer(order_->limit);
  loop_->CancelTimer(order_->poll);
}

void HostAdditions::Add(Request request) {
  if (waiting_.size() >= kMaxWaiting) {
    return request.done(Status(kErrOutOfResource,
                               "too many spawns wait for hosts to be added"));
  }
  waiting_.push_back(std::move(request));
  Next();
}

void HostAdditions::Next() {
  while (!order_ && !waiting_.empty()) {
    Request request = std::move(waiting_.front());
    waiting_.pop_front();
    Begin(std::move(request));
  }
}

void HostAdditions::Begin(Request request) {
  const Result<std::vector<Host>> hosts = request.missing();
  if (!hosts.ok() || hosts->empty()) return request.done(hosts.status());
  if (hosts->size() > kMaxHosts) {
    return request.done(Status(
        kErrOutOfResource,
        "a spawn may add " + std::to_string(kMaxHosts) + " hosts at most"));
  }
  Launcher* const launcher = LauncherFor(request.nspace);
  if (launcher == nullptr) {
    return request.done(Status(
        kErrNotSupported, "'" + Printable(hosts->front().name) +
                              "' is no node of the overlay, and the job has no "
                              "launcher that could add it"));
  }
  int64_t limit = kLimitNs;
  if (request.give_up != 0) {
    limit = std::clamp<int64_t>(request.give_up - EventLoop::Now(), 0, limit);
  }
  Order& order = *(order_ = Order());
  order.number = next_order_++;
  order.launcher = families_->FamilyOf(request.nspace)->launcher;
  order.num_hosts = hosts->size();
  order.request = std::move(request);
  order.limit = loop_->AddTimer(limit, [this] {
    End(Status(kErrJobAllocFailed, "its hosts did not join in time"));
  });
  SendOrder(launcher, *hosts, limit);
}

Launcher* HostAdditions::LauncherFor(const std::string& nspace) {
  Launcher* const launcher = families_->LauncherOf(nspace);
  return launcher != nullptr && launcher->adds_hosts ? launcher : nullptr;
}

void HostAdditions::SendOrder(Launcher* launcher,
                              const std::vector<Host>& hosts,
                              int64_t limit_ns) {
  v1::RunEvent event;
  v1::AddHosts* const order = event.mutable_add_hosts();
  order->set_order(order_->number);
  const int64_t for_start = std::max(limit_ns - kReserveNs, limit_ns / 2);
  order->set_timeout_ms(static_cast<uint32_t>(for_start / kNsPerMs));
  for (const Host& host : hosts) {
    v1::NewHost* const entry = order->add_hosts();
    entry->set_name(host.name);
    entry->set_slots(host.slots_given ? host.slots : 0);
    for (const std::string& alias : host.aliases) entry->add_aliases(alias);
  }
  launcher->Send(std::move(event));
}

bool HostAdditions::IsCurrent(uint64_t launcher, uint64_t order) const {
  return order_ && order_->number == order && order_->launcher == launcher;
}

Result<v1::AddNodesReply> HostAdditions::AddNodes(
    const v1::OrderedNodes& nodes) {
  if (static_cast<size_t>(nodes.request().nodes_size()) > order_->num_hosts) {
    return Status(kErrBadParam, "the order has fewer hosts");
  }
  Result<v1::AddNodesReply> reply =
      planner_->hosts.add(nodes.request(), nodes.remote());
  if (!reply.ok()) return reply;
  for (const v1::AddedNode& node : reply->nodes()) {
    if (std::ranges::count(order_->nodes, node.node()) == 0) {
      order_->nodes.push_back(node.node());
    }
    if (node.is_new()) order_->made.push_back(node.node());
  }
  return reply;
}

void HostAdditions::OnNodes(uint64_t launcher, const v1::OrderedNodes& nodes) {
  Launcher* const asker = families_->FindLauncher(launcher);
  if (asker == nullptr) return;
  Result<v1::AddNodesReply> reply =
      IsCurrent(launcher, nodes.order())
          ? AddNodes(nodes)
          : Status(kErrNotFound, "the order to add hosts is over");
  v1::RunEvent event;
  v1::OrderedNodesReply* const out = event.mutable_nodes();
  out->set_order(nodes.order());
  out->set_status(reply.code());
  out->set_error(reply.status().message());
  if (reply.ok()) *out->mutable_reply() = *std::move(reply);
  asker->Send(std::move(event));
}

void HostAdditions::OnAdded(uint64_t launcher, const v1::HostsAdded& added) {
  if (!IsCurrent(launcher, added.order())) return;
  if (added.status() != 0) {
    return End(CannotAdd(Status(added.status(), added.error())));
  }
  AwaitUp();
}

// The new agents are ready when they have a link. The state that reports this
// arrives over the tree, possibly after the launcher's message.
void HostAdditions::AwaitUp() {
  loop_->CancelTimer(order_->poll);
  if (std::ranges::all_of(order_->nodes, planner_->hosts.is_up)) {
    return End(Status());
  }
  order_->poll = loop_->AddTimer(kPollNs, [this] { AwaitUp(); });
}

void HostAdditions::OnLauncherGone(uint64_t launcher) {
  if (!order_ || order_->launcher != launcher) return;
  End(CannotAdd(Status(kErrJobCanceled, "the launcher ended")));
}

void HostAdditions::End(const Status& status) {
  Order order = *std::exchange(order_, std::nullopt);
  loop_->CancelTimer(order.limit);
  loop_->CancelTimer(order.poll);
  if (!status.ok() && !order.made.empty()) planner_->hosts.remove(order.made);
  order.request.done(status);
  Next();
}

}  // namespace canopy::control
