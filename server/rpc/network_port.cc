#include "server/rpc/network_port.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "server/net/peer_address.h"

namespace canopy::rpc {
namespace {

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
using Experimental = grpc::ServerBuilder::experimental_type;

constexpr int64_t kMillisecondNs = 1000 * 1000;

}  // namespace

// Shared with posted work and with the server, so this object may outlive the
// port.
struct NetworkPort::Shared : public std::enable_shared_from_this<Shared> {
  Shared(EventLoop* l, int64_t timeout)
      : loop(l), timeout_ms(static_cast<int>(timeout / kMillisecondNs)) {}

  void Take(int listening, UniqueFd connection);
  void CountSilent() { silent = listener ? listener->num_silent() : 0; }
  void Heard(const std::string& peer);

  EventLoop* const loop;
  const int timeout_ms;
  std::optional<net::NetworkListener> listener;
  std::unique_ptr<Acceptor> acceptor;
  // Also read by other threads: while it is 0, Heard costs nothing.
  std::atomic<size_t> silent = 0;
};

namespace {

// An interceptor that only observes the beginning of calls.
class CallObserver
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallObserver(std::function<void(const std::string&)> heard)
      : heard_(std::move(heard)) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    heard_(info->server_context()->peer());
    return nullptr;
  }

 private:
  const std::function<void(const std::string&)> heard_;
};

}  // namespace

void NetworkPort::Shared::Take(int listening, UniqueFd connection) {
  ++silent;
  Acceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listening;
  parameters.fd = connection.Release();
  acceptor->HandleNewConnection(&parameters);
}

void NetworkPort::Shared::Heard(const std::string& peer) {
  if (silent == 0) return;
  loop->Post([self = shared_from_this(), peer] {
    self->loop->AssertOnThread();
    if (!self->listener) return;
    if (const auto text = net::PeerTextOfUri(peer)) {
      self->listener->Heard(*text);
    }
    self->CountSilent();
  });
}

NetworkPort::NetworkPort(EventLoop* loop, Options options)
    : shared_(std::make_shared<Shared>(loop, options.limits.timeout_ns)) {
  net::NetworkListener::Options listener;
  listener.take = [shared = shared_.get()](int listening, UniqueFd fd) {
    shared->Take(listening, std::move(fd));
  };
  listener.log = std::move(options.log);
  listener.unacknowledged_ms = options.unacknowledged_ms;
  listener.limits = options.limits;
  shared_->listener.emplace(loop, std::move(listener));
}

NetworkPort::~NetworkPort() {
  Close();
  shared_->listener.reset();
}

Status NetworkPort::Listen(const std::string& address) {
  const Status status = shared_->listener->Listen(address);
  if (status.ok()) return status;
  return Status(kErrUnreach, "cannot listen on " + address +
                                 ": in use, or not an address of this host");
}

int NetworkPort::port() const { return shared_->listener->port(); }

void NetworkPort::AddTo(grpc::ServerBuilder* builder,
                        std::shared_ptr<grpc::ServerCredentials> credentials) {
  shared_->acceptor = builder->experimental().AddExternalConnectionAcceptor(
      Experimental::ExternalConnectionType::FROM_FD, std::move(credentials));
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              shared_->timeout_ms);
}

void NetworkPort::AddWithCallsTo(
    grpc::ServerBuilder* builder,
    std::shared_ptr<grpc::ServerCredentials> credentials) {
  AddTo(builder, std::move(credentials));
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      observers;
  observers.push_back(std::make_unique<CallObserver>(
      [shared = shared_](const std::string& peer) { shared->Heard(peer); }));
  builder->experimental().SetInterceptorCreators(std::move(observers));
}

void NetworkPort::Open() { shared_->listener->Open(); }

void NetworkPort::Close() { shared_->listener->Close(); }

void NetworkPort::Heard(const std::string& peer) { shared_->Heard(peer); }

}  // namespace canopy::rpc
