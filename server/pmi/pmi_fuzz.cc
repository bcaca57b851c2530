// Fuzz target: the data that a rank's process writes to its PMI socket. A zero
// byte separates the parts that arrive together.
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/pmi/pmi2_wire.h"
#include "server/pmi/pmi_endpoint.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::pmi {
namespace {

// A sink that answers at once, so that a client can continue.
class AnsweringSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    (Answer<core::CollectiveArrived>(input) || Answer<core::Committed>(input) ||
     Answer<core::PublishArrived>(input) ||
     Answer<core::LookupArrived>(input) ||
     Answer<core::UnpublishArrived>(input) ||
     Answer<core::SpawnArrived>(input) || Answer<core::GetArrived>(input) ||
     Answer<core::FinalizeArrived>(input));
  }

  template <typename T>
  bool Answer(const core::Input& input) {
    const T* request = std::get_if<T>(&input);
    if (request == nullptr) return false;
    endpoint->Reply({request->client, request->request, 0, {}});
    return true;
  }

  PmiEndpoint* endpoint = nullptr;
};

core::PrepareLocal Prepare() {
  JobSpec job;
  job.nspace = "job";
  job.apps.resize(1);
  job.nodes = {{"a", {}, 0, 1}};
  job.procs = {{0, 0, ""}};
  return {std::make_shared<JobSpec>(job), std::make_shared<JobLayout>(job)};
}

void Run(std::string_view input) {
  static EventLoop loop;
  static const core::PrepareLocal prepare = Prepare();
  AnsweringSink sink;
  PmiOptions options;
  options.find_key = [](const std::string&, std::string_view) {
    return std::optional<std::string>();
  };
  options.find_job_key = options.find_key;
  PmiEndpoint endpoint(&loop, &sink, std::move(options));
  sink.endpoint = &endpoint;
  const UniqueFd client(endpoint.FdForRank(prepare, 0).fd);
  char answer[4096];
  while (!input.empty()) {
    const std::string_view piece = input.substr(0, input.find('\0'));
    input.remove_prefix(std::min(input.size(), piece.size() + 1));
    if (!piece.empty()) {
      (void)send(client.get(), piece.data(), piece.size(),
                 MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    loop.RunOnce(0);
    while (recv(client.get(), answer, sizeof answer, MSG_DONTWAIT) > 0) {
    }
  }
}

}  // namespace
}  // namespace canopy::pmi

namespace {

std::string Framed(const std::string& text) {
  std::string length = std::to_string(text.size());
  length.resize(canopy::pmi::kHeaderSize, ' ');
  return length + text;
}

}  // namespace

std::vector<std::string> canopy::fuzz::Seeds() {
  const std::string init2 = "cmd=init pmi_version=2 pmi_subversion=0\n";
  const std::string init = "cmd=init pmi_version=1 pmi_subversion=1\n";
  return {init + "cmd=get_maxes\ncmd=get_appnum\ncmd=get_universe_size\n",
          init +
              "cmd=get_my_kvsname\n"
              "cmd=put kvsname=job key=k value=a value with blanks\n"
              "cmd=barrier_in\ncmd=get kvsname=job key=k\n",
          init + "cmd=getbyidx kvsname=job idx=0\n",
          init +
              "cmd=publish_name service=s port=p\n"
              "cmd=lookup_name service=s\ncmd=unpublish_name service=s\n",
          init +
              "mcmd=spawn\nnprocs=1\nexecname=true\ntotspawns=1\n"
              "spawnssofar=1\nargcnt=0\npreput_num=0\ninfo_num=0\n"
              "endcmd\n",
          init + "cmd=abort exitcode=3 error_msg=why\n",
          init + "cmd=finalize\n",
          init2 + Framed("cmd=fullinit;pmirank=0;threaded=TRUE;") +
              Framed("cmd=job-getid;thrid=1;"),
          init2 + Framed("cmd=kvs-put;key=k;value=a;;b;") +
              Framed("cmd=kvs-fence;") + Framed("cmd=kvs-get;key=k;"),
          init2 + Framed("cmd=kvs-get;jobid=other;srcid=0;key=k;"),
          init2 + Framed("cmd=info-putnodeattr;key=k;value=v;") +
              Framed("cmd=info-getnodeattr;key=k;wait=TRUE;"),
          init2 + Framed("cmd=name-publish;name=s;port=p;") +
              Framed("cmd=name-lookup;name=s;"),
          init2 + Framed("cmd=spawn;ncmds=1;subcmd=true;maxprocs=1;argc=0;") +
              Framed("cmd=job-connect;jobid=other;"),
          init2 + Framed("cmd=abort;isworld=TRUE;msg=why;"),
          init2 + Framed("cmd=finalize;")};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::pmi::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
