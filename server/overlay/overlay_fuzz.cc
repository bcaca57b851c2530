// Fuzz target for the two decoders of data from peers. What they accept must be
// the same after it was encoded and decoded again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "server/overlay/frame.h"
#include "server/overlay/translate.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::overlay {
namespace {

std::string Flat(const Rope& rope) {
  std::string all;
  for (const Bytes& b : rope) all += b.view();
  return all;
}

void RoundTrip(const core::MessageBody& body) {
  const std::string once = EncodeBody(body);
  const auto again = DecodeBody(Bytes(once));
  if (!again.ok() || EncodeBody(*again) != once) abort();
}

void Body(const Bytes& data) {
  if (const auto failed = DecodeWithoutData(data)) RoundTrip(*failed);
  const auto decoded = DecodeBody(data);
  if (decoded.ok()) RoundTrip(*decoded);
}

void AnyFrame(const Bytes& data) {
  const auto frame = DecodeFrame(data);
  if (!frame.ok()) return;
  const std::string once = Flat(EncodeFrame(*frame));
  const auto again = DecodeFrame(Bytes(once));
  if (!again.ok() || Flat(EncodeFrame(*again)) != once) abort();
}

std::vector<std::string> Corpus() {
  core::CollectiveUp up;
  up.id.participants = {{"job", kRankWildcard}, {"other", 3}};
  up.contributions = {{1, Bytes(std::string("data"))}};
  up.missing = {{"job", 5}};
  Frame frame;
  frame.hello.emplace();
  frame.hello->node_name = "node1";
  frame.welcome.emplace();
  frame.welcome->incarnation = 9;
  frame.members =
      Members{{{1, 2, true, "why", "where", true, 6}},
              {{3, 2, "node3", "info", Service::kRemoved, "repair", 1000}}};
  frame.packets.push_back({1, 2, 3, 4, true, 1, Bytes(std::string("piece"))});
  std::string flat;
  for (const Bytes& b : EncodeFrame(frame)) flat += b.view();
  return {
      EncodeBody(up),
      EncodeBody(core::JobKill{"job", {1, 2, 300}, -1, "reason"}),
      EncodeBody(core::JobExits{"job", {{3, 256, true, true, true}}}),
      EncodeBody(core::JobExits{"job", {{3, 256}, {4, -2}}}),
      EncodeBody(core::JobQuery{"job"}),
      EncodeBody(core::SyncComplete{}),
      EncodeBody(core::JobMapRequest{1, "job", true}),
      EncodeBody(core::JobMapReply{1, 0, "job", Bytes("map")}),
      EncodeBody(core::JobQueryReply{"job", core::JobVerdict::kNoRecord}),
      EncodeBody(core::NodeLost{"job", {1, 2}}),
      EncodeBody(core::DirectoryFound{4, {core::Publication()}, {{"k", -46}}}),
      flat};
}

}  // namespace
}  // namespace canopy::overlay

std::vector<std::string> canopy::fuzz::Seeds() { return overlay::Corpus(); }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const canopy::Bytes bytes(
      std::string(reinterpret_cast<const char*>(data), size));
  canopy::overlay::Body(bytes);
  canopy::overlay::AnyFrame(bytes);
  return 0;
}
