// Fuzz target: reads a stream of changes in two ways, as a whole and in pieces
// whose size is the first byte of the input; and reads each line as an object
// of each kind.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/text.h"
#include "server/kubernetes/api/json.h"
#include "server/kubernetes/api/known_objects.h"
#include "server/kubernetes/api/line_reader.h"
#include "server/kubernetes/api/list_text.h"
#include "server/kubernetes/api/objects.h"
#include "server/kubernetes/api/watch_event.h"
#include "tests/fuzz/fuzz.h"

namespace {

namespace kubernetes = canopy::kubernetes;

constexpr size_t kMaxLine = 1000;
constexpr char kRank[] = "canopy.dev/rank";

// Finds the objects of a list, which a parser must find too. A parser also
// knows member names with escaped letters, which the API server never writes.
void CheckList(const std::string& text) {
  const auto document = kubernetes::ParseJson(text);
  kubernetes::ListText list(text);
  size_t count = 0;
  std::string_view item;
  auto next = list.Take(&item);
  for (; next == kubernetes::ListText::Next::kItem; next = list.Take(&item)) {
    ++count;
    if (document && !kubernetes::ParseJson(item)) abort();
  }
  if (!document || !document->is_object()) return;
  if (next != kubernetes::ListText::Next::kEnd) abort();
  if (text.find("\\u") != std::string::npos) return;
  const auto& items = kubernetes::At(*document, "items");
  if (count < kubernetes::ElementsOf(items).size()) abort();
}

std::vector<std::string> Lines(std::string_view stream, size_t piece) {
  kubernetes::LineReader reader(kMaxLine);
  std::vector<std::string> lines;
  for (size_t at = 0; at < stream.size(); at += piece) {
    reader.Append(stream.substr(at, piece));
    std::string_view line;
    auto next = reader.Take(&line);
    for (; next == kubernetes::LineReader::Next::kLine;
         next = reader.Take(&line)) {
      if (line.empty() || line.size() > kMaxLine) abort();
      lines.emplace_back(line);
    }
    if (next == kubernetes::LineReader::Next::kTooLong) break;
  }
  return lines;
}

void CheckShown(const std::string& text) {
  if (canopy::Printable(text) != text) abort();
}

void CheckPod(const kubernetes::Json& object) {
  const auto pod = kubernetes::ParsePod(object, kRank);
  if (!pod) return;
  CheckShown(kubernetes::MissingText(*pod));
  kubernetes::CompletionIndex(*pod);
  for (const auto& [name, value] : pod->annotations) {
    if (!name.starts_with(kubernetes::kAnnotationPrefix) &&
        name != kubernetes::kCompletionIndex) {
      abort();
    }
  }
}

void CheckObject(const kubernetes::Json& object) {
  CheckPod(object);
  if (const auto job = kubernetes::ParseJob(object)) {
    CheckShown(job->failure_reason + job->failure_message);
  }
  if (const auto slice = kubernetes::ParseEndpointSlice(object)) {
    for (const auto& endpoint : slice->endpoints) {
      if (endpoint.address.empty()) abort();
      CheckShown(endpoint.address + endpoint.node_name);
    }
  }
  const auto identity = kubernetes::IdentityOf(object);
  if (!identity) return;
  const auto again = kubernetes::IdentityOf(kubernetes::ObjectWith(*identity));
  if (!again || again->uid != identity->uid) abort();
}

void CheckLine(const std::string& line) {
  CheckList(line);
  if (const auto event = kubernetes::ParseWatchEvent(line)) {
    CheckObject(event->object);
  }
  const auto document = kubernetes::ParseJson(line);
  if (!document) return;
  CheckObject(*document);
  if (!kubernetes::ParseJson(kubernetes::JsonText(*document))) abort();
}

// Returns a stream of lines, to be read in pieces of this size.
std::string Input(char piece, const std::vector<std::string>& lines) {
  std::string input(1, piece);
  for (const std::string& line : lines) input += line + "\n";
  return input;
}

}  // namespace

std::vector<std::string> canopy::fuzz::Seeds() {
  return {
      Input(
          7,
          {R"({"type":"ADDED","object":{"metadata":{"name":"a","namespace":"n","uid":"1","resourceVersion":"5","labels":{"x":"y"},"annotations":{"canopy.dev/start":"gang","batch.kubernetes.io/job-completion-index":"3"},"ownerReferences":[{"kind":"Job","name":"j","uid":"2","apiVersion":"batch/v1","controller":true}]},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i","resources":{"limits":{"canopy.dev/rank":"8Ki"}}}]},"status":{"phase":"Failed","containerStatuses":[{"name":"c","containerID":"containerd://f","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}}})",
           "",
           R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6"}}})"}),
      Input(
          1,
          {R"({"metadata":{"name":"a","uid":"1","deletionTimestamp":"t"},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/2 \u001b nodes"},{"type":"DisruptionTarget","status":"True","reason":"r"}]}})"}),
      Input(
          32,
          {R"({"metadata":{"name":"j","uid":"1"},"spec":{"completions":4,"parallelism":4,"completionMode":"Indexed","suspend":false},"status":{"conditions":[{"type":"Failed","status":"True","reason":"r","message":"m"}]}})"}),
      Input(
          64,
          {R"({"metadata":{"name":"s","uid":"1"},"addressType":"IPv4","ports":[{"name":"p","port":7117}],"endpoints":[{"addresses":["10.0.0.1"],"conditions":{"ready":true},"topology":{"kubernetes.io/hostname":"n"},"targetRef":{"kind":"Pod","name":"p"}}]})"}),
      Input(
          8,
          {R"({"metadata":{"resourceVersion":"5","continue":"c"},"items":[{"a":"]\"}"},[1],2,"x"],"other":{"items":[1]}})"}),
      Input(3, {"[[[[1,2.5,-3e4,null,true]]]]"})};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data + 1),
                                size - 1);
  const size_t piece = std::max<size_t>(data[0], 1);
  const auto lines = Lines(stream, std::max<size_t>(stream.size(), 1));
  if (Lines(stream, piece) != lines) abort();
  for (const std::string& line : lines) CheckLine(line);
  return 0;
}
