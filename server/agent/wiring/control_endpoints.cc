#include "server/agent/wiring/control_endpoints.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <utility>

#include "common/run_protocol.h"
#include "common/user_calls.h"

namespace canopy::agent {
namespace {

constexpr int64_t kCallsEndNs = int64_t{2} * 1000 * 1000 * 1000;

}  // namespace

ControlEndpoints::ControlEndpoints(EventLoop* loop,
                                   control::JobManager* job_manager,
                                   const control::AgentView& view)
    : loop_(loop),
      local_service_(loop, job_manager, view),
      network_service_(loop, job_manager, view),
      control_server_(loop),
      run_server_(loop, job_manager),
      network_server_(loop),
      user_gateway_(loop) {}

std::string ControlEndpoints::SocketIn(const std::string& directory) {
  return directory + "/control.sock";
}

Status ControlEndpoints::StartLocal(const std::string& directory) {
  const std::string socket = SocketIn(directory);
  Status status = run_server_.Start(RunSocketBeside(socket));
  if (!status.ok()) return status;
  return control_server_.Start(socket, local_service_.service());
}

Status ControlEndpoints::StartUsers(const bootstrap::v1::Config& config,
                                    const std::string& directory,
                                    const security::SecurityConfig& security) {
  return user_gateway_.Start(
      UsersSocketIn(directory),
      {config.node_name(), SocketIn(directory), security});
}

Status ControlEndpoints::StartNetwork(
    const bootstrap::v1::Config& config, const std::string& link_address,
    const security::SecurityConfig& security, relay::RelayOptions relay,
    const std::vector<grpc::Service*>& others) {
  control::NetworkOptions options;
  options.address = config.control_listen();
  if (options.address.empty()) {
    options.address = link_address.substr(0, link_address.rfind(':')) + ":0";
  }
  options.security = security;
  options.reflection = config.reflection();
  options.log = [](const std::string& line) {
    spdlog::warn("control port: {}", line);
  };
  if (security.mode != security::SecurityMode::kPlaintext) {
    relay_service_.emplace(loop_, std::move(relay));
    options.services = {network_service_.service(), relay_service_->service()};
    options.services.insert(options.services.end(), others.begin(),
                            others.end());
  } else {
    spdlog::warn(
        "plaintext: what agents send to each other can be read and changed by "
        "anyone on the network between them, and {} takes no control "
        "requests and no tools from other machines",
        config.node_name());
  }
  return network_server_.Start(options);
}

void ControlEndpoints::FlushReplies() {
  run_server_.Flush();
  network_server_.LetAnswersLeave();
  user_gateway_.LetAnswersLeave();
  control_server_.LetAnswersLeave();
}

// Runs the loop meanwhile, because pending calls cannot end without this
// thread.
void ControlEndpoints::Stop() {
  const std::future<void> ends[] = {
      user_gateway_.Stop(), control_server_.Stop(), network_server_.Stop()};
  const int64_t deadline = EventLoop::Now() + kCallsEndNs;
  for (const std::future<void>& end : ends) {
    while (end.wait_for(std::chrono::seconds(0)) != std::future_status::ready &&
           EventLoop::Now() < deadline) {
      loop_->RunOnce(1);
    }
  }
}

}  // namespace canopy::agent
