#include "server/agent/persistence/launch_facts.h"

#include <cstdint>

#include "common/wire.h"

namespace canopy::agent {
namespace {

// Returns the number of groups of fields to write. Older agents know only the
// first groups, so groups at the end with default values are left out.
int NumGroups(const control::LaunchFacts& facts) {
  if (!facts.wishes.empty()) return 9;
  if (facts.nohup) return 8;
  if (facts.host_output) return 7;
  if (facts.requeued) return 6;
  if (facts.placed.any()) return 5;
  if (facts.apart) return 4;
  if (facts.cospawned || !facts.partner.empty()) return 3;
  if (facts.tool) return 2;
  return facts.reports != 0 || facts.start_deadline != 0 ? 1 : 0;
}

void PutPlaced(const control::PlacementFacts& placed, WireWriter* out) {
  out->String(placed.id.request);
  out->Uint(placed.id.attempt);
  out->String(placed.host_job);
  out->Int(placed.queued_ms);
  out->Int(placed.started_ms);
}

control::PlacementFacts GetPlaced(WireReader* in) {
  control::PlacementFacts placed;
  placed.id.request = in->String();
  placed.id.attempt = in->Uint32();
  placed.host_job = in->String();
  placed.queued_ms = in->Int();
  placed.started_ms = in->Int();
  return placed;
}

void PutOutput(const HostOutput& output, WireWriter* out) {
  out->String(output.output);
  out->String(output.error);
  out->Bool(output.append);
}

HostOutput GetOutput(WireReader* in) {
  HostOutput output;
  output.output = in->String();
  output.error = in->String();
  output.append = in->Bool();
  return output;
}

}  // namespace

std::string EncodeFacts(const control::LaunchFacts& facts) {
  const int groups = NumGroups(facts);
  WireWriter out;
  out.Bool(facts.oversubscribe);
  out.Bool(facts.separate);
  out.Bool(facts.spawn_request.has_value());
  out.Uint(facts.spawn_request.value_or(0));
  if (groups >= 1) {
    out.Uint(facts.reports);
    out.Int(facts.start_deadline);
  }
  if (groups >= 2) out.Bool(facts.tool);
  if (groups >= 3) {
    out.Bool(facts.cospawned);
    out.String(facts.partner);
  }
  if (groups >= 4) out.Bool(facts.apart);
  if (groups >= 5) PutPlaced(facts.placed, &out);
  if (groups >= 6) out.Bool(facts.requeued);
  if (groups >= 7) PutOutput(facts.host_output.value_or(HostOutput()), &out);
  if (groups >= 8) {
    out.Bool(facts.host_output.has_value());
    out.Bool(facts.nohup);
    out.Bool(facts.unattended);
  }
  if (groups >= 9) out.String(facts.wishes);
  return out.Take();
}

control::LaunchFacts DecodeFacts(std::string_view bytes) {
  WireReader in(bytes);
  control::LaunchFacts facts;
  facts.oversubscribe = in.Bool();
  facts.separate = in.Bool();
  const bool spawned = in.Bool();
  const uint64_t request = in.Uint();
  if (in.ok() && !in.done()) {
    facts.reports = in.Uint32();
    facts.start_deadline = in.Int();
  }
  if (in.ok() && !in.done()) facts.tool = in.Bool();
  if (in.ok() && !in.done()) {
    facts.cospawned = in.Bool();
    facts.partner = in.String();
  }
  if (in.ok() && !in.done()) facts.apart = in.Bool();
  if (in.ok() && !in.done()) facts.placed = GetPlaced(&in);
  if (in.ok() && !in.done()) facts.requeued = in.Bool();
  if (in.ok() && !in.done()) facts.host_output = GetOutput(&in);
  if (in.ok() && !in.done()) {
    if (!in.Bool()) facts.host_output.reset();
    facts.nohup = in.Bool();
    facts.unattended = in.Bool();
  }
  if (in.ok() && !in.done()) facts.wishes = in.String();
  if (!in.done()) return {};
  if (spawned) facts.spawn_request = request;
  return facts;
}

}  // namespace canopy::agent
