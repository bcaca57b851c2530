// Facts that queries need and the core does not keep. Loop thread only.
#ifndef CANOPY_SERVER_PORTS_FACTS_PORT_H_
#define CANOPY_SERVER_PORTS_FACTS_PORT_H_

#include "server/core/step/facts.h"

namespace canopy {

class FactsPort {
 public:
  virtual ~FactsPort() = default;
  // Reads facts. The answer is one FactsRead with the request's number, within
  // this call or later; long reads are done in parts.
  virtual void Read(const core::ReadFacts& request) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_FACTS_PORT_H_
