// One element of every data type with its expected bytes on the wire, written
// by hand from the description of the protocol.
#ifndef CANOPY_TESTS_CODEC_SAMPLES_H_
#define CANOPY_TESTS_CODEC_SAMPLES_H_

#include <string>
#include <vector>

#include "pmix_types.h"

namespace canopy {

struct Sample {
  std::string name;
  pmix_data_type_t type;
  // One element, which exists until the program ends. Must not be freed.
  const void* element;
  // The encoded element, with variable-length and with fixed integers. The
  // latter is empty for types that the old form does not know.
  std::string modern;
  std::string v3;
  // False if the wire form omits part of the element.
  bool lossless = true;
};

const std::vector<Sample>& Samples();

}  // namespace canopy

#endif  // CANOPY_TESTS_CODEC_SAMPLES_H_
