// What an agent serves to other machines beside the overlay's links: health,
// reflection, and control.
#ifndef CANOPY_SERVER_CONTROL_NETWORK_SERVER_H_
#define CANOPY_SERVER_CONTROL_NETWORK_SERVER_H_

#include <future>
#include <memory>
#include <string>
#include <vector>

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
};

// Has a port of its own, because its services bring gRPC's own threads: on the
// links' server those would poll the links too. Any thread.
class NetworkServer {
 public:
  NetworkServer();
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
