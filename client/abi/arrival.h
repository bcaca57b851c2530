// Requests for collectives, as tests receive them at the fake agent.
#ifndef CANOPY_CLIENT_ABI_ARRIVAL_H_
#define CANOPY_CLIENT_ABI_ARRIVAL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "client/session/fake_agent.h"
#include "common/codec/infos.h"
#include "common/ids.h"
#include "common/local/collectives.h"
#include "common/values/info_list.h"

namespace canopy::client {

struct Arrival {
  uint64_t op = 0;
  std::vector<ProcId> procs;
  bool collect = false;
  uint64_t timeout_ms = 0;
  InfoList infos;
  std::string name;
};

// Parses the request for a collective. A malformed request fails the test.
inline Arrival ParseArrival(const Request& request) {
  const auto frame = request.As<local::Collective>();
  Arrival arrival;
  arrival.op = static_cast<uint64_t>(frame.series.op);
  arrival.name = frame.series.name;
  for (const ProcView& proc : frame.series.participants) {
    arrival.procs.push_back(OwnerOf(proc));
  }
  arrival.collect = frame.collect;
  arrival.timeout_ms = frame.timeout_ms;
  EXPECT_TRUE(frame.info.empty() || DecodeInfos(frame.info, &arrival.infos));
  return arrival;
}

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_ARRIVAL_H_
