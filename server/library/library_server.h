// The server inside libpmix, which a host in C runs by PMIx_server_init (PMIx
// Standard, chapter "Server-Specific Interfaces"). It consists of an agent's
// core, endpoints and datastore; the host takes the place of all other agents.
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
  ProcId self;  // the PMIx name of this server
  canopy_server_module_t module = {};
  // The directory of the server's socket. It exists, and no other user can
  // change it. The server does not remove it.
  std::string directory;
  // The parent of the jobs' directories, and a descriptor of it, which remains
  // open as long as the server exists. If the path is empty and the descriptor
  // is -1, `directory` is the parent.
  std::string jobs_directory;
  int jobs_fd = -1;
  // True if a user can change the directory of the jobs.
  bool jobs_directory_is_users = false;
  std::string system_tmpdir = "/tmp";   // PMIX_SYSTEM_TMPDIR of processes
  std::vector<std::string> node_names;  // this node's, at least one
  std::optional<uint32_t> node_id;      // PMIX_NODEID, if the host has given it
  bool tools = false;                   // tools may connect
  // True if the host also handles fences among processes of this node only.
  bool host_has_all_fences = false;
  // The files by which tools find this server.
  openpmix::ToolFilePlaces tool_files;
  // Raises an event that may have handlers in this process. Called on the
  // server's thread.
  std::function<void(HostEvent event)> raise;
  // Receives all output that the host delivers, with or without pullers. Called
  // on the server's thread; may be empty.
  std::function<void(const DeliveredOutput& output)> write;
  std::function<void(const core::LogLine&)> log;  // called on any thread
};

// Has its own thread, on which it calls the host's functions. The functions
// here may be called from any thread, even from within the host's functions.
// They return at once unless stated otherwise; `done` is called on the server's
// thread.
class LibraryServer {
 public:
  using Done = std::function<void(int status)>;

  // Starts the server. It listens, and clients may connect as soon as they are
  // registered. Fails if a socket cannot be created.
  static Result<std::unique_ptr<LibraryServer>> Start(
      LibraryServerOptions options);
  // Ends the connections of clients. Pending requests are dropped. Must not be
  // called on the server's thread.
  ~LibraryServer();
  LibraryServer(const LibraryServer&) = delete;
  LibraryServer& operator=(const LibraryServer&) = delete;

  const LibraryServerOptions& options() const;
  // Logs the reason why an operation on a namespace has failed.
  void Log(const std::string& nspace, const Status& status) const;

  // Returns true if the caller is on the server's thread, which must not block.
  bool InThread() const;

  // Registers a job, whose processes may be started when `done` is called.
  // `done` gets kErrExists for a namespace that is registered already.
  void RegisterJob(registration::Registration told, Done done);
  // Removes a job. `done` always gets kSuccess, also for an unknown name.
  void DeregisterJob(const std::string& nspace, Done done);
  // Registers a client of this node, before or after the registration of its
  // job.
  void RegisterClient(const ProcId& proc, uid_t uid, gid_t gid, void* object,
                      Done done);
  // Removes a client, closes its connections and removes the paths that it has
  // registered for cleanup. `done` always gets kSuccess.
  void DeregisterClient(const ProcId& proc, Done done);

  // Sets the environments of a registered job's processes (Environments), even
  // if none of its clients is registered. Blocks until the server's thread has
  // set them.
  void Prepare(const std::string& nspace);

  // Gets the committed data of a process of this node for a process of another
  // node. Waits for a commit; the status is kErrNotFound if no commit can
  // follow.
  using Committed = std::function<void(int status, std::string blob)>;
  void GetCommitted(const ProcId& proc, Committed done);

  // Spawns a job for the host's own process by calling the host's function.
  // `call` has the form of core::SpawnArrived::call. `done` gets the job's name
  // when the job has started.
  using Spawned = HostRequests::Spawned;
  void Spawn(Bytes call, Spawned done);

  // Calls a function of the host for the host's own process; `ask` has no
  // source and no user. Fails with kErrNotSupported if the host does not have
  // the function.
  using Called = HostCalls::Done;
  void CallHost(core::AskHost ask, Called done);

  // Raises an event of the host for processes of this node.
  void Notify(core::EventRaised event, Done done);

  // Delivers output to its pullers, or stops and resumes it. HostedOutput
  // defines the status.
  void DeliverOutput(DeliveredOutput output, Done done);
  void SetOutputFlow(const ProcId& source, uint16_t channels, bool stopped,
                     Done done);

  // Define and delete process sets of the host; HostedSets defines the status.
  // They block until the server's thread has finished.
  int DefineSet(const std::string& name, std::vector<ProcId> members);
  int DeleteSet(const std::string& name);

  // Returns the host's registration of a namespace, or null if there is none.
  // Blocks until the server's thread has answered.
  std::shared_ptr<const registration::Registration> Told(
      const std::string& nspace);

  // Returns the address for OpenPMIx clients and tools, in the form of
  // PMIX_SERVER_URI.
  std::string uri() const;

 private:
  struct Parts;
  explicit LibraryServer(LibraryServerOptions options);
  Status Listen();
  // Runs `work` on the server's thread; at once if the caller is on that
  // thread.
  void Run(std::function<void()> work);
  void RunAndWait(const std::function<void()>& work);

  std::unique_ptr<Parts> parts_;
  std::thread thread_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_LIBRARY_SERVER_H_
