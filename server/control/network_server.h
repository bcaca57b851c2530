// The services of an agent for other machines, besides the overlay's links:
// health, reflection, and control.
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
  std::string address;  // HOST:PORT; port 0 chooses a free one
  security::SecurityConfig security;
  bool reflection = false;  // clients can list the services
  // The services other than health. They are not owned and outlive the server.
  std::vector<grpc::Service*> services;
  // Writes log lines about clients that connect, at a limited rate. May be
  // empty.
  std::function<void(const std::string& line)> log;
};

// The server has its own port, because its services use gRPC's threads, which
// on the links' server would poll the links too. The loop accepts the
// connections and outlives the server. Loop thread only.
class NetworkServer {
 public:
  explicit NetworkServer(EventLoop* loop);
  // Ends running calls.
  ~NetworkServer();
  NetworkServer(const NetworkServer&) = delete;
  NetworkServer& operator=(const NetworkServer&) = delete;

  // Starts to listen. Called once. Fails if the address is in use or not this
  // host's, or if the security settings are invalid.
  Status Start(const NetworkOptions& options);
  // As the functions of ControlServer with these names.
  void LetAnswersLeave();
  std::future<void> Stop();
  // Returns the address of the options, with the port in use.
  const std::string& address() const { return address_; }

 private:
  struct Impl;
  std::string address_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_NETWORK_SERVER_H_
