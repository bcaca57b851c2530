// Fuzz target: the input is everything that one client sends on its connection,
// from the greeting on. It is sent by one call.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/openpmix/golden.h"
#include "server/openpmix/handshake.h"
#include "server/openpmix/openpmix_endpoint.h"
#include "server/openpmix/openpmix_testing.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::openpmix {
namespace {

class IgnoringSink : public InputSink {
 public:
  void OnInput(core::Input) override {}
};

struct TrustingProof : PeerProof {
  Result<SocketOwner> OwnerOf(int) override { return SocketOwner{1000, 1}; }
  bool IsHeldBy(const SocketOwner&, int) override { return true; }
};

struct World {
  World() : job(MakeTestJob()), segment(*job) {
    OpenPmixOptions options;
    options.server = {"srv", 0};
    options.proof = std::make_unique<TrustingProof>();
    options.job_data = [this](const std::string&) { return segment.reader(); };
    endpoint =
        std::make_unique<OpenPmixEndpoint>(&loop, &sink, std::move(options));
    if (!endpoint->Start().ok()) abort();
    endpoint->AddJob({job, std::make_shared<JobLayout>(*job)});
    endpoint->OnProcess(kTestJob, 0, 1);
  }

  UniqueFd Connect() {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string& uri = endpoint->uri();
    address.sin_port =
        htons(static_cast<uint16_t>(std::stoi(uri.substr(uri.rfind(':') + 1))));
    // The socket is closed without TIME_WAIT, because the many connections of a
    // run would otherwise use up all ports.
    const linger at_once = {1, 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    (void)connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                  sizeof address);
    return fd;
  }

  EventLoop loop;
  IgnoringSink sink;
  std::shared_ptr<const JobSpec> job;
  TestSegment segment;
  std::unique_ptr<OpenPmixEndpoint> endpoint;
};

void Run(std::string_view bytes) {
  static World world;
  UniqueFd fd = world.Connect();
  (void)send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  for (int i = 0; i < 4; ++i) world.loop.RunOnce(0);
  fd.Reset();
  while (world.endpoint->num_connections() > 0) world.loop.RunOnce(0);
}

}  // namespace
}  // namespace canopy::openpmix

// Returns the greeting of rank 0 in either form, then one command. A few
// commands are enough here, because requests_fuzz covers all of them faster.
std::vector<std::string> canopy::fuzz::Seeds() {
  using openpmix::GoldenBytes;
  std::vector<std::string> seeds;
  const std::string old =
      GoldenBytes("handshake.txt", "greeting", "old client");
  std::string modern = old;
  modern.replace(modern.find("v3"), 2, "v41");
  const std::vector<openpmix::Golden> commands =
      openpmix::ReadGolden("commands.txt");
  constexpr size_t kStep = 5;
  for (size_t i = 0; i < commands.size(); i += kStep) {
    const openpmix::Golden& golden = commands[i];
    const std::string& greeting = golden.form == "old" ? old : modern;
    std::string header(16, '\xff');
    header[8] = static_cast<char>(greeting.size());
    header.replace(9, 7, 7, '\0');
    seeds.push_back(
        header + greeting +
        openpmix::MakeHeader(101, static_cast<uint32_t>(golden.bytes.size())) +
        golden.bytes);
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::openpmix::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
