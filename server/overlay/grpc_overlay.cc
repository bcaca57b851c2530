#include "server/overlay/grpc_overlay.h"

#include <absl/time/time.h>

#include <utility>

#include "server/overlay/grpc_transport.h"
#include "server/overlay/tree_overlay.h"
#include "server/rpc/status.h"

namespace canopy::overlay {
namespace {

GrpcTransport::Options TransportOptions(const OverlayConfig& config,
                                        const OverlayEvents& events) {
  GrpcTransport::Options options;
  options.security = config.security;
  options.detect = absl::Milliseconds(config.detect_ms);
  options.connect = options.detect / 2;
  options.alone = config.members.size() <= 1;
  options.driver = config.driver;
  options.log = events.warning;
  return options;
}

bool IsWildcard(const std::string& address) {
  return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

}  // namespace

GrpcOverlay::GrpcOverlay(EventLoop* loop, InputSink* sink, OverlayConfig config,
                         OverlayEvents events)
    : config_(std::move(config)),
      transport_(std::make_unique<GrpcTransport>(
          loop, TransportOptions(config_, events))),
      tree_(std::make_unique<TreeOverlay>(loop, sink, transport_.get(), config_,
                                          std::move(events))),
      address_(config_.listen) {}

GrpcOverlay::~GrpcOverlay() { Stop(); }

Status GrpcOverlay::Listen() {
  const absl::Status status = transport_->Listen(
      config_.listen, [this](std::shared_ptr<Stream> stream) {
        tree_->Accept(std::move(stream));
      });
  if (!status.ok()) return rpc::FromAbsl(status);
  address_ = config_.listen.substr(0, config_.listen.rfind(':') + 1) +
             std::to_string(port());
  // A configured address, which other members dial, stays valid; a wildcard is
  // not an address that they could dial.
  const std::string& known = config_.members[config_.self].address;
  if (!known.empty()) {
    tree_->SetOwnAddress(known);
  } else if (!IsWildcard(address_)) {
    tree_->SetOwnAddress(address_);
  }
  return Status();
}

int GrpcOverlay::port() const { return transport_->port(); }
const std::string& GrpcOverlay::address() const { return address_; }
const std::string& GrpcOverlay::driver() const { return transport_->driver(); }

void GrpcOverlay::SetAddress(NodeId node, std::string address) {
  tree_->SetAddress(node, std::move(address));
}

void GrpcOverlay::Join() { tree_->Join(); }

void GrpcOverlay::Leave(std::function<void()> done) {
  tree_->Leave(std::move(done));
}

void GrpcOverlay::AnnounceHandover(uint32_t ms, std::function<void()> done) {
  tree_->AnnounceHandover(ms, std::move(done));
}

void GrpcOverlay::Send(const core::PeerMessage& message) {
  tree_->Send(message);
}

bool GrpcOverlay::ready() const {
  return members_up() == tree_->table().size();
}

uint32_t GrpcOverlay::members_up() const { return tree_->table().up_count(); }

std::optional<int64_t> GrpcOverlay::TimeToLoss(NodeId node) const {
  return tree_->TimeToLoss(node);
}

uint64_t GrpcOverlay::incarnation() const {
  return tree_->table().Incarnation(config_.self);
}

NodeId GrpcOverlay::root() const { return tree_->tree().root(); }

void GrpcOverlay::Stop() {
  tree_->Stop();
  transport_->Stop();
}

}  // namespace canopy::overlay
