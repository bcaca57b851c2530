#include "client/cli/relay/tool_relay.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "client/cli/control/control_channel.h"
#include "common/ids.h"
#include "common/posix/unix_socket.h"
#include "server/net/tcp_listener.h"
#include "server/openpmix/environment.h"

namespace canopy::cli {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
constexpr int kBacklog = 128;
constexpr int64_t kCallsEndNs = int64_t{2} * 1000 * 1000 * 1000;

// Checks the name of the agent, which becomes part of file names and of lines
// in files.
Status CheckName(const std::string& nspace) {
  if (!nspace.empty() && nspace.size() <= kMaxNspaceLen &&
      nspace.find_first_of("/;\n") == std::string::npos) {
    return Status();
  }
  return Status(kErrBadParam, "the agent has no name that a server can have");
}

}  // namespace

ToolRelay::ToolRelay(EventLoop* loop,
                     std::unique_ptr<relay::v1::ToolRelay::Stub> agent,
                     ToolRelayOptions options)
    : loop_(loop),
      agent_(std::move(agent)),
      options_(std::move(options)),
      proof_(openpmix::MakeHostPeerProof()) {}

ToolRelay::~ToolRelay() {
  tool_file_ = openpmix::ToolFile();
  for (const auto& [fd, door] : doors_) loop_->Unwatch(fd);
  if (!socket_.empty()) unlink(socket_.c_str());
  for (const auto& [number, call] : calls_) call->Break();
  const int64_t deadline = EventLoop::Now() + kCallsEndNs;
  while (!calls_.empty() && EventLoop::Now() < deadline) loop_->RunOnce(10);
  // gRPC may still call the remaining calls, so they are leaked.
  for (auto& [number, call] : calls_) (void)call.release();
}

Status ToolRelay::Start(const relay::v1::DescribeReply& agent) {
  Status status = CheckName(agent.nspace());
  if (!status.ok()) return status;
  const std::string path = options_.directory + "/clients.sock";
  Result<UniqueFd> local = ListenUnix(path, kBacklog);
  if (!local.ok()) return local.status();
  socket_ = path;
  Result<UniqueFd> loopback = net::ListenTcp(kLoopback, 0);
  if (!loopback.ok()) return loopback.status();
  const ProcId server = {agent.nspace(), agent.rank()};
  uri_ =
      openpmix::ServerUri(server, net::AddressOf(kLoopback, loopback->get()));
  Listen(*std::move(local), ToolProtocol::kLibpmix);
  Listen(*std::move(loopback), ToolProtocol::kOpenPmix);
  openpmix::ToolFilePlaces places;
  places.own_directory = options_.directory;
  places.other_host = agent.host();
  Result<openpmix::ToolFile> file =
      openpmix::ToolFile::Write(places, {server.nspace, uri_, socket_});
  if (!file.ok()) return file.status();
  tool_file_ = *std::move(file);
  return Status();
}

void ToolRelay::Listen(UniqueFd listener, ToolProtocol protocol) {
  const int fd = listener.get();
  doors_.emplace(fd, Door{Acceptor(std::move(listener)), protocol});
  loop_->Watch(fd, EPOLLIN, [this, fd](uint32_t) {
    Door& door = doors_.at(fd);
    const bool exhausted = door.acceptor.Accept([&](UniqueFd socket) {
      OnConnection(door.protocol, std::move(socket));
    });
    if (exhausted) options_.report("no descriptor is left for a tool");
  });
}

Result<uint32_t> ToolRelay::UserOf(ToolProtocol protocol, int socket) const {
  if (protocol == ToolProtocol::kLibpmix) {
    const Result<uid_t> user = GetPeerUser(socket);
    if (!user.ok()) return user.status();
    return *user;
  }
  const Result<openpmix::SocketOwner> owner = proof_->OwnerOf(socket);
  if (!owner.ok()) return owner.status();
  return owner->uid;
}

// Rejects users other than this process's, because every process of the machine
// can connect to the port.
Status ToolRelay::Check(uint32_t uid) const {
  if (uid != geteuid()) {
    return Status(kErrNoPermissions,
                  "a tool of uid " + std::to_string(uid) + " is refused");
  }
  if (calls_.size() < options_.max_connections) return Status();
  return Status(kErrResourceBusy, "a tool is refused: there are already " +
                                      std::to_string(calls_.size()) +
                                      " connections");
}

void ToolRelay::OnConnection(ToolProtocol protocol, UniqueFd socket) {
  const Result<uint32_t> uid = UserOf(protocol, socket.get());
  const Status status = uid.ok() ? Check(*uid) : uid.status();
  if (!status.ok()) {
    const std::string source = uid.ok() ? std::to_string(*uid) : "";
    const auto line = lines_.Admit(source, status.message(), EventLoop::Now());
    if (line) options_.report(*line);
    return;
  }
  const uint64_t number = next_++;
  calls_[number] = std::make_unique<RelayCall>(
      loop_, agent_.get(), protocol, std::move(socket), options_.bridge,
      [this, number](const grpc::Status& s) { OnDone(number, s); });
}

void ToolRelay::OnDone(uint64_t number, const grpc::Status& status) {
  if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED) {
    options_.report(FromGrpc(status).message());
  }
  calls_.erase(number);
}

}  // namespace canopy::cli
