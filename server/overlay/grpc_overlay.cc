#include "server/overlay/grpc_overlay.h"

#include <utility>

#include "server/overlay/grpc_transport.h"
#include "server/overlay/tree_overlay.h"

namespace canopy::overlay {
namespace {

GrpcTransport::Options TransportOptions(const OverlayConfig& config) {
  GrpcTransport::Options options;
  options.security = config.security;
  options.detect_ms = config.detect_ms;
  options.connect_ms = config.detect_ms / 2;
  options.alone = config.members.size() <= 1;
  return options;
}

bool IsWildcard(const std::string& address) {
  return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

}  // namespace

class GrpcOverlay::Impl {
 public:
  Impl(EventLoop* loop, InputSink* sink, OverlayConfig config,
       OverlayEvents events)
      : config_(std::move(config)),
        transport_(loop, TransportOptions(config_)),
        tree_(loop, sink, &transport_, config_, std::move(events)),
        address_(config_.listen) {}

  Status Listen() {
    Status status = transport_.Listen(config_.listen,
                                      [this](std::shared_ptr<Stream> stream) {
                                        tree_.Accept(std::move(stream));
                                      });
    if (!status.ok()) return status;
    if (transport_.port() != 0) {
      address_ = config_.listen.substr(0, config_.listen.rfind(':') + 1) +
                 std::to_string(transport_.port());
    }
    // What others dialled so far stays right; a wildcard is no address.
    const std::string& known = config_.members[config_.self].address;
    if (!known.empty()) {
      tree_.SetOwnAddress(known);
    } else if (!IsWildcard(address_)) {
      tree_.SetOwnAddress(address_);
    }
    return status;
  }

  void Stop() {
    tree_.Stop();
    transport_.Stop();
  }

  int port() const { return transport_.port(); }
  TreeOverlay& tree() { return tree_; }
  const std::string& address() const { return address_; }

 private:
  const OverlayConfig config_;
  GrpcTransport transport_;
  TreeOverlay tree_;
  std::string address_;
};

GrpcOverlay::GrpcOverlay(EventLoop* loop, InputSink* sink, OverlayConfig config,
                         OverlayEvents events)
    : impl_(std::make_unique<Impl>(loop, sink, std::move(config),
                                   std::move(events))) {}

GrpcOverlay::~GrpcOverlay() { Stop(); }

Status GrpcOverlay::Listen() { return impl_->Listen(); }
int GrpcOverlay::port() const { return impl_->port(); }
const std::string& GrpcOverlay::address() const { return impl_->address(); }

void GrpcOverlay::SetAddress(NodeId node, std::string address) {
  impl_->tree().SetAddress(node, std::move(address));
}

void GrpcOverlay::Join() { impl_->tree().Join(); }

void GrpcOverlay::Leave(std::function<void()> done) {
  impl_->tree().Leave(std::move(done));
}

void GrpcOverlay::AnnounceHandover(uint32_t ms, std::function<void()> done) {
  impl_->tree().AnnounceHandover(ms, std::move(done));
}

void GrpcOverlay::Send(core::PeerMessage message) {
  impl_->tree().Send(std::move(message));
}

bool GrpcOverlay::ready() const {
  return members_up() == impl_->tree().table().size();
}

uint32_t GrpcOverlay::members_up() const {
  return impl_->tree().table().up_count();
}

bool GrpcOverlay::member_up(NodeId node) const {
  return impl_->tree().table().Up(node);
}

NodeId GrpcOverlay::root() const { return impl_->tree().tree().root(); }

void GrpcOverlay::Stop() { impl_->Stop(); }

}  // namespace canopy::overlay
