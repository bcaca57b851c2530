// Properties that follow from the CPUs to which a rank is bound.
#ifndef CANOPY_SERVER_DATASTORE_PROC_PLACES_H_
#define CANOPY_SERVER_DATASTORE_PROC_PLACES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/cpuset.h"
#include "common/job.h"
#include "common/shm/segment_writer.h"
#include "server/datastore/node_facts.h"

namespace canopy::datastore {

// Returns the text as an encoded value; empty if the text is empty.
std::string EncodedText(const std::string& text);

// Computes the properties of the ranks of one job. `job` and `facts` must
// outlive this object. Used by one thread.
class ProcPlaces {
 public:
  ProcPlaces(const JobSpec& job, const NodeFacts& facts)
      : job_(job), facts_(facts) {}

  // Sets the CPU sets, the locality if `proc` is on this node, and the package
  // rank if the packages of its node are known. `proc->node` must be set, and
  // ranks must be filled in ascending order.
  void Fill(const std::string& cpuset, shm::ProcContents* proc);

 private:
  // The results are cached, because most ranks are bound to the same CPUs as a
  // rank of another node.
  struct Place {
    std::string cpuset;
    std::string bitmap;
    std::string locality;
  };
  using Packages = std::vector<CpuSet>;

  const Place& PlaceOf(const std::string& cpuset);
  std::optional<uint32_t> PackageOf(const Packages* packages,
                                    const std::string& cpuset);

  const JobSpec& job_;
  const NodeFacts& facts_;
  std::unordered_map<std::string, Place> places_;
  std::map<std::pair<const Packages*, std::string>, std::optional<uint32_t>>
      packages_;
  // The number of ranks so far on each package, by (node, package).
  std::map<std::pair<uint32_t, uint32_t>, uint16_t> package_ranks_;
};

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_PROC_PLACES_H_
