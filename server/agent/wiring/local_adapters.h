// The adapters that serve the processes of this node, and the connections
// between them.
#ifndef CANOPY_SERVER_AGENT_WIRING_LOCAL_ADAPTERS_H_
#define CANOPY_SERVER_AGENT_WIRING_LOCAL_ADAPTERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/agent/wiring/emulation.h"
#include "server/agent/wiring/host_services.h"
#include "server/agent/wiring/pod_services.h"
#include "server/cleanup/cleanup.h"
#include "server/datastore/datastore.h"
#include "server/endpoint/newcomer.h"
#include "server/endpoint/tool_registry.h"
#include "server/facts/facts_reader.h"
#include "server/host/embedded_host.h"
#include "server/local/local_endpoint.h"
#include "server/openpmix/openpmix_endpoint.h"
#include "server/pmi/pmi_endpoint.h"
#include "server/ports/fd_store_port.h"
#include "server/ports/host_port.h"
#include "server/ports/input_sink.h"
#include "server/process/process_adapter.h"
#include "server/relay/relay_service.h"
#include "server/runtime/runtime.h"
#include "server/security/cluster_key.h"

namespace canopy::agent {

// Loop thread only.
class LocalAdapters {
 public:
  // `loop`, `sink` and `config` outlive this object. `directory` is the agent's
  // runtime directory. `open_files` is the soft limit of open files for
  // processes; 0 means the limit of this process. `pods` outlives this object;
  // null: the agent serves no pods.
  LocalAdapters(EventLoop* loop, InputSink* sink,
                const bootstrap::v1::Config& config, std::string directory,
                uint64_t open_files, PodServices* pods);
  LocalAdapters(const LocalAdapters&) = delete;
  LocalAdapters& operator=(const LocalAdapters&) = delete;

  // Creates the endpoints' sockets. `openpmix_listener` is the predecessor's
  // socket, or invalid. Fails if a socket cannot be created.
  Status Listen(UniqueFd openpmix_listener);
  // Sets up the environment of processes. Called if several nodes of the
  // overlay are on this machine. `loopback_only` means that these nodes have no
  // other network interface in common.
  void ShareMachine(bool loopback_only);
  // Sets the ports of the core that these adapters implement.
  void AddTo(RuntimePorts* ports);
  // Returns the functions that connect tools on other machines with the
  // endpoints.
  relay::RelayOptions ForRelayedTools();
  // Runs the loop for at most three seconds until the shims that are to end
  // have ended. With `forget`, these include shims whose jobs are not over.
  void EndShims(bool forget);

  // Returns the descriptor store, or null if this agent has no successor.
  FdStorePort* fd_store();
  datastore::Datastore& datastore() { return *datastore_; }
  // Returns the host that decides requests of processes if no scheduler does.
  HostPort* host() { return &host_; }
  // Sets the host that decides about tools that connect; it outlives this
  // object. Null removes the host; no tool is served from then on.
  void SetToolHost(HostPort* host) { tool_host_ = host; }
  process::ProcessAdapter& process() { return *process_; }
  local::LocalEndpoint& local() { return *local_; }
  pmi::PmiEndpoint& pmi() { return *pmi_; }
  openpmix::OpenPmixEndpoint& openpmix() { return *openpmix_; }

  // Returns the PMIx name of this agent.
  const ProcId& server() const { return server_; }

 private:
  void MakeProcesses(uint64_t open_files);
  void MakeDatastore();
  void MakeLocal();
  void MakePmi();
  void MakeServices();
  void MakeOpenPmix();
  void MakeFactsReader();
  void MakeHost();
  endpoint::AskAboutNewcomer AskAboutTools();
  std::string Token(const ProcId& proc) const;

  EventLoop* const loop_;
  InputSink* const sink_;
  const bootstrap::v1::Config& config_;
  PodServices* const pods_;
  const std::string directory_;
  const ProcId server_;
  std::optional<security::ClusterKey> key_;
  // The two endpoints to which tools connect share this registry.
  const std::shared_ptr<endpoint::ToolRegistry> tools_;
  datastore::NodeFacts facts_;
  std::unique_ptr<datastore::Datastore> datastore_;
  std::unique_ptr<process::ProcessAdapter> process_;
  std::unique_ptr<local::LocalEndpoint> local_;
  std::unique_ptr<pmi::PmiEndpoint> pmi_;
  std::unique_ptr<openpmix::OpenPmixEndpoint> openpmix_;
  std::unique_ptr<facts::FactsReader> facts_reader_;
  EmulationEnvironment emulation_;
  cleanup::CleanupRegistry cleanup_;
  host::EmbeddedHost host_;
  HostPort* tool_host_ = &host_;
  // The endpoints also use the syslog of these services.
  std::unique_ptr<HostServices> services_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_LOCAL_ADAPTERS_H_
