// What an agent serves to other machines beside the overlay's links: health,
// reflection, and control.
#ifndef CANOPY_SERVER_CONTROL_NETWORK_SERVER_H_
#define CANOPY_SERVER_CONTROL_NETWORK_SERVER_H_

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/security/credentials.h"

namespace grpc {
class Service;
}

namespace canopy::control {

struct NetworkOptions {
  std::string address;  // HOST:PORT, port 0 picks one
  security::SecurityConfig security;
  bool reflection = false;  // its services are listed to who asks
  // Beside health. Not owned; outlive the server.
  std::vector<grpc::Service*> services;
  // Lines for the log about who connects, at a limited rate. May be null.
  std::function<void(const std::string& line)> log;
};

// Has a port of its own, because its services bring gRPC's own threads: on the
// links' server those would poll the links too. Loop thread only, which accepts
// the connections; the loop outlives it.
class NetworkServer {
 public:
  explicit NetworkServer(EventLoop* loop);
  // Ends calls under way.
  ~NetworkServer();
  NetworkServer(const NetworkServer&) = delete;
  NetworkServer& operator=(const NetworkServer&) = delete;

  // Once. Fails when the address is taken or not this host's, or the security
  // settings do not fit.
  Status Start(const NetworkOptions& options);
  // As ControlServer's.
  void LetAnswersLeave();
  std::future<void> Stop();
  // As in the options, with the port in use.
  const std::string& address() const { return address_; }

 private:
  struct Impl;
  std::string address_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_NETWORK_SERVER_H_
