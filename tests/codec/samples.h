// One element of every data type with the bytes it must have on the wire,
// written by hand from the description of the protocol.
#ifndef CANOPY_TESTS_CODEC_SAMPLES_H_
#define CANOPY_TESTS_CODEC_SAMPLES_H_

#include <string>
#include <vector>

#include "pmix_types.h"

namespace canopy {

struct Sample {
  std::string name;
  pmix_data_type_t type;
  // One element, alive until the program ends. Not to be freed.
  const void* element;
  // The element alone: variable-length integers, and fixed ones. The latter is
  // empty for types that the old form does not know.
  std::string modern;
  std::string v3;
  // False when the wire drops part of the element.
  bool lossless = true;
};

const std::vector<Sample>& Samples();

}  // namespace canopy

#endif  // CANOPY_TESTS_CODEC_SAMPLES_H_
