// Fuzz target: messages of PMI-2 clients. A message that was read must be
// unchanged after writing and reading.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/pmi/message.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::pmi {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

void CheckAnswer(const Request& request, const std::string& value) {
  Reply reply;
  reply.value = value;
  const std::string answer = AnswerMessage(request, reply);
  const std::string received = answer + "more";
  const Message message = FirstMessage(true, received);
  if (answer.size() - kHeaderSize > kMaxMessage) return;
  Check(message.size == answer.size());
  constexpr std::string_view kBegin = "cmd=";
  Check(message.text.starts_with(kBegin));
  const auto pairs = PairsIn(message.text);
  Check(pairs && pairs->at(0).second == request.name + "-response");
  if (!request.thread.empty()) Check(pairs->at(1).second == request.thread);
  if (request.operation == Operation::kGet)
    Check(pairs->back().second == value);
}

void Run(std::string_view input) {
  while (!input.empty()) {
    const Message message = FirstMessage(true, input);
    if (message.size == 0) {
      Check(message.problem != nullptr || message.wanted == 0 ||
            message.wanted > input.size());
      return;
    }
    Check(message.size <= input.size());
    const Request request = RequestIn(message);
    if (!message.is_line && !request.name.empty())
      CheckAnswer(request, request.value);
    input.remove_prefix(message.size);
  }
}

std::string Framed(const std::string& text) {
  std::string length = std::to_string(text.size());
  length.resize(kHeaderSize, ' ');
  return length + text;
}

}  // namespace
}  // namespace canopy::pmi

std::vector<std::string> canopy::fuzz::Seeds() {
  using canopy::pmi::Framed;
  return {"cmd=init pmi_version=2 pmi_subversion=0\n" +
              Framed("cmd=fullinit;pmijobid=j;pmirank=0;threaded=FALSE;"),
          Framed("cmd=kvs-put;thrid=0x7f;key=k;value=a;;b;") +
              Framed("cmd=kvs-fence;"),
          Framed("cmd=kvs-get;jobid=j;srcid=0;key=k;value=x;"),
          Framed("cmd=info-getnodeattr;key=k;wait=TRUE;"),
          Framed("cmd=spawn;ncmds=1;preputcount=1;ppkey0=a;ppval0=b;subcmd=x;"
                 "maxprocs=2;argc=1;argv0=y;infokeycount=1;infokey0=wdir;"
                 "infoval0=/;"),
          Framed("cmd=abort;isworld=TRUE;msg=why;")};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::pmi::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
