// An OpenPMIx endpoint on a real port, with a fake core and a fake peer proof.
#ifndef CANOPY_SERVER_OPENPMIX_ENDPOINT_TESTING_H_
#define CANOPY_SERVER_OPENPMIX_ENDPOINT_TESTING_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/hex.h"
#include "server/core/step/client_id.h"
#include "server/core/step/log_line.h"
#include "server/openpmix/handshake.h"
#include "server/openpmix/openpmix_endpoint.h"
#include "server/openpmix/openpmix_testing.h"
#include "server/ports/fake_sink.h"
#include "tests/codec/hex.h"

namespace canopy::openpmix {

inline constexpr int kPid = 4711;
inline constexpr uint32_t kUid = 1000;

struct FakeProof : PeerProof {
  Result<SocketOwner> OwnerOf(int) override {
    if (gone) return Status(kErrNotFound);
    return owner;
  }
  bool IsHeldBy(const SocketOwner&, int pid) override {
    return holders.contains(pid);
  }
  bool gone = false;
  SocketOwner owner = {kUid, 1};
  std::set<int> holders = {kPid};
};

// Returns a greeting of rank `rank` of `nspace` with this version and codec.
inline std::string Greeting(const std::string& nspace, Rank rank,
                            const std::string& version = "4.2.2",
                            const std::string& codec = "v41",
                            uint32_t uid = kUid, char kind = 0) {
  const char zero = '\0';
  std::string payload = std::string("native") + zero;
  payload += Unhex("00000008");
  payload.append(reinterpret_cast<const char*>(&uid), 4);
  payload.append(reinterpret_cast<const char*>(&uid), 4);
  payload += kind;
  if (kind != 0) payload += Unhex("000003e8000003e8");
  if (kind != 3) {
    payload += nspace + zero;
    const uint32_t network = htonl(rank);
    payload.append(reinterpret_cast<const char*>(&network), 4);
  }
  payload += version + zero + codec + zero + '\x01' + "hash" + zero;
  std::string header = Unhex("ffffffffffffffff");
  const uint32_t length = static_cast<uint32_t>(payload.size());
  header.append(reinterpret_cast<const char*>(&length), 4);
  header += Unhex("00000000");
  return header + payload;
}

inline std::string Message(uint32_t tag, const std::string& hex) {
  const std::string payload = Unhex(hex);
  return MakeHeader(tag, static_cast<uint32_t>(payload.size())) + payload;
}

class OpenPmixEndpointTest : public ::testing::Test {
 protected:
  OpenPmixEndpointTest() : segment_(*job_) { Make({}); }

  void Make(OpenPmixOptions options) {
    endpoint_.reset();
    auto proof = std::make_unique<FakeProof>();
    proof_ = proof.get();
    options.proof = std::move(proof);
    options.server = {"srv", 0};
    options.host = "node1";
    options.job_data =
        [this](const std::string& nspace) -> const shm::SegmentReader* {
      return nspace == kTestJob ? segment_.reader() : nullptr;
    };
    options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
    endpoint_ = std::make_unique<OpenPmixEndpoint>(loop_.get(), &sink_,
                                                   std::move(options));
    ASSERT_TRUE(endpoint_->Start().ok());
    AddJob();
    endpoint_->OnProcess(kTestJob, 0, kPid);
  }

  void AddJob() {
    endpoint_->AddJob({job_, std::make_shared<JobLayout>(*job_)});
  }

  UniqueFd Connect() {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string& uri = endpoint_->uri();
    address.sin_port =
        htons(static_cast<uint16_t>(std::stoi(uri.substr(uri.rfind(':') + 1))));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof address),
              0);
    // Small messages must not wait for each other.
    const int one = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    RunRounds();
    return fd;
  }
  void RunRounds() {
    for (int i = 0; i < 4; ++i) loop_->RunOnce(0);
  }
  void Send(const UniqueFd& fd, const std::string& bytes) {
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    RunRounds();
  }
  // Returns everything that has arrived, or "closed" if only the end has.
  std::string Receive(const UniqueFd& fd) {
    RunRounds();
    std::string all;
    char buffer[65536];
    for (;;) {
      const ssize_t n = recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (n > 0) {
        all.append(buffer, static_cast<size_t>(n));
        continue;
      }
      const bool closed = n == 0 || errno == ECONNRESET;
      return all.empty() && closed ? "closed" : all;
    }
  }
  // Sends a greeting. Expects that the connection is closed without an answer,
  // and that the last line of the log contains `reason`.
  void ExpectRefusal(const std::string& greeting, const std::string& reason) {
    log_.clear();
    const size_t inputs = sink_.inputs.size();
    const UniqueFd fd = Connect();
    Send(fd, greeting);
    EXPECT_EQ(Receive(fd), "closed") << reason;
    EXPECT_EQ(sink_.inputs.size(), inputs);
    ASSERT_FALSE(log_.empty()) << reason;
    EXPECT_NE(log_.back().find(reason), std::string::npos) << log_.back();
  }
  UniqueFd Join(const std::string& version = "4.2.2",
                const std::string& codec = "v41") {
    UniqueFd fd = Connect();
    Send(fd, Greeting(kTestJob, 0, version, codec));
    EXPECT_EQ(Receive(fd).substr(0, 4), std::string(4, '\0'));
    EXPECT_FALSE(sink_.All<core::ClientConnected>().empty());
    client_ = sink_.All<core::ClientConnected>().back().client;
    return fd;
  }
  void Answer(uint32_t tag, int status, std::string payload = "") {
    endpoint_->Reply({client_, tag, status, Bytes(std::move(payload))});
  }
  // Sends a request. Checks the header of the answer, and returns its payload.
  std::string Ask(const UniqueFd& fd, uint32_t tag, const std::string& hex) {
    Send(fd, Message(tag, hex));
    return Body(Receive(fd), tag);
  }
  std::string Body(const std::string& bytes, uint32_t tag) {
    if (bytes.size() < kHeaderSize) return bytes;
    EXPECT_EQ(ParseHeader(bytes).tag, tag);
    EXPECT_EQ(ParseHeader(bytes).length, bytes.size() - kHeaderSize);
    return ToHex(bytes.substr(kHeaderSize));
  }

  std::unique_ptr<EventLoop> loop_ = std::make_unique<EventLoop>();
  FakeSink sink_;
  std::shared_ptr<const JobSpec> job_ = MakeTestJob();
  TestSegment segment_;
  FakeProof* proof_ = nullptr;
  std::vector<std::string> log_;
  std::unique_ptr<OpenPmixEndpoint> endpoint_;
  core::ClientId client_ = 0;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_ENDPOINT_TESTING_H_
