// The forms in which peers write values. One codec serves them all;
// wire_form.md beside this file describes the bytes.
#ifndef CANOPY_COMMON_CODEC_FORM_H_
#define CANOPY_COMMON_CODEC_FORM_H_

#include <cstdint>

#include "common/values/element_ops.h"
#include "common/values/type_table.h"

namespace canopy {

enum class IntegerForm : uint8_t {
  kVarint,  // OpenPMIx 4.0 and newer, and Canopy
  kFixed,   // OpenPMIx 3: big-endian, some types tagged with their width
};

struct CodecForm {
  IntegerForm integers = IntegerForm::kVarint;
  // Each pack call names the types of its count and of its elements.
  bool described = false;
  // For reading only: a data array of type PMIX_UNDEF has a size, which is
  // zero. OpenPMIx before 6.1 writes it. Canopy never writes such an array.
  bool undef_array_has_size = true;
  // The highest data type that the peer knows.
  pmix_data_type_t max_type = kNumTypes - 1;
};

// The form that Canopy itself writes everywhere.
inline constexpr CodecForm kModernForm = {};
// The form of OpenPMIx 3.
inline constexpr CodecForm kV3Form = {IntegerForm::kFixed, false, true,
                                      PMIX_ENVAR};

// Returns the table entry of a type that this form can carry, or null.
inline const TypeInfo* CarriedType(const CodecForm& form, pmix_data_type_t id) {
  if (id > form.max_type || id == PMIX_TOPO) return nullptr;
  return FindType(id);
}

// Types that only the codec knows: a nested payload and a key with its value.
inline constexpr pmix_data_type_t kBufferType = 26;
inline constexpr pmix_data_type_t kKvalType = 28;

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_FORM_H_
