// PMI-1 over an inherited socket: how an unmodified MPICH program finds the
// other ranks of its job.
#ifndef CANOPY_SERVER_PMI1_PMI1_ENDPOINT_H_
#define CANOPY_SERVER_PMI1_PMI1_ENDPOINT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/posix/named_fd.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/log_line.h"
#include "server/core/step/process_actions.h"
#include "server/pmi1/pmi1_wire.h"
#include "server/pmi1/rank_states.h"
#include "server/ports/client_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"

namespace canopy::pmi1 {

struct Pmi1Options {
  NodeId self = 0;
  // VALUE (codec form) of a key that some rank of the namespace committed.
  std::function<std::optional<std::string>(const std::string& nspace,
                                           std::string_view key)>
      find_key;
  // VALUE of a job-level key.
  std::function<std::optional<std::string>(const std::string& nspace,
                                           std::string_view key)>
      find_job_key;
  std::function<void(const core::LogLine&)> log;
  // Persist descriptors of a job for a successor: the file of its ranks'
  // states, and their sockets until they are released. False: there is no room.
  // All empty: there is no successor.
  std::function<void(const std::string& nspace, NamedFd file)> persist;
  std::function<bool(const std::string& nspace, std::vector<NamedFd> sockets)>
      persist_sockets;
  std::function<void(const std::string& nspace, const std::string& name)>
      release_socket;
};

// A rank's process inherits one end of a socket pair, so no other process can
// speak for it. What it puts is committed at once, and its barrier is a fence
// over its namespace that collects data. Spawn and name publishing are refused
// with an error code.
//
// A command stays in its socket until it is answered: a client that waits for
// an answer gets it from the agent that has the socket, which may be a
// successor.
//
// Loop thread only; loop and sink outlive it.
class Pmi1Endpoint : public ClientPort, public ProcessEnvironment {
 public:
  Pmi1Endpoint(EventLoop* loop, InputSink* sink, Pmi1Options options);
  ~Pmi1Endpoint() override;
  Pmi1Endpoint(const Pmi1Endpoint&) = delete;
  Pmi1Endpoint& operator=(const Pmi1Endpoint&) = delete;

  void AddJob(const core::RegisterJob& job) override;
  void DropJob(const std::string& nspace) override;
  void Reply(const core::ReplyClient& reply) override;
  // PMI-1 knows no events.
  void Notify(const core::NotifyClient&) override {}
  void Close(core::ClientId client, const std::string& reason) override;

  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                   Rank rank) override;
  // {-1} when no socket pair can be made; logged.
  InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) override;
  void OnProcess(const std::string&, Rank, int) override {}

  // Recovers the connections that a predecessor persisted, after AddJob of that
  // job.
  void Recover(const std::string& nspace, std::vector<NamedFd> persisted);
  // True for the names of persisted descriptors.
  static bool IsPersistedName(std::string_view name);

  size_t num_connections() const { return connections_.size(); }

 private:
  struct Job {
    std::shared_ptr<const JobSpec> spec;
    std::shared_ptr<const JobLayout> layout;
    std::map<Rank, core::ClientId> clients;
    // Created with the first rank whose socket is persisted.
    std::shared_ptr<RankStates> states;
    std::vector<Rank> to_persist;  // with the others of this round
  };
  struct Connection {
    core::ClientId id = 0;
    UniqueFd fd;
    ProcId proc;
    std::shared_ptr<const JobSpec> job;
    bool persisted = false;
    std::shared_ptr<RankStates> states;  // null: there is no successor
    size_t index = 0;                    // in them
    RankState state;
    // Of the command that is handled now: its bytes in the socket. 0: none is.
    size_t command_size = 0;
    size_t num_puts = 0;
    bool in_spawn = false;  // between mcmd=spawn and endcmd
    bool last_spawn = false;
    std::string spawn_total;
    bool ending = false;
  };

  Connection* Find(core::ClientId client);
  Job* FindJob(const std::string& nspace);
  void Log(core::LogLine::Level level, std::string text);
  Connection& AddConnection(const ProcId& proc,
                            std::shared_ptr<const JobSpec> job, UniqueFd fd);
  void OnEvents(core::ClientId id, uint32_t events);
  void HandleWaiting(Connection& c);
  void HandleLine(Connection& c, std::string_view line);
  void HandleSpawnLine(Connection& c, std::string_view line);
  void HandleCommand(Connection& c, const Command& command);
  void HandleInit(Connection& c, const Command& command);
  void HandlePut(Connection& c, const Command& command);
  void HandleGet(Connection& c, const Command& command);
  std::optional<std::string> Lookup(const Connection& c,
                                    const std::string& key) const;
  void HandleBarrier(Connection& c);
  void HandleFinalize(Connection& c);
  void HandleAbort(Connection& c, const Command& command);
  void AnswerBarrier(Connection& c);
  // Ends the command that is handled, with an answer or without one.
  void Answer(Connection& c, const std::string& line);
  void Done(Connection& c);
  void PersistState(Connection& c);
  // Closes at the end of the round. An empty reason is an ordinary end.
  void End(Connection& c, const std::string& reason);
  void Destroy(core::ClientId id);

  static std::string NameOf(Rank rank);
  void PersistSoon(const std::string& nspace, Rank rank);
  void PersistSockets(const std::string& nspace);
  bool MakeStates(const std::string& nspace, Job* job);
  void RecoverConnection(const std::string& nspace, Job* job, Rank rank,
                         UniqueFd fd);
  void FinishAnswer(Connection& c);

  EventLoop* loop_;
  InputSink* sink_;
  Pmi1Options options_;
  uint64_t next_number_ = 1;
  std::unordered_map<core::ClientId, std::unique_ptr<Connection>> connections_;
  std::unordered_map<std::string, Job> jobs_;
  std::shared_ptr<Pmi1Endpoint*> self_;  // cleared when this goes
};

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_PMI1_ENDPOINT_H_
