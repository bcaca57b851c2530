#include "client/cli/run/host_adder.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/posix/start_thread.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

NodeStartOptions OptionsOf(const v1c::AddHosts& order) {
  NodeStartOptions options;
  for (const v1c::NewHost& host : order.hosts()) {
    options.hosts.push_back({host.name(),
                             host.slots(),
                             host.slots() != 0,
                             {host.aliases().begin(), host.aliases().end()}});
  }
  options.timeout_ms =
      static_cast<int>(std::min<uint32_t>(order.timeout_ms(), INT32_MAX));
  return options;
}

}  // namespace

// The root, over the link of the launcher.
class HostAdder::Root : public OverlayRoot {
 public:
  Root(HostAdder* adder, uint64_t order, int timeout_ms)
      : adder_(adder), order_(order), timeout_ms_(timeout_ms) {}

  Result<v1c::AddNodesReply> AddNodes(const v1c::AddNodesRequest& request,
                                      bool remote) override {
    v1c::OrderedNodes ordered;
    ordered.set_order(order_);
    ordered.set_remote(remote);
    *ordered.mutable_request() = request;
    return adder_->Ask(ordered, timeout_ms_);
  }

 private:
  HostAdder* const adder_;
  const uint64_t order_;
  const int timeout_ms_;
};

HostAdder::HostAdder(Add add, Send send)
    : add_(std::move(add)),
      send_(std::move(send)),
      interrupt_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

HostAdder::~HostAdder() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

Status HostAdder::Begin() {
  const MutexLock lock(mutex_);
  if (stopped_) return Status(kErrJobCanceled, "the launcher is ending");
  if (busy_) {
    return Status(kErrResourceBusy, "the launcher is adding other hosts");
  }
  busy_ = true;
  reply_.reset();
  return Status();
}

void HostAdder::Finish() {
  const MutexLock lock(mutex_);
  busy_ = false;
  changed_.NotifyAll();
}

void HostAdder::OnOrder(const v1c::AddHosts& order) {
  Status status = Begin();
  if (!status.ok()) return Report(order.order(), status);
  if (thread_.joinable()) thread_.join();
  Result<std::thread> thread = StartThread([this, order] { Execute(order); });
  if (thread.ok()) {
    thread_ = *std::move(thread);
    return;
  }
  Finish();
  Report(order.order(), thread.status());
}

void HostAdder::Execute(const v1c::AddHosts& order) {
  NodeStartOptions options = OptionsOf(order);
  options.interrupt_fd = interrupt_.get();
  Root root(this, order.order(), options.timeout_ms);
  const Status status =
      add_ ? add_(&root, options)
           : Status(kErrNotSupported, "this launcher adds no hosts");
  // The next order may follow the report at once.
  Finish();
  Report(order.order(), status);
}

void HostAdder::Report(uint64_t order, const Status& status) const {
  v1c::RunRequest request;
  v1c::HostsAdded* const added = request.mutable_hosts_added();
  added->set_order(order);
  added->set_status(status.code());
  added->set_error(status.message());
  send_(request);
}

Result<v1c::AddNodesReply> HostAdder::Ask(const v1c::OrderedNodes& ordered,
                                          int timeout_ms) {
  v1c::RunRequest request;
  *request.mutable_nodes() = ordered;
  send_(request);
  const auto give_up =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  const MutexLock lock(mutex_);
  while (!reply_ && !stopped_) {
    if (!changed_.WaitUntil(mutex_, give_up)) break;
  }
  std::optional<v1c::OrderedNodesReply> reply = std::exchange(reply_, {});
  if (!reply || reply->order() != ordered.order()) {
    return Status(kErrUnreach, "the root did not answer");
  }
  if (reply->status() != 0) return Status(reply->status(), reply->error());
  return std::move(*reply->mutable_reply());
}

void HostAdder::OnReply(const v1c::OrderedNodesReply& reply) {
  const MutexLock lock(mutex_);
  reply_ = reply;
  changed_.NotifyAll();
}

void HostAdder::Stop() {
  eventfd_write(interrupt_.get(), 1);
  const MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
  while (busy_) changed_.Wait(mutex_);
}

}  // namespace canopy::cli
