// Serves the requests of OpenPMIx clients, directly or through the core.
#ifndef CANOPY_SERVER_OPENPMIX_REQUEST_SERVER_H_
#define CANOPY_SERVER_OPENPMIX_REQUEST_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/ids.h"
#include "common/shm/segment_reader.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_inputs.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/connection_persistence.h"
#include "server/openpmix/ignored_log.h"
#include "server/openpmix/jobs.h"
#include "server/openpmix/message_writer.h"
#include "server/openpmix/options.h"
#include "server/openpmix/output_pullers.h"
#include "server/openpmix/peer_traits.h"
#include "server/openpmix/requests.h"
#include "server/openpmix/text_logger.h"
#include "server/ports/input_sink.h"

namespace canopy::openpmix {

// Loop thread only. The arguments of the constructor must outlive this object.
class RequestServer {
 public:
  struct Parts {
    const OpenPmixOptions* options = nullptr;
    Jobs* jobs = nullptr;
    Connections* connections = nullptr;
    ConnectionPersistence* persistence = nullptr;
    MessageWriter* writer = nullptr;
    TextLogger* text_logger = nullptr;
    OutputPullers* pullers = nullptr;
    InputSink* sink = nullptr;
  };
  explicit RequestServer(Parts parts)
      : parts_(parts), ignored_log_(parts.options) {}

  // Handles a request of a connection that is served. Ends the connection if
  // the request is malformed.
  void Handle(Connection& c, uint32_t tag, std::string_view payload);
  // Sends the core's answer to a request.
  void Reply(Connection& c, const core::ReplyClient& reply);
  // Sends an event to the client.
  void Notify(Connection& c, const core::ClientEvent& event);

 private:
  void Serve(Connection& c, uint32_t tag, CoreRequest& request);
  void Serve(Connection& c, uint32_t tag, JobInfoRequest& request);
  void Serve(Connection& c, uint32_t tag, LogRequest& request);
  void Serve(Connection& c, uint32_t tag, ResolvePeersRequest& request);
  void Serve(Connection& c, uint32_t tag, ResolveNodesRequest& request);
  void Serve(Connection& c, uint32_t tag, PullRequest& request) {
    parts_.pullers->Serve(c, tag, request);
  }
  void Serve(Connection& c, uint32_t tag, StopPullRequest& request) {
    parts_.pullers->Serve(c, tag, request);
  }
  void Serve(Connection& c, uint32_t tag, RefusedRequest& request);
  // Returns true if the connection may see the data of the namespace.
  bool MaySee(const Connection& c, const std::string& nspace) const;
  // Answers a get from job data alone, if that is possible. Returns false
  // otherwise.
  bool ServeFromJobData(Connection& c, uint32_t tag,
                        const core::GetArrived& get);
  std::string ProcData(const shm::SegmentReader& job, const ProcId& proc,
                       std::string_view asked);
  void MakeDirectory(const ProcId& proc);
  Bytes JobInfo(const std::string& nspace, const PeerTraits& peer);
  void Answer(Connection& c, uint32_t tag, const PendingRequest& request,
              const core::ReplyClient& reply);
  void AnswerGet(Connection& c, uint32_t tag, const PendingRequest& request,
                 std::string_view kvals);
  void PackFollowing(Connection& c, const ProcId& asked, Encoder* out);
  void AnswerConnect(Connection& c, uint32_t tag,
                     const PendingRequest& request);
  void NameParticipants(const Connection& c, core::CollectiveArrived* arrived);
  void AnswerSpawn(Connection& c, uint32_t tag, const std::string& nspace);
  void SendStatus(Connection& c, uint32_t tag, int status) {
    parts_.writer->SendStatus(c, tag, status);
  }
  void SendPayload(Connection& c, uint32_t tag, const std::string& payload) {
    parts_.writer->SendPayload(c, tag, payload);
  }

  const Parts parts_;
  IgnoredLog ignored_log_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_REQUEST_SERVER_H_
