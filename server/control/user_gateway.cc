#include "server/control/user_gateway.h"

#include <absl/time/time.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <climits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "common/hosts.h"
#include "common/mutex.h"
#include "common/posix/unix_socket.h"
#include "common/run_protocol.h"
#include "common/string_util.h"
#include "common/user_calls.h"
#include "server/control/agent_channel.h"
#include "server/control/caller.h"
#include "server/control/end_calls.h"
#include "server/control/forwarded_call.h"
#include "server/rpc/without_reflection.h"

namespace canopy::control {
namespace {

constexpr int kMaxIdleMs = 60000;
constexpr absl::Duration kExitTime = absl::Milliseconds(500);
constexpr std::string_view kService = "/canopy.control.v1.Control/";

grpc::Status Denied(const std::string& why) {
  return {grpc::StatusCode::PERMISSION_DENIED, why};
}

// Returns the user of a connection. gRPC calls the peer of a connection that it
// was given "fd:N", and N stays open while a call of that connection exists.
std::optional<uid_t> UserOf(std::string_view peer) {
  constexpr std::string_view kPrefix = "fd:";
  if (!peer.starts_with(kPrefix)) return std::nullopt;
  const auto fd = ParseNumber(peer.substr(kPrefix.size()), INT_MAX - 1);
  if (!fd) return std::nullopt;
  const Result<uid_t> user = GetPeerUser(static_cast<int>(*fd));
  return user.ok() ? std::optional<uid_t>(*user) : std::nullopt;
}

std::string MemberOf(const grpc::GenericCallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto member = metadata.find(kMemberMetadata);
  return member == metadata.end()
             ? ""
             : std::string(member->second.data(), member->second.size());
}

}  // namespace

// Its functions are called on gRPC's threads.
class UserGateway::Service : public grpc::CallbackGenericService {
 public:
  explicit Service(Options options) : options_(std::move(options)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    if (!context->method().starts_with(kService)) {
      return new RefusedCall({grpc::StatusCode::UNIMPLEMENTED, ""});
    }
    const std::optional<uid_t> uid = UserOf(context->peer());
    if (!uid) return new RefusedCall(Denied("the caller is unknown"));
    const Result<std::string> user = NameOfUser(*uid);
    if (!user.ok()) return new RefusedCall(Denied(user.status().message()));
    UserCalls::Slot slot = calls_.Begin(*uid);
    if (slot == nullptr) {
      return new RefusedCall({grpc::StatusCode::RESOURCE_EXHAUSTED,
                              "user " + *user + " has too many calls here"});
    }
    const auto channel = ChannelTo(MemberOf(*context));
    if (!channel.ok()) {
      return new RefusedCall(
          {grpc::StatusCode::UNAVAILABLE, channel.status().message()});
    }
    auto* const call =
        new ForwardedCall(context, *channel, *user, std::move(slot));
    call->Begin();
    return call;
  }

  void SetMember(const std::string& name, const std::string& address) {
    const MutexLock lock(mutex_);
    members_[name].address = address;
  }

 private:
  struct Member {
    std::string address;
    // Exists while a call uses it.
    std::weak_ptr<grpc::Channel> channel = {};
  };

  Result<std::shared_ptr<grpc::Channel>> ChannelTo(const std::string& name) {
    const bool is_own = name.empty() || name == options_.own_name;
    std::string address = "unix:" + options_.own_socket;
    if (!is_own) {
      const MutexLock lock(mutex_);
      const Member* const member = Find(name);
      if (member == nullptr || member->address.empty()) {
        return Status(kErrUnreach, "node '" + name + "' cannot be reached");
      }
      if (auto channel = member->channel.lock()) return channel;
      address = member->address;
    }
    // Without the lock, because the system's resolver may block.
    auto channel = MakeAgentChannel(address, SecurityFor(address));
    if (!channel.ok() || is_own) return channel;
    const MutexLock lock(mutex_);
    const auto member = members_.find(name);
    if (member != members_.end()) member->second.channel = *channel;
    return channel;
  }

  // Returns the member of this name or with this host, or null. The members of
  // a cluster whose nodes come from DNS are known to commands by their hosts.
  const Member* Find(const std::string& name) const CANOPY_REQUIRES(mutex_) {
    const auto named = members_.find(name);
    if (named != members_.end()) return &named->second;
    for (const auto& [other, member] : members_) {
      if (HostOfAddress(member.address) == name) return &member;
    }
    return nullptr;
  }

  security::SecurityConfig SecurityFor(const std::string& address) const {
    if (!address.starts_with("unix:")) return options_.security;
    security::SecurityConfig config;
    config.mode = security::SecurityMode::kPlaintext;
    return config;
  }

  const Options options_;
  UserCalls calls_;
  Mutex mutex_;
  std::map<std::string, Member> members_ CANOPY_GUARDED_BY(mutex_);
};

UserGateway::UserGateway(EventLoop* loop)
    : listener_(
          loop,
          [this](UniqueFd socket) {
            grpc::AddInsecureChannelFromFd(server_.get(), socket.Release());
          },
          [this](int fd, uid_t user) { return connections_.Admit(fd, user); }) {
}

UserGateway::~UserGateway() {
  if (!server_) return;
  listener_.Stop();
  ShutDown(server_.get(), kAnswerTime);
}

Status UserGateway::Start(const std::string& path, Options options) {
  service_ = std::make_shared<Service>(std::move(options));
  grpc::ServerBuilder builder;
  builder.SetOption(std::make_unique<rpc::WithoutReflection>());
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxRunMessage));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdleMs);
  builder.RegisterCallbackGenericService(service_.get());
  server_ = builder.BuildAndStart();
  if (!server_) {
    return Status(kErrServerFailedRequest,
                  "cannot start the service for all users");
  }
  constexpr mode_t kEveryUser = 0666;
  return listener_.Start(path, kEveryUser);
}

void UserGateway::SetMember(const std::string& name,
                            const std::string& address) {
  if (service_ != nullptr) service_->SetMember(name, address);
}

void UserGateway::LetAnswersLeave() {
  Stop().wait_for(absl::ToChronoMilliseconds(kExitTime));
}

std::future<void> UserGateway::Stop() {
  if (server_) listener_.Stop();
  return EndCalls(std::move(server_));
}

}  // namespace canopy::control
