#include "server/control/place_query.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "protos/control.grpc.pb.h"
#include "server/control/agent_channel.h"

namespace canopy::control {
namespace {

// Calls that are in progress at the same time.
constexpr size_t kAtOnce = 64;
constexpr std::chrono::seconds kStatusTime{2};
constexpr std::chrono::seconds kAddTime{5};

std::chrono::system_clock::time_point After(std::chrono::seconds time) {
  return std::chrono::system_clock::now() + time;
}

// Returns null if there are no credentials for this address.
std::unique_ptr<v1::Control::Stub> StubFor(
    const std::string& address, const security::SecurityConfig& security) {
  const auto channel = MakeAgentChannel(address, security);
  return channel.ok() ? v1::Control::NewStub(*channel) : nullptr;
}

// One call of Control.Status.
struct StatusCall {
  std::unique_ptr<v1::Control::Stub> stub;
  grpc::ClientContext context;
  v1::StatusReply reply;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::StatusReply>> reader;
};

void Begin(const std::string& address, const security::SecurityConfig& security,
           grpc::CompletionQueue* queue, std::deque<StatusCall>* calls) {
  auto stub = StubFor(address, security);
  if (stub == nullptr) return;
  StatusCall& call = calls->emplace_back();
  call.stub = std::move(stub);
  call.context.set_deadline(After(kStatusTime));
  call.reader = call.stub->AsyncStatus(&call.context, {}, queue);
  call.reader->Finish(&call.reply, &call.status, &call);
}

// Returns the state of the overlay as the first of these agents that answers
// sees it.
std::optional<v1::StatusReply> FirstStatus(
    const std::vector<std::string>& addresses,
    const security::SecurityConfig& security) {
  grpc::CompletionQueue queue;
  std::deque<StatusCall> calls;
  for (const std::string& address : addresses) {
    Begin(address, security, &queue, &calls);
  }
  std::optional<v1::StatusReply> first;
  void* tag = nullptr;
  bool is_ok = false;
  for (size_t left = calls.size(); left > 0 && queue.Next(&tag, &is_ok);
       --left) {
    auto* const call = static_cast<StatusCall*>(tag);
    if (first || !call->status.ok()) continue;
    first = std::move(call->reply);
    for (StatusCall& other : calls) other.context.TryCancel();
  }
  queue.Shutdown();
  while (queue.Next(&tag, &is_ok)) {
  }
  return first;
}

Result<v1::AddNodesReply> AddAt(const std::string& leader,
                                const PlaceQuery& query) {
  const auto stub = StubFor(leader, query.security);
  if (stub == nullptr) return Status(kErrUnreach, "its leader has no address");
  grpc::ClientContext context;
  context.set_deadline(After(kAddTime));
  v1::AddNodesRequest request;
  request.add_nodes(query.node);
  v1::AddNodesReply reply;
  const grpc::Status status = stub->AddNodes(&context, request, &reply);
  if (!status.ok()) {
    return Status(kErrUnreach,
                  "its leader at " + leader + ": " + status.error_message());
  }
  if (reply.nodes_size() != 1) {
    return Status(kErrUnreach, "its leader at " + leader + " is malformed");
  }
  if (!reply.nodes(0).up()) return reply;
  return Status(kErrUnreach, "a node of this name is up");
}

}  // namespace

Result<v1::AddNodesReply> AskForPlace(const PlaceQuery& query) {
  for (size_t begin = 0; begin < query.addresses.size(); begin += kAtOnce) {
    const auto first =
        query.addresses.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto left = static_cast<size_t>(query.addresses.end() - first);
    const auto last =
        first + static_cast<std::ptrdiff_t>(std::min(left, kAtOnce));
    const std::optional<v1::StatusReply> overlay =
        FirstStatus({first, last}, query.security);
    if (!overlay) continue;
    const auto leader =
        std::ranges::find_if(overlay->nodes(), &v1::NodeStatus::leader);
    if (leader == overlay->nodes().end()) {
      return Status(kErrUnreach, "it has no leader now");
    }
    return AddAt(query.control_of(leader->address()), query);
  }
  return Status(kErrNotFound, "no agent answers");
}

}  // namespace canopy::control
