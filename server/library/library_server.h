// The server that is part of libpmix: what a host in C runs by PMIx_server_init
// (PMIx Standard, chapter "Server-Specific Interfaces"). The core of an agent,
// its endpoints and its datastore, with the host as all that is beyond them.
#ifndef CANOPY_SERVER_LIBRARY_LIBRARY_SERVER_H_
#define CANOPY_SERVER_LIBRARY_LIBRARY_SERVER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/status.h"
#include "pmix_server.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/host.h"
#include "server/core/step/log_line.h"
#include "server/library/client_gate.h"
#include "server/library/host_calls.h"
#include "server/library/host_requests.h"
#include "server/library/hosted_output.h"
#include "server/openpmix/tool_file.h"
#include "server/registration/registration.h"

namespace canopy::library {

struct LibraryServerOptions {
  ProcId self;  // how PMIx names this server
  canopy_server_module_t module = {};
  // Exists, and no other user can change it: where its socket is. Not removed
  // here.
  std::string directory;
  // Where the directories of jobs are made, and a descriptor of it, which stays
  // open while there is the server; empty and -1: in `directory`.
  std::string jobs_directory;
  int jobs_fd = -1;
  // A user can change the directory of the jobs.
  bool jobs_directory_is_users = false;
  std::string system_tmpdir = "/tmp";   // PMIX_SYSTEM_TMPDIR of processes
  std::vector<std::string> node_names;  // this node's, at least one
  std::optional<uint32_t> node_id;      // PMIX_NODEID, if the host has said it
  bool tools = false;                   // they may connect
  // The host is asked also for fences of processes of this node alone.
  bool host_has_all_fences = false;
  openpmix::ToolFilePlaces tool_files;  // by which they find it
  // An event that may have handlers in this process. The server's thread.
  std::function<void(HostEvent event)> raise;
  // What the host delivers, for whom nobody else need ask. The server's thread;
  // null: nothing to do.
  std::function<void(const DeliveredOutput& output)> write;
  std::function<void(const core::LogLine&)> log;  // any thread
};

// Has a thread of its own, in which it calls the host's functions. A function
// here may be called from any thread, also from within the host's functions,
// and returns at once unless it says that it waits; `done` is called in the
// server's thread.
class LibraryServer {
 public:
  using Done = std::function<void(int status)>;

  // Listens; clients may connect as soon as they are registered.
  static Result<std::unique_ptr<LibraryServer>> Start(
      LibraryServerOptions options);
  // Ends the connections of clients. What has not been answered is not any
  // more. Not in the server's thread.
  ~LibraryServer();
  LibraryServer(const LibraryServer&) = delete;
  LibraryServer& operator=(const LibraryServer&) = delete;

  const LibraryServerOptions& options() const;
  // Why something about a namespace does not work.
  void Log(const std::string& nspace, const Status& status) const;

  // Whether the caller is the server's thread, which may not wait.
  bool InThread() const;

  // A job's processes may be started as soon as `done` is called. kErrExists
  // for a namespace that is registered.
  void RegisterJob(registration::Registration told, Done done);
  void DeregisterJob(const std::string& nspace, Done done);
  // Before or after its job.
  void RegisterClient(const ProcId& proc, uid_t uid, gid_t gid, void* object,
                      Done done);
  void DeregisterClient(const ProcId& proc, Done done);

  // The environments of a registered job's processes are known from now on
  // (Environments), also if no client of it is registered. Waits for the
  // server's thread.
  void Prepare(const std::string& nspace);

  // What a process of this node has committed, for a process of another one:
  // waits for a commit. kErrNotFound when there can be none.
  using Committed = std::function<void(int status, std::string blob)>;
  void GetCommitted(const ProcId& proc, Committed done);

  // What the host's own process spawns, `call` as in core::SpawnArrived: a call
  // of its function, with the name of the job when that has started.
  using Spawned = HostRequests::Spawned;
  void Spawn(Bytes call, Spawned done);

  // What else the host's own process asks of the host: `ask` without a source
  // and a user. A function that it does not have is kErrNotSupported.
  using Called = HostCalls::Done;
  void CallHost(core::AskHost ask, Called done);

  // An event that the host raises for processes of this node.
  void Notify(core::EventRaised event, Done done);

  // Output for who pulls it, and whether it goes on: see HostedOutput for the
  // status.
  void DeliverOutput(DeliveredOutput output, Done done);
  void SetOutputFlow(const ProcId& source, uint16_t channels, bool stopped,
                     Done done);

  // Process sets of the host: see HostedSets for the status. Wait for the
  // server's thread.
  int DefineSet(const std::string& name, std::vector<ProcId> members);
  int DeleteSet(const std::string& name);

  // What the host has told of a namespace; null when that is nothing. Waits for
  // the server's thread.
  std::shared_ptr<const registration::Registration> Told(
      const std::string& nspace);

  // Where OpenPMIx clients and tools connect; as in PMIX_SERVER_URI.
  std::string uri() const;

 private:
  struct Parts;
  explicit LibraryServer(LibraryServerOptions options);
  Status Listen();
  // In the server's thread; at once when this is it.
  void Run(std::function<void()> work);
  void RunAndWait(const std::function<void()>& work);

  std::unique_ptr<Parts> parts_;
  std::thread thread_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_LIBRARY_SERVER_H_
