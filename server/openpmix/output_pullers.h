// PMIx_IOF_pull of OpenPMIx clients. Their library has no read requests, so the
// agent reads the output for them and sends it.
#ifndef CANOPY_SERVER_OPENPMIX_OUTPUT_PULLERS_H_
#define CANOPY_SERVER_OPENPMIX_OUTPUT_PULLERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/iof_call.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/message_writer.h"
#include "server/openpmix/requests.h"
#include "server/ports/input_sink.h"

namespace canopy::openpmix {

// The next read for a client follows when the client has received most of the
// output sent to it, so a client that does not read delays only its own output.
// Loop thread only. The arguments of the constructor must outlive this object.
class OutputPullers {
 public:
  // The first number that this object uses for its reads among the requests of
  // a connection. It is above the tags of clients, which count from 100.
  static constexpr uint32_t kFirstRead = 0x80000000;
  // Output for a client is not read while more bytes than this are queued for
  // it.
  static constexpr size_t kMaxQueued = size_t{512} << 10;

  // `server` is this agent's PMIx name.
  OutputPullers(ProcId server, MessageWriter* writer, InputSink* sink)
      : server_(std::move(server)), writer_(writer), sink_(sink) {}

  // Start a puller (PullRequest) or end one (StopPullRequest). The client gets
  // one answer, before the function returns or later: a status and the number
  // of the puller.
  void Serve(Connection& c, uint32_t tag, const PullRequest& request);
  void Serve(Connection& c, uint32_t tag, const StopPullRequest& request);
  // Handles a reply of the core. Returns false if it does not answer a read of
  // this object.
  bool OnReply(Connection& c, const core::ReplyClient& reply);
  // Called when the socket has accepted output, so that there may be room for
  // more.
  void OnFlushed(Connection& c);
  void OnClosed(const Connection& c) { clients_.erase(c.id); }

 private:
  // The output of one job.
  struct Flow {
    std::string nspace;
    std::vector<ProcId> targets;
    std::string cursor;
    bool waits = false;  // until the client has received its output
  };
  struct Puller {
    uint64_t handle = 0;      // chosen by the client
    uint32_t tag = 0;         // tag of the client's request
    OutputRead read;          // without a cursor
    size_t unregistered = 0;  // flows whose first read is unanswered
    int status = 0;           // the first error of these first reads
    std::vector<Flow> flows;
  };
  using FlowId = std::pair<uint64_t, size_t>;  // puller and flow
  struct Client {
    uint64_t last = 0;
    uint32_t next_read = 0;
    std::map<uint64_t, Puller> pullers;
    std::map<uint32_t, FlowId> reads;
  };

  void Read(Connection& c, Client& client, FlowId id, bool ends);
  void OnRegistered(Connection& c, Client& client, FlowId id,
                    const core::ReplyClient& reply);
  void OnRead(Connection& c, Client& client, FlowId id,
              const core::ReplyClient& reply);
  void Fail(Connection& c, const Puller& puller, const Flow& flow, int status);
  void Send(Connection& c, const Puller& puller, const std::string& nspace,
            const OutputPiece& piece);
  void EndAll(Connection& c, Client& client, uint64_t number);

  const ProcId server_;
  MessageWriter* const writer_;
  InputSink* const sink_;
  std::map<core::ClientId, Client> clients_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_OUTPUT_PULLERS_H_
