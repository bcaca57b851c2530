// Fuzz target of the decoder: no input may do harm, and an element that was
// read can be written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "tests/codec/samples.h"
#include "tests/fuzz/fuzz.h"

namespace canopy {
namespace {

// The first byte selects the form.
CodecForm FormOf(uint8_t choice) {
  CodecForm form = (choice & 1) != 0 ? kV3Form : kModernForm;
  form.described = (choice & 2) != 0;
  form.undef_array_has_size = (choice & 4) == 0;
  return form;
}

void Require(bool holds) {
  if (!holds) abort();
}

void ReadValue(std::string_view bytes, const CodecForm& form) {
  Decoder decoder(bytes, form);
  decoder.set_memory_limit(size_t{1} << 26);
  Value value;
  Decoder skipper(bytes, form);
  if (!decoder.GetValue(&value)) return;
  Require(skipper.SkipValue() && skipper.rest() == decoder.rest());
  const std::string again = EncodeValue(value.raw(), form);
  Require(!again.empty());
  Value copy;
  Require(DecodeValue(again, copy.mutable_raw(), form) == kSuccess);
  Require(EncodeValue(copy.raw(), form) == again);
}

void ReadPayload(std::string_view bytes, const CodecForm& form) {
  Decoder decoder(bytes, form);
  decoder.set_memory_limit(size_t{1} << 26);
  while (!decoder.AtEnd()) {
    KvalView kval;
    if (!decoder.UnpackKval(&kval)) break;
    Value value;
    (void)DecodeValue(kval.value, value.mutable_raw(), form);
  }
}

}  // namespace
}  // namespace canopy

// Returns one value of every type in every form.
std::vector<std::string> canopy::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const Sample& sample : Samples()) {
    for (uint8_t choice = 0; choice < 8; ++choice) {
      Encoder encoder(FormOf(choice));
      encoder.PutUint16(sample.type);
      encoder.PutElement(sample.type, sample.element);
      seeds.push_back(static_cast<char>(choice) + encoder.Take());
    }
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const canopy::CodecForm form = canopy::FormOf(data[0]);
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1),
                               size - 1);
  canopy::ReadValue(bytes, form);
  canopy::ReadPayload(bytes, form);
  return 0;
}
