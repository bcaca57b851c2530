// Facts that queries need and the core does not keep. Loop thread.
#ifndef CANOPY_SERVER_PORTS_FACTS_PORT_H_
#define CANOPY_SERVER_PORTS_FACTS_PORT_H_

#include "server/core/step/facts.h"

namespace canopy {

class FactsPort {
 public:
  virtual ~FactsPort() = default;
  // Answered by one FactsRead with the same number, within this call or later;
  // long reads are done in parts.
  virtual void Read(const core::ReadFacts& request) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_FACTS_PORT_H_
