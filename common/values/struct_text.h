// Elements with structure as text; part of print.h.
#ifndef CANOPY_COMMON_VALUES_STRUCT_TEXT_H_
#define CANOPY_COMMON_VALUES_STRUCT_TEXT_H_

#include <string>

#include "common/values/type_table.h"

namespace canopy {

// Everything a printer needs.
struct Page {
  const void* element;
  std::string prefix;
  int depth;

  // The text of something inside.
  std::string Sub(pmix_data_type_t type, const void* inner) const;
};

using Printer = std::string (*)(const Page&);

// Null for types without structure. The type is known.
Printer PrinterOf(pmix_data_type_t type);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_STRUCT_TEXT_H_
