#include "server/agent/cluster_service.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/cluster/dns_nodes.h"
#include "common/cluster/node_source.h"
#include "common/hosts.h"
#include "common/posix/read_to_end.h"
#include "common/posix/unique_fd.h"
#include "protos/bootstrap.pb.h"
#include "protos/control.pb.h"
#include "server/agent/bring_up/addresses.h"
#include "server/agent/bring_up/settings.h"
#include "server/agent/membership/cluster_search.h"
#include "server/control/place_query.h"
#include "server/security/credentials.h"

namespace canopy::agent {
namespace {

using Reply = Result<control::v1::AddNodesReply>;
using Start = std::optional<ClusterStart>;

// Writes the result of the query to the descriptor.
void AnswerTo(int fd, const control::PlaceQuery& query) {
  control::v1::OrderedNodesReply out;
  const Reply reply = AskForPlace(query);
  out.set_status(reply.code());
  out.set_error(reply.status().message());
  if (reply.ok()) *out.mutable_reply() = *reply;
  (void)out.SerializeToFileDescriptor(fd);
}

// Asks in a child process, so that this one stays without threads.
Reply AskInChild(const control::PlaceQuery& query) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return Status(kErrUnreach, "there are too many open files");
  }
  UniqueFd from(fds[0]);
  UniqueFd to(fds[1]);
  const pid_t child = fork();
  if (child < 0) return Status(kErrUnreach, "cannot fork");
  if (child == 0) {
    AnswerTo(to.get(), query);
    _exit(0);
  }
  to.Reset();
  control::v1::OrderedNodesReply answer;
  const bool is_complete = answer.ParseFromString(ReadToEnd(from.get()));
  int status = 0;
  waitpid(child, &status, 0);
  if (!is_complete || status != 0) {
    return Status(kErrUnreach, "the query has failed");
  }
  if (answer.status() == 0) return std::move(*answer.mutable_reply());
  return Status(answer.status(), answer.error());
}

std::string ControlAddress(const ClusterNode& node) {
  return ClusterAddress(node.host, node.control_port);
}

Reply Ask(const ClusterFile& file, const security::SecurityConfig& security,
          const std::string& name, const std::vector<ClusterNode>& others) {
  control::PlaceQuery query;
  for (const ClusterNode& node : others) {
    query.addresses.push_back(ControlAddress(node));
  }
  query.control_of = [&file](const std::string& link_address) {
    return ClusterAddress(HostOfAddress(link_address), file.control_port);
  };
  bootstrap::v1::NodeInfo info;
  info.set_name(name);
  query.node = info.SerializeAsString();
  query.security = security;
  return AskInChild(query);
}

sigset_t SearchSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGHUP, SIGTERM, SIGINT}) sigaddset(&set, signal);
  return set;
}

// Returns false after SIGTERM or SIGINT.
bool Pause(std::chrono::milliseconds time) {
  const sigset_t signals = SearchSignals();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const timespec limit = {seconds.count(),
                          std::chrono::nanoseconds(time - seconds).count()};
  const int signal = sigtimedwait(&signals, nullptr, &limit);
  return signal != SIGTERM && signal != SIGINT;
}

// The service manager reads standard error. The agent's log begins later.
void Report(const std::string& reason) {
  std::fprintf(stderr, "canopyd: %s\n", reason.c_str());
}

Result<Start> SearchByDns(const ClusterFile& file, const std::string& name) {
  const Result<bootstrap::v1::Config> keys = CredentialsOfCluster(file);
  if (!keys.ok()) return keys.status();
  const Result<security::SecurityConfig> security = MakeSecurity(*keys);
  if (!security.ok()) return security.status();
  const auto source = MakeNodeSource(file, &getenv);
  ClusterSearch::Parts parts;
  parts.nodes = [&] { return source->Nodes(); };
  parts.is_own = IsAddressOfThisMachine;
  parts.ask = [&](const std::vector<ClusterNode>& others) {
    return Ask(file, *security, name, others);
  };
  parts.wait = Pause;
  parts.log = Report;
  const sigset_t signals = SearchSignals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &signals, &before);
  Result<std::optional<ClusterPlace>> place =
      ClusterSearch(name, std::move(parts)).Run();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (!place.ok()) return place.status();
  if (!place->has_value()) return Start();
  Result<ClusterStart> start = StartAtPlace(file, **place);
  if (!start.ok()) return start.status();
  return Start(*std::move(start));
}

Result<Start> StartByDns(const ClusterFile& file, const std::string& name) {
  if (!IsClusterNodeName(name)) {
    return Status(kErrBadParam, "'" + name +
                                    "' is no name of a node; name the node of "
                                    "this agent with --node");
  }
  Result<Start> stored = StartFromState(file, name);
  if (!stored.ok() || stored->has_value()) return stored;
  return SearchByDns(file, name);
}

Result<NodeId> FindNode(const ClusterFile& file, const std::string& name) {
  const std::optional<uint32_t> self = FindClusterNode(file, name);
  if (self) return *self;
  return Status(kErrNotFound, file.path + " has no node '" + name +
                                  "', or several; name the node of this "
                                  "agent with --node");
}

Status CheckCredentials(const ClusterFile& file) {
  const Result<bootstrap::v1::Config> keys = CredentialsOfCluster(file);
  if (!keys.ok()) return keys.status();
  const Result<security::SecurityConfig> security = MakeSecurity(*keys);
  if (!security.ok()) return security.status();
  return security::MakeServerCredentials(*security,
                                         ClusterAddress("0.0.0.0", file.port))
      .status();
}

std::string OwnName(const std::string& name) {
  return name.empty() ? HostName() : name;
}

}  // namespace

Result<std::string> CheckClusterFile(const std::string& path,
                                     const std::string& name) {
  Result<ClusterFile> file = ReadClusterFile(path);
  const Status status = file.ok() ? CheckCredentials(*file) : file.status();
  if (!status.ok()) return status;
  const std::string valid = path + " is valid: cluster " + file->name;
  if (file->nodes_from == NodesFrom::kDns) {
    return valid + " has the nodes of " + file->dns_name;
  }
  file = WithNodes(*std::move(file));
  if (!file.ok()) return file.status();
  const Result<NodeId> self = FindNode(*file, OwnName(name));
  if (!self.ok()) return self.status();
  return valid + " has " + std::to_string(file->nodes.size()) +
         " nodes, and this is " + file->nodes[*self].name;
}

Result<Start> FindClusterStart(const std::string& path,
                               const std::string& name) {
  const std::string own = OwnName(name);
  Result<ClusterFile> file = ReadClusterFile(path);
  if (file.ok() && file->nodes_from == NodesFrom::kDns) {
    return StartByDns(*file, own);
  }
  if (file.ok()) file = WithNodes(*std::move(file));
  if (!file.ok()) return file.status();
  const Result<NodeId> self = FindNode(*file, own);
  if (!self.ok()) return self.status();
  Result<ClusterStart> start = StartInCluster(*file, *self);
  if (!start.ok()) return start.status();
  return Start(*std::move(start));
}

}  // namespace canopy::agent
