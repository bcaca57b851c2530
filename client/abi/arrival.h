// The request for a collective that tests receive at the fake agent.
#ifndef CANOPY_CLIENT_ABI_ARRIVAL_H_
#define CANOPY_CLIENT_ABI_ARRIVAL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "client/session/fake_agent.h"
#include "common/codec/infos.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "common/wire.h"

namespace canopy::client {

struct Arrival {
  uint64_t op = 0;
  std::vector<ProcId> procs;
  bool collect = false;
  uint64_t timeout_ms = 0;
  InfoList infos;
};

inline Arrival ParseArrival(const Request& request) {
  WireReader in(request.payload);
  Arrival arrival;
  arrival.op = in.Uint();
  const size_t count = in.Count(2);
  for (size_t i = 0; i < count; ++i) arrival.procs.push_back(in.Proc());
  arrival.collect = in.Bool();
  arrival.timeout_ms = in.Uint();
  EXPECT_TRUE(DecodeInfos(in.String(), &arrival.infos));
  EXPECT_TRUE(in.done());
  return arrival;
}

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_ARRIVAL_H_
